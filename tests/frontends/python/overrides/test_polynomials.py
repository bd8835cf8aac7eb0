"""np.poly1d and np.polynomial of traced coefficients and at traced points: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, HermiteE, Laguerre, Legendre, Polynomial, chebyshev, hermite, legendre
from numpy.polynomial import polynomial as powers

import primsplit as ps
from primsplit.testing import check_grads

C = np.array([0.7, -1.2, 0.4, 0.9])
AT = np.array([[0.3, -0.5, 0.1], [0.8, 0.2, -0.9]])
Function = Callable[[Any], Any]

FUNCTIONS: dict[str, Function] = {
    "poly1d called": lambda c: np.poly1d(c)(AT),
    "poly1d of itself": lambda c: np.poly1d(c)(c * 0.5),
    "poly1d's arithmetic": lambda c: ((np.poly1d(c) * np.poly1d([1.0, 2.0]) + np.poly1d(c[:2]) - 3) ** 2)(0.3),
    "poly1d's coefficients": lambda c: (2 * np.poly1d(c) + c[0]).coeffs,
    "poly1d's derivatives": lambda c: np.poly1d(c).deriv()(AT) + np.poly1d(c).deriv(2)(AT),
    "poly1d's integral": lambda c: np.poly1d(c).integ(k=c[0])(AT),
    "poly1d of roots": lambda c: np.poly1d(c, r=True)(0.3),
    "poly1d of numbers at traced points": lambda c: np.poly1d([1.0, -2.0, 0.5])(c),
    "Polynomial called": lambda c: Polynomial(c)(AT),
    "Polynomial of numbers at traced points": lambda c: Polynomial([1.0, 2.0, -0.3], domain=[0, 2])(c),
    "Polynomial's arithmetic": lambda c: (Polynomial(c) * Polynomial([1.0, 2.0]) - Polynomial(c[:2]) + 1.5)(0.3),
    "Polynomial's derivative and integral": lambda c: Polynomial(c).deriv()(0.2) * Polynomial(c).integ(2)(AT),
    "Polynomial's power": lambda c: (Polynomial(c) ** 2).coef,
    "Chebyshev": lambda c: (Chebyshev(c).deriv() * Chebyshev(c))(AT),
    "Legendre": lambda c: Legendre(c).integ()(AT),
    "HermiteE": lambda c: HermiteE(c)(AT),
    "Laguerre": lambda c: Laguerre(c)(AT) + Laguerre([0.5, 1.0])(c[0]),
    "Polynomial's quotient and rest": lambda c: np.append(
        (Polynomial(c) // Polynomial(c[:2])).coef, (Polynomial(c) % Polynomial([1.0, 2.0])).coef
    ),
    "Polynomial of another basis": lambda c: (
        chebyshev.cheb2poly(c) * np.arange(4.0) + legendre.poly2leg(c) + Chebyshev(c).convert(kind=Polynomial).coef
    ),
    "a fit's powers": lambda c: Polynomial.fit(np.arange(4.0), c, 2).convert().coef[:3],
    "polyval": lambda c: powers.polyval(0.3, c) + powers.polyval(AT, c),
    "polyval of columns": lambda c: powers.polyval(0.3, c.reshape(2, 2)),
    "polyder and polyint": lambda c: powers.polyder(c) + powers.polyint(c)[:3],
    "polyvander": lambda c: powers.polyvander(c, 3),
    "polyval at traced points of a table": lambda c: (
        powers.polyval(c, AT.T) + powers.polyval(c[:3], AT, tensor=False)[0]
    ),
    "chebval at traced points of a table": lambda c: chebyshev.chebval(c, AT.T),
    "chebval": lambda c: chebyshev.chebval(c, [1.0, 2.0, 3.0]) * chebyshev.chebval(0.4, c),
    "chebmul": lambda c: chebyshev.chebmul(c, c),
    "chebvander": lambda c: chebyshev.chebvander(c, 3),
    "legval": lambda c: legendre.legval(c, [1.0, 2.0, 3.0]) * legendre.legval(0.4, c),
    "hermval": lambda c: hermite.hermval(c, [1.0, 2.0, 3.0]) * hermite.hermval(0.4, c),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_polynomial_is_numpys_and_has_derivatives_of_second_order(name: str) -> None:
    check_grads(FUNCTIONS[name], C, order=2, symbolic=False)


def test_coefficients_that_are_zero_stay() -> None:
    c = np.array([0.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(ps.trace(lambda c: np.poly1d(c).coeffs, c)(c), c)
    np.testing.assert_array_equal(ps.trace(lambda c: (Polynomial(c) + Polynomial(c)).coef, c)(c), 2 * c)


def test_one_file_evaluates_at_any_number_of_points() -> None:
    program = ps.trace(lambda x: Chebyshev(x[:1] * C)(x), ps.spec("float64", ["N"]))
    for size in (4, 1):
        x = np.linspace(0.1, 0.9, size)
        np.testing.assert_allclose(program(x), Chebyshev(x[:1] * C)(x), rtol=1e-12)


def test_plain_polynomials_are_numpys_own_afterwards() -> None:
    ps.trace(lambda c: np.poly1d(c)(0.3), C)
    assert np.poly1d([0.0, 1.0]).coeffs.tolist() == [1.0]
    assert type(powers.np) is type(np)


RULES = ("chebyshev.chebgauss", "hermite.hermgauss", "hermite_e.hermegauss", "laguerre.laggauss", "legendre.leggauss")


@pytest.mark.parametrize("name", RULES)
def test_points_of_gausss_rules_are_numpys_where_a_function_is_run_again(name: str) -> None:
    module, rule = name.split(".")

    def integral(x: Any) -> Any:
        nodes, weights = getattr(getattr(np.polynomial, module), rule)(5)
        values = np.array([x[0] * n + x[-1] * n * n for n in nodes])
        return np.sum(weights * values) * x

    check_grads(integral, np.array([0.7, 1.9]))


def of_poly1d(x: Any) -> Any:
    p, q = np.poly1d([1.0, *x]), np.poly1d(x)
    quotient, rest = np.polydiv(p, np.poly1d([1.0, x[0]]))
    derived = np.polyder(p)(0.3) + np.polyint(p)(0.5) + np.polyval(p, x) + np.polymul(p, q)(0.2)
    return derived + np.polyadd(p, q)(0.1) + np.polysub(p, [1.0, 2.0])(0.4) + quotient(0.7) + rest(0.2)


def test_functions_of_coefficients_take_poly1ds() -> None:
    check_grads(of_poly1d, np.array([0.3, 1.2, -0.7]), symbolic=False, order=1)
