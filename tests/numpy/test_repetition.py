"""Repeated and rolled arrays, and windows: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.repeat(x, 2),
    lambda x, y, v, k: np.repeat(x, [1, 0, 2], axis=0),
    lambda x, y, v, k: np.tile(x, (2, 1)),
    lambda x, y, v, k: np.roll(x, 3),
    lambda x, y, v, k: np.roll(x, (1, -1), axis=(0, 1)),
    lambda x, y, v, k: np.resize(x, (2, 7)),
    lambda x, y, v, k: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.repeat(x, 2, axis=1) * np.tile(y, (1, 2)),
    lambda x, y: np.roll(x, 1, 0) * y + np.lib.stride_tricks.sliding_window_view(x, 2, axis=1).sum((1, 2))[:, None],
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
