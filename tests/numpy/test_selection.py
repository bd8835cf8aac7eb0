"""Clipping, choices and the larger of two: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.clip(x, -0.2, y),
    lambda x, y, v, k: np.maximum(x, y),
    lambda x, y, v, k: np.fmin(x, y),
    lambda x, y, v, k: np.heaviside(x, 0.5),
    lambda x, y, v, k: np.where(x > 0, x, y),
    lambda x, y, v, k: np.nan_to_num(np.where(x > 0, np.nan, x)),
    lambda x, y, v, k: np.real(x),
    lambda x, y, v, k: np.imag(x),
    lambda x, y, v, k: np.polyval(v, x),
    lambda x, y, v, k: np.maximum(k, 2),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.clip(x, -0.3, 0.4) * y,
    lambda x, y: np.maximum(x, y) * np.fmin(x, 2 * y),
    lambda x, y: np.where(x > y, x * y, x) + np.polyval(y[0], x),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
