"""Bessel functions of known orders: the values of mpmath and SciPy, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

LINE = np.concatenate([np.linspace(-40, 40, 161), 10.0 ** np.arange(-6, 3), [2.99, 3.01, 8.01, 23.9, 24.1]])
POSITIVE = LINE[LINE > 0]
ENDS = np.array([0.0, -1.0, np.inf, -np.inf, np.nan])
ORDINARY = (sp.jv, sp.yv)
MODIFIED = (sp.iv, sp.kv, sp.ive, sp.kve)
EVERY = (*ORDINARY, *MODIFIED)


ORDERS = [0, 8, -2, 0.3, 20.5]
MORE = [1, 2, 20, -1, -7, 0.5, 2.5, -1.5, 1.7, 7.25, -0.5, -2.3]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("order", [*ORDERS, *(pytest.param(v, marks=pytest.mark.slow) for v in MORE)])
def test_each_order_has_scipys_values(order: float) -> None:
    """SciPy's own errors, up to 8e-14 for fractional orders, are part of the tolerance."""
    whole = order == round(order)
    for function in EVERY:
        x = LINE if whole and function in {sp.jv, sp.iv, sp.ive} else POSITIVE
        found, wanted = ps.trace(lambda x, f=function: f(order, x), x)(x), function(order, x)
        size = np.abs(wanted)
        if function in ORDINARY:
            # Near its zeros a function is right to a part of what it is between them.
            size = np.where(np.abs(x) < abs(order), size, np.maximum(size, np.sqrt(0.6 / np.abs(np.where(x, x, 1.0)))))
        np.testing.assert_array_less(np.abs(found - wanted), 1e-13 * size + 1e-290, str(function))


EXACT = [
    (sp.jv, 0.3, 20.0, 0.177312758382280647), (sp.kve, 2.3, 1.8, 2.75901065013421309),
    (sp.jv, 29.5, 1000.0, -0.00407620461888228345), (sp.yv, 29.5, 30.0, -0.212655692569639325),
    (sp.kv, 0.3, 1.8, 0.148936157066700267), (sp.ive, 0.3, 20.0, 0.0895732013991963207),
    (sp.iv, 2.5, 50.0, 275315763003540218749.493),
]  # fmt: skip
"""Points where SciPy's own values are wrong in the 14th digit; these are mpmath's."""


@pytest.mark.parametrize(("function", "order", "x", "exact"), EXACT)
def test_values_are_right_to_a_few_units_in_the_last_place(function: Any, order: float, x: float, exact: float) -> None:
    found = ps.trace(lambda x: function(order, x), ps.spec("float64", []))(x)
    np.testing.assert_allclose(found, exact, rtol=4e-15)


@pytest.mark.slow
def test_what_is_special_is_scipys() -> None:
    orders = np.array([[0], [1], [2], [0.5], [2.5]])
    for function in EVERY:
        found, wanted = ps.trace(lambda x, f=function: f(orders, x), ENDS)(ENDS), function(orders, ENDS)
        np.testing.assert_allclose(found, wanted, rtol=1e-14, err_msg=f"{function}")


@pytest.mark.sweep(12)
@pytest.mark.parametrize(
    "function", [sp.kn, sp.yn, sp.jn, sp.jve, pytest.param(sp.yve, marks=pytest.mark.slow), *EVERY]
)
def test_derivatives_agree_with_central_differences(function: Any) -> None:
    """To second order for whole orders; for halves the first, since the second is made of the first of two orders."""
    x = np.array([0.4, 2.1, 4.1, 9.4])
    check_grads(lambda x: function(0, x), x, symbolic=False)
    check_grads(lambda x: function(2 if function in {sp.kn, sp.yn} else 1.5, x), x, order=1)


@pytest.mark.slow
@pytest.mark.parametrize("function", [sp.jve, sp.yve, *EVERY])
def test_second_derivatives_of_fractional_orders_agree_with_central_differences(function: Any) -> None:
    check_grads(lambda x: function(1.5, x), np.array([0.4, 2.1, 4.1, 9.4]))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", [sp.y0, sp.y1])
def test_the_second_kind_of_orders_0_and_1(function: Any) -> None:
    found = ps.trace(function, POSITIVE)(POSITIVE)
    np.testing.assert_allclose(found, function(POSITIVE), rtol=1e-13, atol=2e-15)
    check_grads(lambda x: function(x), np.array([0.4, 2.1, 9.4]))


@pytest.mark.slow
def test_derivatives_of_negative_orders_agree_with_central_differences() -> None:
    for function in (sp.jv, sp.iv):
        check_grads(lambda x, f=function: f(-0.7, x), np.array([0.7, 4.1]), symbolic=False)
    check_grads(lambda x: sp.yv(-0.7, x), np.array([0.7, 4.1]), symbolic=False, order=1)


@pytest.mark.slow
def test_derivatives_at_zero_are_right() -> None:
    for function in (sp.jv, sp.iv):
        check_grads(lambda x, f=function: f(np.arange(4)[:, None], x), np.array([0.0, 0.3]), symbolic=False)


@pytest.mark.slow
def test_orders_may_be_an_array() -> None:
    x, orders = np.array([0.5, 3.0, 9.0]), np.array([[0], [3], [-1], [0.7]])
    for function in EVERY:
        found = ps.trace(lambda x, f=function: f(orders, x), ps.spec("float64", ["N"]))
        for count in (3, 1, 0):
            np.testing.assert_allclose(found(x[:count]), function(orders, x[:count]), rtol=1e-13)


def test_float32_is_scipys() -> None:
    x = np.array([0.5, 3.0, 90.0], np.float32)
    for function in EVERY:
        found = ps.trace(lambda x, f=function: (f(20, x), f(0.7, x)), x)(x)
        assert [y.dtype for y in found] == [np.float32] * 2
        np.testing.assert_allclose(found, [function(20, x), function(0.7, x)], rtol=2e-6)


def test_other_orders_are_refused_at_the_users_line() -> None:
    for order in (30.5, -31, np.nan):
        with pytest.raises(UnsupportedFunction, match="known orders up to 30") as caught:
            ps.trace(lambda x, n=order: sp.jv(n, x), POSITIVE)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
    with pytest.raises(UnsupportedFunction, match="known orders"):
        ps.trace(lambda x: sp.jv(x[0], x), POSITIVE)


def test_a_scaled_function_of_order_1_has_its_slope_at_0() -> None:
    assert ps.grad(lambda x: sp.ive(1.0, x))(0.0) == 0.5
