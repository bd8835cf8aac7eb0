"""Sums, products, signs and squares: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mantissa_and_exponent_are_numpys_beside_each_power_of_two(dtype: str) -> None:
    """The logarithm of a number just below a power of two is rounded up to a whole number."""
    ends = np.finfo(dtype)
    powers = np.ldexp(np.ones((), dtype), np.arange(ends.minexp + 1, ends.maxexp))
    x = np.concatenate([np.nextafter(powers, 0, dtype=dtype), powers, -np.nextafter(powers, np.inf, dtype=dtype)])
    for found, wanted in zip(ps.trace(np.frexp, x)(x), np.frexp(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
