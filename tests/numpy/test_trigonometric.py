"""Angles and sinc: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.angle(x),
    lambda x, y, v, k: np.sinc(x),
    lambda x, y, v, k: np.deg2rad(x),
    lambda x, y, v, k: np.degrees(x),
    lambda x, y, v, k: np.hypot(x, y),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.hypot(x, y) * np.sinc(x),
    lambda x, y: np.deg2rad(x) * np.degrees(y),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sindg", "cosdg", "tandg", "cotdg"])
def test_angles_of_many_turns_lose_no_digits(name: str, dtype: str) -> None:
    """SciPy's own are float64 up to 1e14."""
    function = getattr(scipy.special, name)
    x = np.array([1e10, 123456792.0, 3.6e12, 1e13, -1e10, 720.5, 180.0, -360.0, 90.0], dtype)
    found = ps.trace(lambda v: function(v), x)(x)
    rounding = 2e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(found, function(x.astype(np.float64)), rtol=rounding, atol=rounding / 100)
