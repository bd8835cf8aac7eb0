"""Substitutes for scipy.interpolate's interpolants on grids and between scattered points, called as functions."""

import sys
from types import ModuleType
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.table import register, register_method, substitute_of, when_traced
from primsplit.frontends.scipy.hermite import pchip
from primsplit.frontends.scipy.interpolate import ascending_grid
from primsplit.frontends.scipy.operands import of_length
from primsplit.frontends.scipy.overrides.interpolation import of_grid, on_the_grid
from primsplit.frontends.scipy.tensor_splines import DEGREES
from primsplit.frontends.scipy.triangles import Nearest, Triangulated, griddata
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced


def _triangulation(corners: Any) -> Any:
    """Delaunay's simplices of known points, [count, axes + 1]."""
    return sys.modules["scipy.spatial"].Delaunay(corners).simplices


def _known(points: Any, name: str) -> Any:
    """The points [count, axes], which are known. Raises UnsupportedFunction where they are traced."""
    parts = points if isinstance(points, tuple) else (points,)
    found: list[Any] = [
        p.known() if isinstance(p, Array) else None if holds_traced(p) else np.asarray(p) for p in parts
    ]
    if any(f is None for f in found):
        raise unsupported(f"scipy.interpolate.{name} of traced points")
    return np.asarray(np.stack(found, axis=-1) if isinstance(points, tuple) else found[0], np.float64)


def _interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """interpn; a point outside gives the fill value, or a run with one fails."""
    if method not in {"linear", "nearest", *DEGREES}:
        raise unsupported(f"scipy.interpolate.interpn with method={method!r}")
    module = sys.modules["scipy.interpolate"]
    points, values = ascending_grid(points, values)
    xi = on_the_grid(points, xi) if bounds_error else xi
    return of_grid(module, points, values, xi, method, np.nan if bounds_error else fill_value)


def _griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """griddata of known points."""
    corners = _known(points, "griddata")
    if rescale:
        raise unsupported("scipy.interpolate.griddata with rescale")
    if corners.ndim == 1 or corners.shape[1] == 1:
        return _along_line(corners.reshape(-1), values, xi, method, fill_value)
    return griddata(corners, values, xi, method, fill_value, _triangulation)


def _along_line(places: Any, values: Any, xi: Any, method: str, fill_value: Any) -> Any:
    """griddata at known places of a line, in any order: interp1d of this kind; the nearest place has no end."""
    asked: Any = array_like(xi[0] if isinstance(xi, tuple) else xi)
    asked = asked[..., 0] if asked.ndim > 1 else asked
    order = np.argsort(places)
    given = np.take(of_length(array_like(values), len(places), 0), order, axis=0)
    fill = "extrapolate" if method == "nearest" else fill_value
    made = sys.modules["scipy.interpolate"].interp1d
    return substitute_of(made).traced(places[order], given, method, 0, bounds_error=False, fill_value=fill)(asked)


def _linear(points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> Triangulated:
    """LinearNDInterpolator of traced values at known points."""
    if rescale or hasattr(points, "simplices"):
        raise unsupported("scipy.interpolate.LinearNDInterpolator with rescale, or of a triangulation,")
    corners = _known(points, "LinearNDInterpolator")
    return Triangulated(corners, _triangulation(corners), values, fill_value)


def _nearest(x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> Nearest:
    """NearestNDInterpolator of traced values or points."""
    if rescale or hasattr(x, "simplices"):
        raise unsupported("scipy.interpolate.NearestNDInterpolator with rescale, or of a triangulation,")
    return Nearest(np.stack(x, axis=-1) if isinstance(x, tuple) else x, y)


def _at_linear(made: Any, *args: Any) -> Any:
    """A LinearNDInterpolator at traced points; UnsupportedFunction for its variants."""
    if type(made).__name__ != "LinearNDInterpolator":
        raise unsupported(f"scipy.interpolate.{type(made).__name__}")
    values = made.values.reshape((len(made.points), *made.values_shape))
    return Triangulated(made.points, made.tri.simplices, values, made.fill_value)(*args)


def _at_nearest(made: Any, *args: Any) -> Any:
    """A NearestNDInterpolator at traced places."""
    return Nearest(made.points, made.values)(*args)


def _monotone(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """pchip_interpolate."""
    made = pchip(xi, yi, axis)
    return made(x, der) if np.ndim(der) == 0 else [made(x, d) for d in der]


FUNCTIONS: dict[str, Any] = {
    "interpn": _interpn, "griddata": _griddata, "LinearNDInterpolator": _linear, "NearestNDInterpolator": _nearest,
    "pchip_interpolate": _monotone,
}  # fmt: skip


def register_scattered(module: ModuleType) -> None:
    """Let traced arrays be given to these of `scipy.interpolate`."""
    for name, traced in FUNCTIONS.items():
        original: Any = getattr(module, name)
        register(original, when_traced(original, traced))
    register_method(module.LinearNDInterpolator, "__call__", _at_linear)
    register_method(module.NearestNDInterpolator, "__call__", _at_nearest)
