"""A logistic function written out: where it is found, its values, and its derivatives where its parts overflow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing import check_grads
from primsplit.transforms.idioms.logistics import recognize_logistics
from tests.recording import record

Function = Callable[[Any], Any]


def with_its_parts(x: Any) -> Any:
    e = np.exp(-x)
    return e / (1 + e) + 1 / (1 + e)


FORMS: dict[str, Function] = {
    "a quotient": lambda x: 1 / (1 + np.exp(-x)),
    "the sum turned": lambda x: 1.0 / (np.exp(-x) + 1.0),
    "a reciprocal": lambda x: np.reciprocal(1 + np.exp(-x)),
    "a power": lambda x: (1 + np.exp(-x)) ** -1,
    "falling": lambda x: 1 / (1 + np.exp(3.0 * x)),
}
OTHERS: dict[str, Function] = {
    "a softplus": lambda x: np.log(1 + np.exp(-x)),
    "another numerator": lambda x: 2 / (1 + np.exp(-x)),
    "another constant": lambda x: 1 / (2 + np.exp(-x)),
    "parts that are read": with_its_parts,
}


def calls(function: Function) -> int:
    """Return the number of calls after the pass."""
    block = recognize_logistics(record(function, "float64[N]"))
    return sum(op.kind == "call::logistic" for op in walk(block))


@pytest.mark.parametrize("name", FORMS)
def test_a_logistic_function_is_a_call(name: str) -> None:
    assert calls(FORMS[name]) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_none_stays(name: str) -> None:
    assert calls(OTHERS[name]) == 0


@pytest.mark.parametrize("name", FORMS)
def test_the_derivatives_are_right(name: str) -> None:
    check_grads(lambda x: np.sum(FORMS[name](x) ** 2), np.linspace(-4.0, 4.0, 7), order=2)


def test_it_is_found_in_the_steps_of_a_loop_too() -> None:
    def f(xs: Any) -> Any:
        return ps.scan(lambda h, x: (1 / (1 + np.exp(-(h + x))), None), np.zeros(2), xs)[0].sum()

    xs = np.full((3, 2), -800.0)
    value, slope = ps.split(f, ps.spec("float64", ["N", 2])).joint()(xs)
    assert value == 0.0
    np.testing.assert_array_equal(slope, np.zeros_like(xs))
