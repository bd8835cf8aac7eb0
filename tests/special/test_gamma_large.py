"""The incomplete gamma functions of large shapes are SciPy's, with derivatives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import primsplit as ps

SHAPES = np.repeat([1.001e6, 1e7, 1e9, 1e12, 1e15], 7)
PLACES = SHAPES + np.tile([-4.0, -1.0, -1e-3, 0.0, 0.7, 3.0, 4.2], 5) * np.sqrt(SHAPES)
SHARES = np.array([0.0, 1e-4, 0.01, 0.3, 0.5, 0.97, 1.0, np.nan, -0.1])


@pytest.mark.parametrize("f", [sp.gammainc, sp.gammaincc])
def test_they_are_scipys_about_the_shape(f: Any) -> None:
    found = ps.trace(f, SHAPES, PLACES)(SHAPES, PLACES)
    np.testing.assert_allclose(found, f(SHAPES, PLACES), rtol=1e-12)


def test_far_from_the_shape_they_are_0_or_1() -> None:
    a, x = np.array([1e7, 1e7, 1e300, 1e7, np.inf, 1e9]), np.array([1.0, 1e9, 1e301, np.inf, 3.0, 0.0])
    found = ps.trace(lambda a, x: (sp.gammainc(a, x), sp.gammaincc(a, x)), a, x)(a, x)
    np.testing.assert_array_equal(found[0], sp.gammainc(a, x))
    np.testing.assert_array_equal(found[1], sp.gammaincc(a, x))


def test_their_derivatives_are_the_density_and_those_of_a_normal_expansion() -> None:
    """In x by logarithms to many digits; in the shape by mpmath, at 1.5e6 one deviation below: both derivatives."""
    a, x = 1e7, 1e7 + 2000.0
    in_x = ps.grad(lambda x: sp.gammainc(a, x))(x)
    m = 2000.0 / a
    exponent = a * (m - m * m / 2 + m**3 / 3 - m**4 / 4 + m**5 / 5) - 2000.0
    np.testing.assert_allclose(in_x, math.exp(exponent - 1 / (12 * a)) * math.sqrt(a / (2 * math.pi)) / x, rtol=1e-10)
    place = 1.5e6 - math.sqrt(1.5e6)
    slope = ps.grad(lambda a: sp.gammainc(a, place))
    np.testing.assert_allclose(slope(1.5e6), -0.00019759516220062718, rtol=1e-11)
    np.testing.assert_allclose(ps.grad(slope)(1.5e6), 1.61401643896796e-07, rtol=1e-6)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("f", [sp.gammaincinv, sp.gammainccinv])
def test_their_inverses_are_scipys_with_derivatives(f: Any) -> None:
    program = ps.trace(f, np.full_like(SHARES, 1e7), SHARES)
    for a in (2e6, 1e9, 1e15):
        shapes = np.full_like(SHARES, a)
        np.testing.assert_allclose(program(shapes, SHARES), f(shapes, SHARES), rtol=1e-12)
    a, y, steps = 1e9, 0.3, (1e5, 1e-4)
    slopes = ps.grad(lambda a, y: f(a, y), wrt=(0, 1))(a, y)
    wanted = [(f(a + steps[0], y) - f(a - steps[0], y)) / 2e5, (f(a, y + 1e-4) - f(a, y - 1e-4)) / 2e-4]
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "chi2": lambda a: st.chi2.sf(2 * a + 1e4, 2 * a),
    "poisson": lambda a: st.poisson.cdf(np.floor(a), a),
    "nakagami": lambda a: st.nakagami.cdf(1.0001, a),
    "quantile": lambda a: st.gamma.ppf(0.8, a),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_families_of_large_shapes_are_scipys(name: str) -> None:
    f, a = FAMILIES[name], np.array([3e6, 1e9])
    np.testing.assert_allclose(ps.trace(f, a)(a), f(a), rtol=1e-10)
    assert np.isfinite(ps.grad(lambda a: np.sum(f(a)))(a)).all()


def test_an_inverse_far_out_is_scipys() -> None:
    q = np.array([1e-300, 1e-307, 1e-200])
    found = ps.trace(lambda q: st.gamma.isf(q, 2.3), q)(q)
    np.testing.assert_allclose(found, st.gamma.isf(q, 2.3), rtol=1e-12)


@pytest.mark.slow
def test_students_quantile_of_few_degrees_of_freedom_is_scipys() -> None:
    df, q = np.array([0.02, 0.1, 0.02, 1.0]), np.array([0.3, 0.3, 0.4999, 0.8])
    np.testing.assert_allclose(ps.trace(st.t.ppf, q, df)(q, df), st.t.ppf(q, df), rtol=1e-10)


def test_an_inverse_out_of_the_reach_of_scipys_series_is_right() -> None:
    """By the integral of the density to 30 digits, where SciPy is off in the eighth."""
    np.testing.assert_allclose(ps.trace(lambda y: sp.gammaincinv(2e6, y), 0.1)(1e-6), 1993284.8397652204, rtol=1e-13)
