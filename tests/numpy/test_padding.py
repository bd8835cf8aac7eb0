"""Padding: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.pad(x, 1),
    lambda x, y, v, k: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0),
    lambda x, y, v, k: np.pad(x, 2, "edge"),
    lambda x, y, v, k: np.pad(x, 2, "reflect"),
    lambda x, y, v, k: np.pad(x, 1, "symmetric"),
    lambda x, y, v, k: np.pad(x, 2, "wrap"),
    lambda x, y, v, k: np.pad(v, (0, 3), "linear_ramp", end_values=7.0),
    lambda x, y, v, k: np.pad(v, 2, "mean"),
    lambda x, y, v, k: np.pad(v, 2, "maximum"),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.pad(x * y, 1, "reflect") ** 2,
    lambda x, y: np.pad(x, ((0, 2), (1, 0)), constant_values=2.0).sum(0)[1:] * y,
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
