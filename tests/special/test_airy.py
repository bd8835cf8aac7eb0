"""Airy's functions: SciPy's values, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.versions import UNDERFLOW

LINE = np.concatenate([np.linspace(-30, 30, 121), [-1.01, 1.01, -0.99, 0.99, 80.0, 0.0]])


def test_values_are_scipys() -> None:
    for order, (found, wanted) in enumerate(zip(ps.trace(sp.airy, LINE)(LINE), sp.airy(LINE), strict=True)):
        power = 0.25 if order % 2 else -0.25  # below 0 a part of what it is between its zeros
        size = np.where(LINE < 0, np.abs(np.where(LINE, LINE, 1.0)) ** power, np.abs(wanted))
        np.testing.assert_array_less(np.abs(found - wanted), 3e-14 * size)


def test_what_is_special_is_scipys() -> None:
    airy = ps.trace(sp.airy, ps.spec("float64", ["N"]))
    for found in airy(np.array([np.inf, -np.inf, np.nan])):
        np.testing.assert_equal(found, np.full(3, np.nan))
    np.testing.assert_allclose(airy(np.array([120.0, 1e5]))[0], [0.0, 0.0], atol=UNDERFLOW)


@pytest.mark.slow
def test_gradients_agree_with_central_differences() -> None:
    weights = np.array([[1.0], [-2.0], [0.5], [0.3]])

    def f(x: Any) -> Any:
        return np.stack(sp.airy(x)) * weights

    check_grads(f, np.array([-3.2, -0.4, 0.0, 0.7, 2.1]))


def test_each_derivative_is_the_next_function() -> None:
    x = np.array([-3.2, 0.0, 2.1])
    values, slopes = ps.jvp(lambda x: np.stack(sp.airy(x)), (x,), (np.ones(3),))
    np.testing.assert_allclose(slopes, np.stack([values[1], x * values[0], values[3], x * values[2]]), rtol=1e-12)


def test_float32_is_scipys() -> None:
    x = np.array([-5.0, 0.3, 4.0], np.float32)
    for found, wanted in zip(ps.trace(sp.airy, x)(x), sp.airy(x), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
