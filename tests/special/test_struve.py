"""Struve's functions of known orders: the values of SciPy and mpmath, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads

LINE = np.concatenate([np.linspace(-40, 40, 82), 10.0 ** np.arange(-6, 3), [1.99, 2.01, 5.99, 6.01, 19.9, 20.1]])
BOTH = (sp.struve, sp.modstruve)


MORE = [-1, 0.3, 2.5, -1.7, 25.5]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("order", [0, 1, 7, -2, *(pytest.param(v, marks=pytest.mark.slow) for v in MORE)])
def test_each_order_has_scipys_values(order: float) -> None:
    """SciPy's own errors are up to 5e-12; near its zeros H is right to a part of what it is between them."""
    x = LINE if order % 1 == 0 else LINE[LINE > 0]
    for function in BOTH:
        found, wanted = ps.trace(lambda x, f=function: f(order, x), x)(x), function(order, x)
        size = np.abs(wanted)
        if function is sp.struve:
            size = np.where(np.abs(x) < abs(order), size, np.maximum(size, np.sqrt(0.6 / np.maximum(np.abs(x), 0.6))))
        np.testing.assert_array_less(np.abs(found - wanted), 1e-11 * size)


EXACT = [
    (sp.struve, 0, 19.5, 0.00711148061885808165), (sp.modstruve, 0, 19.5, 26760525.3071035522),
    (sp.struve, -1.75, 4.5, 0.196118249242395725), (sp.modstruve, -1.75, 4.5, 11.9024674774341159),
    (sp.struve, 30, 29.5, 100.105860387967562), (sp.modstruve, 30, 29.5, 264751.390123756532),
    (sp.struve, -0.5, 123.5, -0.0595426018007743895), (sp.modstruve, -0.5, 123.5, 1.55040479216445778e52),
]  # fmt: skip
"""mpmath's."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", BOTH)
def test_values_are_right_to_a_few_units_in_the_last_place(function: Any) -> None:
    rows = [row[1:] for row in EXACT if row[0] is function]
    program = ps.trace(lambda x: np.stack([function(v, x[i]) for i, (v, _, _) in enumerate(rows)]), np.zeros(len(rows)))
    wanted = np.array([exact for _, _, exact in rows])
    np.testing.assert_allclose(program(np.array([x for _, x, _ in rows])), wanted, rtol=1e-14, atol=1e-16)


def test_at_zero_they_have_scipys_limits_and_none_at_infinity() -> None:
    orders, ends = np.array([[0.0], [-1.0], [-1.7]]), np.array([0.0, -0.5, np.nan])
    for function in BOTH:
        program = ps.trace(lambda x, f=function: f(orders, x), ps.spec("float64", ["N"]))
        np.testing.assert_allclose(program(ends), function(orders, ends), rtol=1e-13)
        assert np.isnan(program(np.array([np.inf, -np.inf]))).all()
        assert program(np.zeros(0)).shape == (3, 0)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", BOTH)
def test_derivatives_agree_with_central_differences(function: Any) -> None:
    check_grads(lambda x: function(0, x), np.array([0.4, 2.1, 7.1, 22.4]))


@pytest.mark.slow
@pytest.mark.parametrize("function", BOTH)
def test_derivatives_of_other_orders_and_at_zero_agree_with_central_differences(function: Any) -> None:
    check_grads(lambda x: function(np.arange(3)[:, None], x), np.array([0.0, 0.3, -4.0]), symbolic=False)
    for order in (2, 1.5, -0.7):
        check_grads(lambda x, v=order: function(v, x), np.array([0.4, 2.1, 7.1, 22.4]), symbolic=False)


def test_float32_is_scipys() -> None:
    x = np.array([0.5, 3.0, 60.0], np.float32)
    for function in BOTH:
        found = ps.trace(lambda x, f=function: f(np.float32(1), x), x)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, function(np.float32(1), x), rtol=2e-6)


def test_a_traced_order_is_refused() -> None:
    with pytest.raises(UnsupportedFunction, match=r"struve, but of known orders up to 30") as caught:
        ps.trace(lambda x: sp.struve(x, 0.3), np.float64(2.0))
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
