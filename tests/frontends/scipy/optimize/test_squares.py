"""scipy.optimize's least squares and fits of curves: SciPy's to its tolerance, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit, least_squares, leastsq

import primsplit as ps
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])

TIMES = np.linspace(0, 2, 6)


def decay(t: Any, height: Any, rate: Any) -> Any:
    return height * np.exp(-rate * t)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "least squares by MINPACK's name": lambda p: leastsq(lambda v, q: np.exp(v) - q, [0.1, 0.2], args=(p,))[0],
    "least squares": lambda p: least_squares(lambda v: TIMES * v[0] + np.sin(v[1]) - np.sin(TIMES * p[0]), p).x,
    "a curve's fit": lambda p: curve_fit(decay, TIMES, np.exp(-TIMES * p[0]) + p[1] * TIMES, p0=[1.0, 0.5])[0],
    "a weighted fit": lambda p: curve_fit(decay, TIMES, np.cos(TIMES * p[0]) * p[1], sigma=1 + TIMES)[0],
    "a fit's covariance": lambda p: np.sqrt(np.diag(curve_fit(decay, TIMES, np.cos(TIMES * p[0]) * p[1])[1])),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Covariance of the parameters")  # of one point there is none
def test_fits_have_first_and_second_derivatives_for_any_number_of_points() -> None:
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}

    def exponent(t: Any, rate: Any) -> Any:
        return np.exp(-rate * t)

    def curve(t: Any, rate: Any) -> Any:
        return curve_fit(exponent, t, exponent(t, rate**2), p0=[0.5], **tight)[0]

    def squares(t: Any, rate: Any) -> Any:
        def rest(v: Any, wanted: Any) -> Any:
            return exponent(t, v[0]) - wanted

        return least_squares(rest, [0.5], args=(exponent(t, rate**2),), **tight).x

    for function in (curve, squares):
        check_grads(function, TIMES[1:], np.array(1.1), value_tolerance=1e-9)


def test_least_squares_by_minpacks_name_have_second_derivatives() -> None:
    def logarithm(p: Any) -> Any:
        return leastsq(lambda v, q: np.exp(v) - q, [0.1, 0.2], args=(p,), ftol=1e-15, xtol=1e-15, gtol=1e-15)[0]

    check_grads(logarithm, ORBIT + 0.5, symbolic=False, value_tolerance=1e-9)


def test_least_squares_tell_their_covariance() -> None:
    def told(p: Any) -> Any:
        found = leastsq(lambda v: np.append(np.exp(v) - p, v[0]), [0.1, 0.2], full_output=True)
        return found[0], found[1], found[2]["fvec"], found[4]

    x, covariance, values, flag = ps.trace(told, ORBIT)(ORBIT)
    slopes = np.array([[np.exp(x[0]), 0.0], [0.0, np.exp(x[1])], [1.0, 0.0]])
    np.testing.assert_allclose(values, np.append(np.exp(x) - ORBIT, x[0]), atol=1e-14)
    np.testing.assert_allclose(slopes.T @ values, 0.0, atol=1e-8)
    np.testing.assert_allclose(covariance, np.linalg.inv(slopes.T @ slopes), rtol=1e-12)
    assert flag < 5


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_fit_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    """SciPy's own search ends before the minimum."""
    function = ps.trace(lambda p: FUNCTIONS[name](p), ORBIT)
    found, wanted = function(ORBIT), FUNCTIONS[name](ORBIT)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.shape(found) == np.shape(wanted)
    check_grads(lambda p: function(p), ORBIT, symbolic=False, value_tolerance=1e-10)
