"""Comparisons and tests of elements: NumPy's values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: x < y,
    lambda x, y, v, k: x >= 0,
    lambda x, y, v, k: k == k[::-1],
    lambda x, y, v, k: x != y,
    lambda x, y, v, k: np.logical_xor(x > 0, y > 0),
    lambda x, y, v, k: np.isclose(x, x + 1e-09),
    lambda x, y, v, k: np.allclose(x, y),
    lambda x, y, v, k: np.array_equal(x, x),
    lambda x, y, v, k: np.isposinf(x / 0.0),
    lambda x, y, v, k: np.isneginf(x / 0.0),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)
