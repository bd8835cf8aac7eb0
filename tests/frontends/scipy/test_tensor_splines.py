"""Splines on grids: SciPy's values, and their derivatives in points and in values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import interpolate
from scipy.interpolate import RegularGridInterpolator, interpn
from scipy.sparse.linalg import spsolve

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads
from tests.numpy.agreement import by_symbols

RANDOM = np.random.default_rng(0)
GRID = (np.array([0.0, 0.5, 1.0, 2.0, 3.0, 3.5]), np.linspace(0.0, 1.0, 7))
FIELD = RANDOM.standard_normal((6, 7))
POINTS = np.array([[0.3, 0.23], [2.2, 0.91], [3.1, 0.7]])
OUTSIDE = np.array([[4.0, 0.55], [1.1, 0.4], [1.3, -0.1]])
EXACT = {"solver": lambda matrix, values, **_: (spsolve(matrix, values), 0)}
"""SciPy's usual solver ends at 1e-5."""


def made(values: Any, method: str, **options: Any) -> Any:
    return RegularGridInterpolator(GRID, values, method=method, **(EXACT | options))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{method} at points": (lambda x, m=method: made(FIELD, m)(x), (POINTS,))
        for method in ("slinear", "cubic", "quintic")
    },
    **{
        f"{method} of values": (lambda v, m=method: made(v, m)(POINTS), (FIELD,))
        for method in ("slinear", "cubic", "quintic")
    },
    "cubic of both": (lambda v, x: made(v, "cubic", bounds_error=False, fill_value=None)(x), (FIELD, OUTSIDE)),
    "of rows of values": (
        lambda v, x: made(np.stack([v, v**2], 2), "cubic", bounds_error=False, fill_value=0.5)(x), (FIELD, OUTSIDE)
    ),
    "by another method": (lambda x: made(FIELD, "cubic")(x, method="slinear"), (POINTS,)),
    "at columns": (lambda x, y: made(FIELD, "cubic")((x, y)), (POINTS[:, 0], POINTS[:, 1])),
    "of complex values": (lambda v, x: made(v + 1j * v**2, "cubic")(x).imag, (FIELD, POINTS)),
    "along a line": (
        lambda v, x: RegularGridInterpolator((GRID[0],), v, "cubic", **EXACT)(x[:, None]), (FIELD[:, 0], POINTS[:, 0])
    ),
    "in space": (
        lambda v, x: RegularGridInterpolator((GRID[0][:4],) * 3, v, "cubic", **EXACT)(x),
        (RANDOM.standard_normal((4, 4, 4)), np.array([[0.3, 0.6, 1.2], [1.4, 0.1, 0.8]])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_spline_on_a_grid_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *x: function(*x), *given, symbolic=False, order=1, value_tolerance=1e-10, step=1e-3)


def test_a_known_spline_may_be_made_with_any_solver() -> None:
    def f(x: Any) -> Any:
        made = RegularGridInterpolator(GRID, FIELD, method="cubic", solver=spsolve)
        return made(x)

    check_grads(f, POINTS, value_tolerance=1e-9)


def test_interpn_takes_splines() -> None:
    def function(v: Any, x: Any) -> Any:
        return interpn(GRID, v, x, "cubic", bounds_error=False, fill_value=0.3)

    found = ps.trace(function, FIELD, OUTSIDE)(FIELD, OUTSIDE)
    np.testing.assert_allclose(found, function(FIELD, OUTSIDE), atol=1e-4)
    exact = made(FIELD, "cubic", bounds_error=False, fill_value=0.3)(OUTSIDE)
    np.testing.assert_allclose(found, exact, rtol=1e-10)


@pytest.mark.parametrize("method", ["linear", "nearest", "cubic"])
def test_a_point_is_a_row_of_them(method: str) -> None:
    options = EXACT if method == "cubic" else {}
    known = RegularGridInterpolator(GRID, FIELD, method, **options)
    found = ps.trace(lambda x: known(x), POINTS[0])(POINTS[0])
    np.testing.assert_allclose(found, known(POINTS[0]), rtol=1e-10)
    assert found.shape == (1,)


def test_one_file_serves_every_number_of_points_and_values() -> None:
    program = ps.trace(lambda v, x: made(v, "cubic")(x), *by_symbols((FIELD, POINTS)))
    for count in (0, 1, 3):
        np.testing.assert_allclose(program(FIELD, POINTS[:count]), made(FIELD, "cubic")(POINTS[:count]), rtol=1e-10)
    with pytest.raises(ps.PrimsplitError):
        program(FIELD[:5], POINTS)


def test_a_traced_grid_is_refused() -> None:
    with pytest.raises(UnsupportedFunction, match="on a traced grid"):
        ps.trace(lambda x: RegularGridInterpolator((x,), FIELD[:, 0], "cubic")([[0.3]]), GRID[0])


@pytest.mark.sweep(6)
@pytest.mark.parametrize("kind", ["quadratic", "cubic", "slinear", 3])
def test_a_spline_along_an_axis_has_fill_values(kind: str | int) -> None:
    """interp1d of values, and of sites."""
    x = np.array([[-1.0, 0.3], [1.2, 4.0]])
    options = {"bounds_error": False}

    def of_values(y: Any) -> Any:
        return interpolate.interp1d(GRID[0], y, kind, fill_value=(y[..., 0], 9.0), **options)(x)

    def of_sites(s: Any, y: Any) -> Any:
        return interpolate.interp1d(s, y, kind, axis=0, fill_value=0.5, **options)(x)

    check_grads(of_values, FIELD[:, :2].T, symbolic=False, value_tolerance=1e-10)
    check_grads(of_sites, GRID[0], FIELD[:, :2], symbolic=False, value_tolerance=1e-10, step=1e-3)
