"""Python's operators of traced numbers beside lists."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import NumberAsked

REPEATED: list[Callable[[Any], Any]] = [
    lambda x: len([0, 1] * (int(x[0] > 0) + 1)) + x[1],
    lambda x: len((int(x[0] > 0) + 1) * (0, 1)) + x[1],
    lambda x: sum([1, 2] * np.argmax(x)) + x[0],
    lambda x: sum([1] * (x > 0).sum()) + x[0],
]


@pytest.mark.parametrize("function", REPEATED)
def test_a_list_that_an_integer_repeats_is_refused(function: Callable[[Any], Any]) -> None:
    """The product of its elements would be another answer."""
    with pytest.raises(NumberAsked, match="repetitions of a list"):
        ps.trace(function, ps.spec("float64", [3]))


@pytest.mark.parametrize("function", [lambda x: x[0] * [1.0, 2.0], lambda x: [1.0, 2.0] * x[0]])
def test_a_float_times_a_list_is_a_type_error_as_in_numpy(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        function(np.ones(3))
    with pytest.raises(TypeError, match="list"):
        ps.trace(function, ps.spec("float64", [3]))


def test_an_array_without_axes_multiplies_the_elements_of_a_list() -> None:
    program = ps.trace(lambda x: np.array(x[0]) * [1.0, 2.0] + x[:2] * [3.0, 4.0], ps.spec("float64", [3]))
    np.testing.assert_array_equal(program(np.array([2.0, 5.0, 0.0])), [8.0, 24.0])
