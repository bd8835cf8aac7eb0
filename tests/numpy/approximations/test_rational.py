"""Polynomials and quotients of polynomials of a traced array."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations.rational import Rational, horner

T = np.array([-1.5, 0.0, 0.3, 2.0])


@pytest.mark.parametrize("coefficients", [[1.0, -3.0], [0.5, 0.0, -2.0, 4.0]])
def test_the_constant_comes_first(coefficients: list[float]) -> None:
    wanted = np.polynomial.Polynomial(coefficients)(T)
    np.testing.assert_allclose(ps.trace(lambda t: horner(coefficients, t), T)(T), wanted, rtol=1e-14)


def test_a_quotient_is_that_of_polynomials_around_its_origin() -> None:
    quotient = Rational((1.0, 2.0, -0.5), (2.0, 0.25), 0.5)
    upper, lower = np.polynomial.Polynomial([1.0, 2.0, -0.5]), np.polynomial.Polynomial([2.0, 0.25])
    np.testing.assert_allclose(ps.trace(lambda t: quotient(t), T)(T), upper(T - 0.5) / lower(T - 0.5), rtol=1e-14)
    plain = Rational((1.0, 2.0), (1.0,))
    np.testing.assert_allclose(ps.trace(lambda t: plain(t), T)(T), 1.0 + 2.0 * T, rtol=1e-15)
