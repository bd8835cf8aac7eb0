"""scipy.interpolate's cubic splines through traced sites and values, by the slopes that make them smooth."""

from typing import Any

import numpy as np

from primsplit.array import unsupported
from primsplit.concretization import literal_size
from primsplit.lifting import array_like
from primsplit.numpy.complex.operands import operand
from primsplit.scipy.hermite import hermite
from primsplit.scipy.interpolate import Piecewise
from primsplit.scipy.operands import double, wide

__all__ = ["cubic_spline"]

Row = tuple[list[Any], Any]
"""The factors of the first slopes in the equation of an end, from the end inward, and its other side."""


def cubic_spline(x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Piecewise:
    """CubicSpline: twice smooth at ascending sites, with these conditions at its ends.

    C. de Boor, A Practical Guide to Splines (1978), ch. IV. `bc_type` is as in SciPy, its numbers may be traced. That a
    periodic one has equal values at its ends, which SciPy checks, is not.
    """
    sites: Any = array_like(double(x))
    given: Any = operand(wide(y))
    values = np.moveaxis(given, axis, 0)
    count = literal_size(sites.shape[0], "scipy.interpolate.CubicSpline")
    is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
    rest = (1,) * (values.ndim - 1)
    widths = np.diff(sites)
    rises = np.diff(values, axis=0) / widths.reshape((-1, *rest))
    if is_periodic:
        slopes = _around(widths, rises, count)
    else:
        ends = _ends(bc_type, widths, rises, count)
        slopes = _between(widths, rises, count, ends)
    going_on = ("periodic" if is_periodic else True) if extrapolate is None else extrapolate
    return hermite(sites, given, np.moveaxis(slopes, 0, axis), axis, going_on)


def _ends(bc_type: Any, widths: Any, rises: Any, count: int) -> list[Row]:
    """The equations of the first slopes and of the last ones."""
    kinds = bc_type if isinstance(bc_type, tuple) and len(bc_type) == 2 else (bc_type, bc_type)
    if isinstance(bc_type, tuple) and not isinstance(bc_type[0], str | tuple):
        kinds = (bc_type, bc_type)
    if count == 3 and all(isinstance(k, str) and k == "not-a-knot" for k in kinds):
        return [([1.0, 1.0], 2 * rises[0]), ([1.0, 1.0], 2 * rises[1])]  # a parabola: means of slopes are rises
    sides = ((widths, rises), (widths[::-1], rises[::-1]))
    return [_end(kind, w, r, count, sign) for kind, (w, r), sign in zip(kinds, sides, (1.0, -1.0), strict=True)]


def _end(kind: Any, widths: Any, rises: Any, count: int, sign: float) -> Row:
    """The equation of the slopes at an end, of widths and rises from there inward."""
    named = {"natural": (2, 0.0), "clamped": (1, 0.0)}
    order, value = named.get(kind, (0, None)) if isinstance(kind, str) else kind
    if order == 1:
        return [1.0], value + np.zeros_like(rises[0])
    if order == 2:
        return [2.0, 1.0], 3 * rises[0] - sign * 0.5 * widths[0] * value
    if kind != "not-a-knot":
        raise unsupported(f"a spline of traced numbers with bc_type={kind!r}")
    if count == 2:
        return [1.0], rises[0]
    both = widths[0] + widths[1]
    return [widths[1], both], ((widths[0] + 2 * both) * widths[1] * rises[0] + widths[0] ** 2 * rises[1]) / both


def _between(widths: Any, rises: Any, count: int, ends: list[Row]) -> Any:
    """The slopes at the sites: one equation for each inner site, and those of the ends."""
    first, last = ends
    rows = [_row(count, dict(enumerate(first[0])))]
    rows += [_row(count, factors) for factors in _inner(widths, count)]
    rows.append(_row(count, {count - 1 - i: f for i, f in enumerate(last[0])}))
    rest = (1,) * (rises.ndim - 1)
    before, after = (w.reshape((-1, *rest)) for w in (widths[:-1], widths[1:]))
    middle = 3 * (after * rises[:-1] + before * rises[1:])
    sides = np.concatenate([first[1][None], middle, last[1][None]])
    return np.linalg.solve(np.stack(rows), sides.reshape((count, -1))).reshape(sides.shape)


def _inner(widths: Any, count: int) -> list[dict[int, Any]]:
    """The factors of the slopes about each inner site."""
    return [{i - 1: widths[i], i: 2 * (widths[i - 1] + widths[i]), i + 1: widths[i - 1]} for i in range(1, count - 1)]


def _row(count: int, factors: dict[int, Any]) -> Any:
    """A row of a matrix, 0 where no factor is told."""
    return np.stack([array_like(double(factors.get(i, 0.0))) for i in range(count)])


def _around(widths: Any, rises: Any, count: int) -> Any:
    """The slopes of a spline whose ends meet: the first is the last one, too."""
    size = count - 1
    if size < 3:
        raise unsupported("a periodic spline of fewer than four traced sites")
    rest = (1,) * (rises.ndim - 1)
    before, earlier = np.roll(widths, 1), np.roll(rises, 1, axis=0)
    rows = [
        _row(size, {(i - 1) % size: widths[i], i: 2 * (before[i] + widths[i]), (i + 1) % size: before[i]})
        for i in range(size)
    ]
    sides = 3 * (widths.reshape((-1, *rest)) * earlier + before.reshape((-1, *rest)) * rises)
    slopes = np.linalg.solve(np.stack(rows), sides.reshape((size, -1))).reshape(sides.shape)
    return np.concatenate([slopes, slopes[:1]])
