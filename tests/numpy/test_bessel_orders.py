"""Bessel functions of whole orders: SciPy's values, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

LINE = np.concatenate([np.linspace(-40, 40, 161), 10.0 ** np.arange(-6, 3), [2.99, 3.01, 8.01, 23.9, 24.1]])
POSITIVE = LINE[LINE > 0]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5, 8, 13, 20, -1, -2, -7])
def test_each_order_has_scipys_values(order: int) -> None:
    for function, x, tolerance in ((sp.jv, LINE, 4e-13), (sp.iv, LINE, 2e-13), (sp.kv, POSITIVE, 2e-14)):
        found, wanted = ps.trace(lambda x, f=function: f(order, x), x)(x), function(order, x)
        size = np.abs(wanted)
        if function is sp.jv:
            # Near its zeros J is right to a part of what it is between them.
            size = np.where(np.abs(x) < abs(order), size, np.maximum(size, np.sqrt(0.6 / np.abs(np.where(x, x, 1.0)))))
        np.testing.assert_array_less(np.abs(found - wanted), tolerance * size + 1e-300, str(function))


@pytest.mark.parametrize("function", [sp.jv, sp.iv, sp.kv, sp.kn, sp.jn])
def test_derivatives_agree_with_central_differences(function: Any) -> None:
    check_grads(lambda x: function(2, x), np.linspace(0.4, 4.1, 6))
    check_grads(lambda x: function(5, x), np.linspace(8.4, 14.1, 6))


def test_derivatives_at_zero_are_right() -> None:
    for function in (sp.jv, sp.iv):
        check_grads(lambda x, f=function: f(np.arange(4)[:, None], x), np.array([0.0, 0.3]), symbolic=False)


def test_orders_may_be_an_array() -> None:
    x, orders = np.array([0.5, 3.0, 9.0]), np.array([[0], [3], [-1]])
    for function in (sp.jv, sp.iv, sp.kv):
        found = ps.trace(lambda x, f=function: f(orders, x), ps.spec("float64", ["N"]))
        for count in (3, 1, 0):
            np.testing.assert_allclose(found(x[:count]), function(orders, x[:count]), rtol=1e-13)


def test_float32_is_scipys() -> None:
    x = np.array([0.5, 3.0, 90.0], np.float32)
    for function in (sp.jv, sp.iv, sp.kv):
        found = ps.trace(lambda x, f=function: f(20, x), x)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, function(20, x), rtol=2e-6)


def test_other_orders_are_refused_at_the_users_line() -> None:
    for order in (0.5, 21):
        with pytest.raises(UnsupportedFunction, match="whole known orders") as caught:
            ps.trace(lambda x, n=order: sp.jv(n, x), POSITIVE)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
    with pytest.raises(UnsupportedFunction, match="whole known orders"):
        ps.trace(lambda x: sp.jv(x[0], x), POSITIVE)
