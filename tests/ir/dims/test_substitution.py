"""Symbols of sizes replaced by numbers and other sizes."""

from hypothesis import given
from hypothesis import strategies as st

from primsplit.ir import dims
from primsplit.ir.dims import Dim
from tests.ir.dims.expressions import VALUES, expressions


@given(expressions(), st.sampled_from(range(len(VALUES))))
def test_substituting_one_symbol_and_then_the_other_is_evaluation(made: tuple[Dim, list[int]], which: int) -> None:
    values = VALUES[which]
    half = dims.substitute(made[0], {"N": values["N"]})
    assert dims.evaluate(half, values) == made[1][which]
