"""What elementwise operators make of values that are linear in carries: the value of the result is the result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.transforms.vectorized_loops.linear_forms import FORMULAS, ONE, Form, value_of
from tests.random_programs import run
from tests.recording import record

S, T, X, Y = (np.random.default_rng(i).standard_normal(4) for i in range(4))
MASK = np.array([True, False, False, True])
Terms = Callable[[Any, Any, Any, Any], Any]

CASES: dict[str, tuple[str, Callable[..., tuple[Form, ...]], Terms]] = {
    "a sum": ("Add", lambda x, y: (Form({0: x}, y), Form({0: y, 1: ONE})), lambda s, t, x, y: s * x + y + s * y + t),
    "a sum of ones": ("Add", lambda x, y: (Form({0: ONE}), Form({0: ONE}, x)), lambda s, t, x, y: 2 * s + x),
    "a difference": ("Sub", lambda x, y: (Form({0: x}, y), Form({1: ONE}, x)), lambda s, t, x, y: s * x + y - t - x),
    "a difference from a rest": ("Sub", lambda x, y: (Form(rest=y), Form({0: ONE})), lambda s, t, x, y: y - s),
    "the negative": ("Neg", lambda x, y: (Form({0: ONE, 1: x}, y),), lambda s, t, x, y: -s - t * x - y),
    "a product from the right": ("Mul", lambda x, y: (Form({0: ONE}, y), Form(rest=x)), lambda s, t, x, y: (s + y) * x),
    "a product from the left": ("Mul", lambda x, y: (Form(rest=x), Form({1: y})), lambda s, t, x, y: x * y * t),
    "a quotient": ("Div", lambda x, y: (Form({0: ONE}, y), Form(rest=x)), lambda s, t, x, y: (s + y) / x),
    "itself": ("Identity", lambda x, y: (Form({0: x}, y),), lambda s, t, x, y: s * x + y),
    "a choice of sides that have other carries": (
        "Where",
        lambda x, y: (Form(rest=MASK), Form({0: ONE}, y), Form({1: x})),
        lambda s, t, x, y: np.where(MASK, s + y, t * x),
    ),
    "a choice beside a rest": (
        "Where",
        lambda x, y: (Form(rest=MASK), Form(rest=x), Form({0: y}, x)),
        lambda s, t, x, y: np.where(MASK, x, s * y + x),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_of_a_form_is_that_of_the_operator(name: str) -> None:
    kind, forms, wanted = CASES[name]
    count = len(forms(X, Y))
    each = record(
        *((lambda a: op.Neg(a), "float64[4]") if count < 3 else (lambda a: op.Where(MASK, a, a), "float64[4]"))
    ).ops[-1]

    def valued(s: Any, t: Any, x: Any, y: Any) -> Any:
        return value_of(FORMULAS[kind](each, *forms(x, y)), [s, t])

    (found,) = run(record(valued, *["float64[4]"] * 4), [S, T, X, Y])
    np.testing.assert_allclose(found, wanted(S, T, X, Y), rtol=1e-14)


def test_a_carry_itself_is_not_multiplied_by_one() -> None:
    block = record(lambda s, t: value_of(Form({0: ONE, 1: ONE}), [s, t]), "float64[4]", "float64[4]")
    assert [step.kind for step in block.ops] == ["Add"]


def test_a_carry_that_neither_side_reads_stays_out() -> None:
    made = record(lambda a: op.Neg(a), "float64[4]").ops[-1]
    assert FORMULAS["Add"](made, Form(), Form({1: ONE})).slopes.keys() == {1}
    assert FORMULAS["Add"](made, Form({0: ONE}), Form({1: ONE})).rest is None
