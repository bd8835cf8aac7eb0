"""Spherical Bessel functions: SciPy's values, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

LINE = np.concatenate([np.linspace(-40, 40, 161), 10.0 ** np.arange(-4, 3), [2.99, 3.01, 0.99, 1.01]])
ENDS = np.array([0.0, -1.0, np.inf, -np.inf, np.nan])
EVERY = (sp.spherical_jn, sp.spherical_yn, sp.spherical_in, sp.spherical_kn)
OSCILLATING = EVERY[:2]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("function", EVERY)
def test_values_and_derivatives_are_scipys(function: Any, derivative: bool) -> None:
    x = LINE[LINE != 0] if function in OSCILLATING else LINE[LINE > 0]
    orders = (0, 1, 2, 5, 14)
    every = ps.trace(lambda x: [function(v, x, derivative) for v in orders], x)(x)
    for order, found in zip(orders, every, strict=True):
        wanted = function(order, x, derivative)
        size = np.abs(wanted)
        if function in OSCILLATING:
            size = np.where(np.abs(x) < order, size, np.maximum(size, 1.0 / np.maximum(1.0, np.abs(x))))
        tolerance = 1e-10 if derivative else 2e-13  # SciPy's derivatives cancel
        np.testing.assert_array_less(np.abs(found - wanted), tolerance * size + 1e-290, f"{order}")


def test_what_is_special_is_scipys() -> None:
    for function in EVERY:
        every = ps.trace(lambda x, f=function: [f(order, x) for order in (0, 1, 2)], ENDS)(ENDS)
        for order, found in enumerate(every):
            np.testing.assert_allclose(found, function(order, ENDS), rtol=1e-14, atol=1e-14, err_msg=f"{function}")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("function", EVERY)
def test_gradients_agree_with_central_differences(function: Any) -> None:
    check_grads(lambda x: function(2, x), np.array([0.4, 2.1, 4.1, 9.4]), value_tolerance=1e-11)
    check_grads(lambda x: function(np.array([[0], [1]]), x, True), np.array([0.4, 4.1]))


def test_derivatives_at_zero_are_right() -> None:
    for function in (sp.spherical_jn, sp.spherical_in):
        check_grads(lambda x, f=function: f(np.arange(4)[:, None], x), np.array([0.0, 0.3]), symbolic=False)


def test_the_dtype_of_float32_is_scipys() -> None:
    x = np.array([0.5, 3.0, 60.0], np.float32)
    for function in EVERY:
        found = ps.trace(lambda x, f=function: f(2, x), x)(x)
        assert found.dtype == function(2, x).dtype
        np.testing.assert_allclose(found, function(2, x.astype(float)), rtol=2e-6)


def test_orders_that_are_traced_or_negative_are_refused() -> None:
    for order in (-1, 31):
        with pytest.raises(UnsupportedFunction, match="known orders"):
            ps.trace(lambda x, v=order: sp.spherical_jn(v, x), LINE)
