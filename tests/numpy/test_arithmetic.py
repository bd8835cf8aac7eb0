"""Sums, products, signs and squares: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.copysign(x, -y),
    lambda x, y, v, k: np.signbit(x),
    lambda x, y, v, k: np.sign(x),
    lambda x, y, v, k: np.fabs(y),
    lambda x, y, v, k: x + k,
    lambda x, y, v, k: k - 2,
    lambda x, y, v, k: x * np.float32(2),
    lambda x, y, v, k: k * k,
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: x * y - x / (2.0 + y * y) + np.square(y),
    lambda x, y: np.abs(x) * np.negative(y) + np.copysign(x, y),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
