"""Splines of traced coefficients or values at many known sites: SciPy's values, derivatives, and small files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import primsplit as ps
from primsplit.frontends.scipy.known_splines import coefficients_through, pieces_of
from primsplit.tracing.asarray import array_like
from tests.numpy.agreement import check_grads

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
SITES = np.sort(RANDOM.uniform(0, 1, 60))
AT = np.linspace(-0.05, 1.05, 23)
REPEATED = np.array([0.0] * 4 + [0.2, 0.5, 0.5, 0.5, 0.7] + [1.0] * 4)

CASES: dict[str, tuple[int, Callable[[Any], Any]]] = {
    **{
        f"order {k}": (60, lambda y, k=k: scipy.interpolate.make_interp_spline(SITES, y, k=k)(AT)) for k in (1, 2, 3, 5)
    },
    **{
        f"ends {bc}": (60, lambda y, bc=bc: scipy.interpolate.make_interp_spline(SITES, y, bc_type=bc)(AT, 1))
        for bc in ("natural", "clamped", ("natural", "clamped"), (None, None))
    },
    "interp1d": (60, lambda y: scipy.interpolate.interp1d(SITES, y, kind="cubic", fill_value="extrapolate")(AT)),
    "FITPACK, order 3": (60, lambda y: scipy.interpolate.InterpolatedUnivariateSpline(SITES, y)(AT)),
    "FITPACK, order 4": (60, lambda y: scipy.interpolate.InterpolatedUnivariateSpline(SITES, y, k=4)(AT)),
    "repeated knots": (9, lambda c: scipy.interpolate.BSpline(REPEATED, c, 3)(AT)),
    "columns": (9, lambda c: scipy.interpolate.BSpline(REPEATED, np.stack([c, c**2]), 3, axis=1)(AT)),
}


@pytest.mark.sweep(10)
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys_and_derivatives_central_differences(name: str) -> None:
    size, made = CASES[name]
    y = np.sin(5 * np.linspace(0, 1, size)) + 2
    np.testing.assert_allclose(ps.trace(made, y)(y), made(y), rtol=1e-9, atol=1e-9)
    check_grads(lambda y: made(y) ** 2, y, value_tolerance=1e-9)


def test_splrep_is_linear_in_its_values() -> None:
    def total(y: Any) -> Any:
        return np.sum(np.cos(AT) * scipy.interpolate.splev(AT, scipy.interpolate.splrep(SITES, y)))

    value, gradient = ps.value_and_grad(total)(np.sin(7 * SITES))
    np.testing.assert_allclose(value, total(np.sin(7 * SITES)), rtol=1e-9)
    np.testing.assert_allclose(gradient @ np.exp(SITES), total(np.exp(SITES)), rtol=1e-9)


def test_complex_values_are_splines_of_both_parts() -> None:
    y = np.sin(7 * SITES)
    traced = ps.trace(lambda y: scipy.interpolate.make_interp_spline(SITES, (1 + 2j) * y)(AT).imag, y)
    np.testing.assert_allclose(
        traced(y), 2 * scipy.interpolate.make_interp_spline(SITES, y)(AT), rtol=1e-11, atol=1e-13
    )


def test_a_missing_coefficient_is_missed_by_the_pieces_that_it_reaches_alone() -> None:
    coefficients = np.ones(9)
    coefficients[8] = np.nan
    found = ps.trace(lambda c: scipy.interpolate.BSpline(REPEATED, c, 3)(np.array([0.1, 0.6, 0.9])), coefficients)
    np.testing.assert_allclose(found(coefficients), [1.0, 1.0, np.nan])


def test_a_system_that_is_not_square_is_left() -> None:
    def solved(y: Any) -> Any:
        assert coefficients_through(SITES, REPEATED, 3, array_like(y)) is None
        return pieces_of(REPEATED, array_like(y)[:9], 3)[0]

    assert ps.trace(solved, SITES)(SITES).shape == (4, 4)


@pytest.mark.parametrize("make", ["make_interp_spline", "BSpline"])
def test_a_file_grows_with_the_sites(make: str, tmp_path: Path) -> None:
    sizes = []
    for count in (200, 400):
        sites = np.linspace(0, 1, count)
        knots = np.r_[[0.0] * 3, np.linspace(0, 1, count - 2), [1.0] * 3]

        def at(y: Any, sites: Array = sites, knots: Array = knots) -> Any:
            if make == "BSpline":
                return scipy.interpolate.BSpline(knots, y, 3)(AT)
            return scipy.interpolate.make_interp_spline(sites, y)(AT)

        ps.trace(at, sites).save(tmp_path / f"{count}.onnx")
        sizes.append((tmp_path / f"{count}.onnx").stat().st_size)
    assert sizes[1] < 2.3 * sizes[0]
    assert sizes[1] < 400 * 600
