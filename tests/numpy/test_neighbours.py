"""Neighbouring floats: NumPy's values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_agrees, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.nextafter(x, y),
    lambda x, y, v, k: np.nextafter(x, np.inf),
    lambda x, y, v, k: np.spacing(x),
    lambda x, y, v, k: np.nextafter(np.float32(1), np.float32(2)),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_neighbour_has_numpys_bits(dtype: type[np.floating[Any]]) -> None:
    limits = np.finfo(dtype)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    numbers = np.array(
        [*ends, -limits.tiny, 1.0, -1.0, 2.0, 1.5, -0.75, 1e10, np.nextafter(dtype(2.0), dtype(0.0))], dtype
    )
    x, y = np.meshgrid(numbers, numbers)
    found = ps.trace(np.nextafter, x, y)(x, y)
    with np.errstate(all="ignore"):
        expected, apart = np.nextafter(x, y), np.spacing(numbers)
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    np.testing.assert_array_equal(ps.trace(np.spacing, numbers)(numbers), apart, strict=True)
