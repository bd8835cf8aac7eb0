"""Rounding and remainders: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.floor(x),
    lambda x, y, v, k: np.ceil(x),
    lambda x, y, v, k: np.trunc(x),
    lambda x, y, v, k: np.rint(x * 2),
    lambda x, y, v, k: np.round(x, 1),
    lambda x, y, v, k: np.fix(x),
    lambda x, y, v, k: np.floor_divide(x, y),
    lambda x, y, v, k: np.remainder(x, y),
    lambda x, y, v, k: np.fmod(x, y),
    lambda x, y, v, k: np.divmod(k, 3),
    lambda x, y, v, k: np.modf(x),
    lambda x, y, v, k: np.floor_divide(k, -2),
    lambda x, y, v, k: np.remainder(k, -3),
    lambda x, y, v, k: np.fmod(k, 3),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.remainder(x, 0.731) * y,
    lambda x, y: np.fmod(x, 0.731) + np.modf(y)[0] * x,
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
