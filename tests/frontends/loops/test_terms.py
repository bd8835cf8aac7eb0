"""Lines of a nest written as arithmetic."""

from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.builder import NestBuilder
from primsplit.frontends.loops.interpreter import interpret


def value(write: Any, **arrays: Any) -> Any:
    """What the lines of a function of terms compute for each element of x and y."""
    nest = NestBuilder()
    x, y = nest.arrays("x", "y")
    z = nest.made("z")
    i = nest.loop("i", x.length(0))
    z[i] = write(x[i], y[i])
    return interpret(nest.finished(), arrays)["z"]


X, Y = np.array([1.5, -2.0, 0.0]), np.array([0.5, 4.0, 1.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x + y * 2.0, lambda x, y: 3.0 - x, lambda x, y: x - 3.0, lambda x, y: 2.0 * x / y,
        lambda x, y: -x + y, lambda x, y: 1.0 + x - y,
    ],
)  # fmt: skip
def test_arithmetic_of_terms_is_that_of_numbers(write: Any) -> None:
    np.testing.assert_array_equal(value(write, x=X, y=Y), write(X, Y))


def test_choices_and_comparisons_are_lines_too() -> None:
    found = value(lambda x, y: x.equal(0.0).where(y, x), x=X, y=Y)
    np.testing.assert_array_equal(found, [1.5, -2.0, 1.0])
    both = value(lambda x, y: (x.equal(0.0) & y.equal(1.0)).where(7.0, x), x=X, y=Y)
    np.testing.assert_array_equal(both, [1.5, -2.0, 7.0])


def test_a_constant_knows_its_number_and_a_sum_loses_its_loops() -> None:
    nest = NestBuilder()
    (x,) = nest.arrays("x")
    i = nest.loop("i", x.length(0))
    term = x[i] * 0.5
    assert term.of(0.5).number == 0.5
    assert term.number is None
    assert term.loops == ("i",)
    assert nest.combined("add", term, i).loops == ()
