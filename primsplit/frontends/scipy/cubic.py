"""scipy.interpolate's cubic splines through traced sites and values, by the slopes that make them smooth."""

from functools import partial
from typing import Any

import numpy as np

from primsplit.frontends.scipy.hermite import hermite
from primsplit.frontends.scipy.interpolate import Piecewise
from primsplit.frontends.scipy.known_systems import known_reals, of_diagonals, solution
from primsplit.frontends.scipy.operands import ascending, double, finite, of_at_least, of_length, wide
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.dense.tridiagonal import solve_tridiagonal
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.complex_array import ComplexArray

__all__ = ["cubic_spline"]

Row = tuple[Any, Any, Any]
"""The factors of the slopes at an end and next to it in an equation, and its other side."""


def cubic_spline(x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Piecewise:
    """CubicSpline: twice smooth at ascending sites, with these conditions at its ends.

    C. de Boor, A Practical Guide to Splines (1978), ch. IV. `bc_type` is as in SciPy, its numbers may be traced. A run
    whose periodic spline has other values at its last site than at its first fails.
    """
    given: Any = operand(wide(y))
    values = np.moveaxis(given, axis, 0)
    count = values.shape[0]
    known = known_reals(x)
    sites: Any = known if known is not None else of_at_least(of_length(array_like(double(x)), count), 2)
    sites, values = sites if known is not None else ascending(sites), finite(values)
    is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if is_periodic:
        apart = np.logical_not(np.isclose(values[0], values[-1], rtol=1e-15, atol=1e-15))
        values = refusing(values, apart, ValueError("a periodic spline has one value at its first and last site"))
    rest = (1,) * (values.ndim - 1)
    widths = np.diff(sites)
    rises = np.diff(values, axis=0) / widths.reshape((-1, *rest))
    if is_periodic:
        slopes = _around(widths, rises, count)
    else:
        ends = _ends(bc_type, widths, rises, count)
        slopes = _between(widths, rises, ends)
    going_on = ("periodic" if is_periodic else True) if extrapolate is None else extrapolate
    made = hermite(sites, given, np.moveaxis(slopes, 0, axis), axis, going_on)
    return made if known is None else Piecewise(made.c, known, made.extrapolate, made.axis)


def _ends(bc_type: Any, widths: Any, rises: Any, count: Dim) -> list[Row]:
    """The equations of the first slopes and of the last ones."""
    kinds = bc_type if isinstance(bc_type, tuple) and len(bc_type) == 2 else (bc_type, bc_type)
    if isinstance(bc_type, tuple) and not isinstance(bc_type[0], str | tuple):
        kinds = (bc_type, bc_type)
    sides = ((widths, rises), (widths[::-1], rises[::-1]))
    ends = [_end(kind, w, r, count, sign) for kind, (w, r), sign in zip(kinds, sides, (1.0, -1.0), strict=True)]
    if not all(isinstance(k, str) and k == "not-a-knot" for k in kinds):
        return ends
    # A parabola through three: the means of two slopes are the rises.
    return [
        tuple(_where_counted(count, 3, one, other) for one, other in zip((1.0, 1.0, 2 * r[0]), end, strict=True))
        for (_, r), end in zip(sides, ends, strict=True)
    ]


def _where_counted(count: Dim, number: int, value: Any, other: Any) -> Any:
    """The first value where there are so many sites, which only the run may know, else the other one."""
    if not dims.could_be(count, number):
        return other
    return value if dims.same(count, number) else np.where(size_as(count, np.int64) == number, value, other)


def _end(kind: Any, widths: Any, rises: Any, count: Dim, sign: float) -> Row:
    """The equation of the slopes at an end, of widths and rises from there inward."""
    named = {"natural": (2, 0.0), "clamped": (1, 0.0)}
    order, value = named.get(kind, (0, None)) if isinstance(kind, str) else kind
    if order == 1:
        return 1.0, 0.0, value + np.zeros_like(rises[0])
    if order == 2:
        return 2.0, 1.0, 3 * rises[0] - sign * 0.5 * widths[0] * value
    if kind != "not-a-knot":
        raise unsupported(f"a spline of traced numbers with bc_type={kind!r}")
    inner = size_as(dims.minimum(1, count - 2), np.int64)
    width, rise = np.take(widths, inner), np.take(rises, inner, axis=0)
    both = widths[0] + width
    side = ((widths[0] + 2 * both) * width * rises[0] + widths[0] ** 2 * rise) / both
    of_two = (1.0, 0.0, rises[0])
    return tuple(_where_counted(count, 2, one, other) for one, other in zip(of_two, (width, both, side), strict=True))


def _between(widths: Any, rises: Any, ends: list[Row]) -> Any:
    """The slopes at the sites: one equation for each inner site, and those of the ends."""
    first, last = ends
    rest = (1,) * (rises.ndim - 1)
    before, after = widths[:-1], widths[1:]
    sides = 3 * (after.reshape((-1, *rest)) * rises[:-1] + before.reshape((-1, *rest)) * rises[1:])
    sides = np.concatenate([first[2][None], sides, last[2][None]])
    corners = [np.reshape(e if isinstance(e, Array) else np.float64(e), 1) for e in (*first[:2], *last[:2])]
    diagonal = np.concatenate([corners[0], 2 * (before + after), corners[2]])
    return _solved(np.concatenate([after, corners[3]]), diagonal, np.concatenate([corners[1], before]), sides)


def _solved(below: Any, diagonal: Any, above: Any, sides: Any) -> Any:
    """The solution of a system of three diagonals, whose other sides have any further axes, and may be complex."""
    if isinstance(sides, ComplexArray):
        return ComplexArray(*(_solved(below, diagonal, above, part) for part in (sides.real, sides.imag)))
    columns = sides.reshape((sides.shape[0], dims.product(sides.shape[1:])))
    if not any(isinstance(x, Array) for x in (below, diagonal, above)):
        numbers = np.stack([np.append(0.0, above), diagonal, np.append(below, 0.0)])
        found = solution(partial(of_diagonals, numbers, 1, 1), columns)
        if found is not None:
            return np.reshape(found, sides.shape)
        below, diagonal, above = map(array_like, (below, diagonal, above))
    return solve_tridiagonal(below, diagonal, above, columns).reshape(sides.shape)


def _around(widths: Any, rises: Any, count: Dim) -> Any:
    """The slopes of a spline whose ends meet: the first is the last one, too."""
    size = count - 1
    rest = (1,) * (rises.ndim - 1)
    before, earlier = np.roll(widths, 1), np.roll(rises, 1, axis=0)
    place: Any = count_up(size)
    row, number = place[:, None], size_as(size, np.int64)
    # Of two pieces both neighbours of a site are one, of one piece it itself is: the factors add up.
    matrix = (
        np.where(place == row, 2 * (before + widths)[:, None], 0.0)
        + np.where(place == (row + number - 1) % number, widths[:, None], 0.0)
        + np.where(place == (row + 1) % number, before[:, None], 0.0)
    )
    sides = 3 * (widths.reshape((-1, *rest)) * earlier + before.reshape((-1, *rest)) * rises)
    slopes = failing.nan_where_singular.solve(matrix, sides.reshape((size, dims.product(sides.shape[1:])))).reshape(
        sides.shape
    )
    return np.concatenate([slopes, slopes[:1]])
