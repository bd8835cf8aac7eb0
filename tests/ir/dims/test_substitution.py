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


def test_the_kind_of_a_symbol_comes_through_arithmetic_and_substitution() -> None:
    kept = dims.symbol(dims.Kinded("kept_1", dims.SymbolKind.KEPT))
    n = dims.symbol("N")
    for dim in (
        kept,
        2 * kept + n,
        (kept + 1) // 2,
        dims.substitute(n * 3, {"N": kept}),
        dims.substitute(kept + n, {"N": 2}),
    ):
        assert dims.kinds_of(dim) == {dims.SymbolKind.KEPT}
    assert not dims.kinds_of(dims.substitute(kept, {"kept_1": n}))
    assert not dims.kinds_of(3)


def test_a_name_tells_no_kind() -> None:
    kept = dims.symbol(dims.Kinded("kept_1", dims.SymbolKind.KEPT))
    assert not dims.kinds_of(dims.symbol("kept_1"))
    assert not dims.kinds_of(dims.parse(str(kept)))
    assert dims.same(kept, dims.symbol("kept_1"))
