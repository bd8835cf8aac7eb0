"""scipy.optimize: SciPy's roots by its own names, of functions of traced values, and their derivatives."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import brentq, curve_fit, fixed_point, fsolve, least_squares, leastsq, newton, root, root_scalar
from scipy.special import ndtr

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])
TIGHT = {"xtol": 1e-14}


def kepler(search: Callable[..., Any]) -> Callable[[Any], Any]:
    """The eccentric anomaly of an orbit of this eccentricity and mean anomaly."""
    return lambda p: search(lambda x: x - p[0] * np.sin(x) - p[1], 0, 2 * np.pi, **TIGHT)


def implied_volatility(p: Any) -> Any:
    price, strike = p

    def excess(sigma: float) -> Any:
        d = -np.log(strike) / sigma + sigma / 2
        return ndtr(d) - strike * ndtr(d - sigma) - price

    return brentq(excess, 1e-3, 3.0, xtol=1e-14)


def anomaly(p: Any) -> Callable[[Any], Any]:
    return lambda x: x - p[0] * np.sin(x) - p[1]


def van_der_waals(p: Any) -> Any:
    """The volume of a gas by the polynomial of pressure and temperature, with both derivatives."""

    def f(v: Any) -> Any:
        return p[0] * v**3 - (p[0] * 0.1 + p[1]) * v**2 + v - 0.1

    def slope(v: Any) -> Any:
        return 3 * p[0] * v**2 - 2 * (p[0] * 0.1 + p[1]) * v + 1

    return newton(f, 1.3, fprime=slope, fprime2=lambda v: 6 * p[0] * v - 2 * (p[0] * 0.1 + p[1]))


def branching(x: Any) -> Any:
    return brentq(lambda v: v - x[0] if v > 0.2 else 2 * v - x[1], -1.0, 2.0, **TIGHT)


def circles(v: Any, p: Any) -> Any:
    return [v[0] ** 2 + v[1] ** 2 - p[0] - 2, v[0] - p[1] * v[1]]


TIMES = np.linspace(0, 2, 6)


def decay(t: Any, height: Any, rate: Any) -> Any:
    return height * np.exp(-rate * t)


def cube(x: Any, a: Any) -> Any:
    return x**3 - a


def told_roots(p: Any) -> Any:
    x, told, flag, _ = fsolve(circles, [1.0, 1.0], args=(p,), full_output=True)
    return x + np.sum(told["fvec"]) + flag


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{f"{s.__name__} of an orbit": kepler(s) for s in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748)},
    "an implied volatility": lambda p: implied_volatility(np.stack([p[0] * 0.3, p[1]])),
    "Newton's steps": lambda p: newton(anomaly(p), p[1], fprime=lambda x: 1 - p[0] * np.cos(x)),
    "secants": lambda p: newton(anomaly(p), 0.5),
    "secants of two points": lambda p: newton(lambda x: np.exp(x) - p[1], 0.5, x1=0.7),
    "Halley's steps": van_der_waals,
    "Newton's steps of an array": lambda p: newton(cube, np.ones(2), lambda x, a: 3 * x * x, (p,)),
    "secants of an array": lambda p: newton(cube, np.ones(2), args=[p]),
    "a bracket": lambda p: root_scalar(lambda x, e: x - e * np.sin(x) - p[1], args=(p[0],), bracket=[0, 6]).root,
    "a bracket by name": lambda p: root_scalar(lambda x: x * x - p[1], method="bisect", bracket=(0, 6)).root,
    "a point": lambda p: root_scalar(lambda x: p[0] * x**2 - p[1], x0=p[1], fprime=lambda x: 2 * p[0] * x).root,
    "what is found beside": lambda p: brentq(lambda x: x * x - p[1], 0, 6, full_output=True)[0],
    "a fixed point": lambda p: fixed_point(lambda x: np.cos(x) * p[0] + p[1], 0.5, xtol=1e-12),
    "iterated": lambda p: fixed_point(lambda x: np.cos(x) * p[0] + p[1], 0.5, xtol=1e-12, method="iteration"),
    "fixed points of each other": lambda p: fixed_point(lambda x: 0.4 * np.cos(x[::-1]) * p, np.ones(2), xtol=1e-12),
    "two equations": lambda p: fsolve(circles, [1.0, 1.0], args=(p,), xtol=1e-13),
    "what is found beside two equations": lambda p: told_roots(p),
    "two equations by root": lambda p: root(lambda v: np.array(circles(v, p)), [1.0, 1.0], tol=1e-13).x,
    "a number by root": lambda p: root(lambda x: x**3 - p[1], 1.0, method="lm", tol=1e-13).x,
    "least squares by MINPACK's name": lambda p: leastsq(lambda v, q: np.exp(v) - q, [0.1, 0.2], args=(p,))[0],
    "least squares": lambda p: least_squares(lambda v: TIMES * v[0] + np.sin(v[1]) - np.sin(TIMES * p[0]), p).x,
    "a curve's fit": lambda p: curve_fit(decay, TIMES, np.exp(-TIMES * p[0]) + p[1] * TIMES, p0=[1.0, 0.5])[0],
    "a weighted fit": lambda p: curve_fit(decay, TIMES, np.cos(TIMES * p[0]) * p[1], sigma=1 + TIMES)[0],
    "a fit's covariance": lambda p: np.sqrt(np.diag(curve_fit(decay, TIMES, np.cos(TIMES * p[0]) * p[1])[1])),
    "a branch in the equation": lambda p: branching(p),
    "a root in a root": lambda p: brentq(lambda x: x - kepler(brentq)(np.stack([p[0], x])) / 9 - p[1], 0.0, 6.0),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    function = FUNCTIONS[name]
    if "fit" in name or "squares" in name:  # where SciPy's own search ends before
        function = ps.trace(lambda p: FUNCTIONS[name](p), ORBIT)
        found, wanted = function(ORBIT), FUNCTIONS[name](ORBIT)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.shape(found) == np.shape(wanted)
    check_grads(lambda p: function(p), ORBIT, symbolic=False, value_tolerance=1e-10)


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


def test_a_file_finds_the_roots_of_any_number_of_equations() -> None:

    def f(a: Any) -> Any:
        return fsolve(lambda v: v + 0.3 * np.sin(v[::-1]) - a, np.zeros(a.shape[0]))

    program = ps.trace(f, ps.spec("float64", ["N"]))
    for count in (1, 4):
        a = np.linspace(0.2, 1.0, count)
        np.testing.assert_allclose(program(a), f(a), rtol=1e-7)


def test_roots_of_rows_are_found_in_a_batch() -> None:
    rows = np.array([[0.1, 0.4], [0.7, 2.0], [0.0, 3.0]])
    f = kepler(so.brentq)
    gradients = np.asarray(ps.vmap(ps.grad(f))(rows))
    for row, gradient in zip(rows, gradients, strict=True):
        e, x = row[0], f(row)
        np.testing.assert_allclose(gradient, np.array([np.sin(x), 1.0]) / (1 - e * np.cos(x)), rtol=1e-10)


def test_forward_mode_goes_through_a_root() -> None:
    x = kepler(so.brentq)(ORBIT)
    _, tangent = ps.jvp(kepler(so.brentq), (ORBIT,), (np.array([1.0, 0.0]),))
    assert float(tangent) == pytest.approx(np.sin(x) / (1 - ORBIT[0] * np.cos(x)), rel=1e-12)


def test_parameters_of_float32_have_gradients_of_float32() -> None:
    p = ORBIT.astype(np.float32)
    found = ps.grad(kepler(so.brentq))(p)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ps.grad(kepler(so.brentq))(ORBIT), rtol=1e-5)


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


def test_where_scipy_raises_there_is_no_number() -> None:
    same_signs = ps.trace(lambda p: brentq(lambda x: x * x + p[0], -1.0, 2.0), ORBIT)
    assert np.isnan(same_signs(ORBIT))
    too_short = ps.trace(lambda p: newton(lambda x: x**3 - p[0], 1.0, maxiter=2), ORBIT)
    assert np.isnan(too_short(ORBIT))
    told = ps.trace(lambda p: root_scalar(lambda x: x * x + p[0], bracket=[0, 1]).converged, ORBIT)
    assert not told(ORBIT)


def test_an_end_that_is_a_root_is_found() -> None:

    def f(p: Any) -> Any:
        return brentq(lambda x: x - p[0], 0.3, 2.0)

    assert ps.trace(f, ORBIT)(ORBIT) == 0.3


def test_a_root_of_numbers_alone_is_scipys_own() -> None:

    def f(p: Any) -> Any:
        return p * so.brentq(lambda x: x * x - 2.0, 0.0, 2.0)

    np.testing.assert_array_equal(ps.trace(f, ORBIT)(ORBIT), f(ORBIT))


def test_what_there_is_no_form_of_is_told_at_the_users_line() -> None:
    with pytest.raises(UnsupportedFunction, match="beside the function's value") as caught:
        ps.trace(lambda p: root_scalar(lambda x: (x - p[0], 1.0), x0=p[1], fprime=True).root, ORBIT)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_nothing_is_printed_of_what_a_function_is_run_again_for(capfd: pytest.CaptureFixture[str]) -> None:
    """SciPy's extension prints what its function raises, and raises another error."""
    hook = sys.excepthook
    slope = ps.grad(lambda p: np.sum(fsolve(lambda x: x**3 + p * x - 1.0, 0.5)))(1.0)
    x = fsolve(lambda x: x**3 + x - 1.0, 0.5)[0]
    np.testing.assert_allclose(slope, -x / (3 * x**2 + 1), rtol=1e-9)
    assert capfd.readouterr().err == ""
    assert sys.excepthook is hook
