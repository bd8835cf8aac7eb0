"""Elements taken and put: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.take(x, [0, 5, -1]),
    lambda x, y, v, k: np.take(x, [2, 0], axis=1),
    lambda x, y, v, k: np.take_along_axis(x, np.argsort(x, 1), 1),
    lambda x, y, v, k: np.choose([0, 1, 1, 0], [v, -v]),
    lambda x, y, v, k: np.select([x > 0, y > 0], [x, y], 7.0),
    lambda x, y, v, k: np.compress([True, False, True], x, axis=0),
    lambda x, y, v, k: np.extract(x > 0, x),
    lambda x, y, v, k: np.flatnonzero(x > 0),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.take(x, [1, 1, 3], axis=1) ** 2,
    lambda x, y: np.choose(np.array([[0, 1, 1, 0]]), [x, y]) * x,
    lambda x, y: np.select([x > 0], [x * y], y),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
