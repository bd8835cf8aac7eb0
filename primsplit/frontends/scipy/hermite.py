"""scipy.interpolate's cubic polynomials from values and slopes, which may both be traced, as may the sites."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.interpolate import Piecewise
from primsplit.frontends.scipy.operands import ascending, double, finite, of_at_least, of_length, wide
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import operand
from primsplit.tracing.asarray import array_like

__all__ = ["akima", "hermite", "pchip"]

LEAST = 1e-9
"""The part of the largest change of slopes below which Akima's weights are those of no change."""


def hermite(x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    """CubicHermiteSpline: the polynomials with these values and slopes at ascending sites."""
    whole: list[Any] = [operand(wide(v)) for v in (y, dydx)]
    sites, (values, slopes) = _sites(x), (np.moveaxis(finite(v), axis, 0) for v in whole)
    sites, place = _checked(sites, values, axis)
    return _between(sites, values, slopes, place, True if extrapolate is None else extrapolate)


def pchip(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    """PchipInterpolator, monotone where the values are: F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984)."""
    sites, values = _sites(x), _values(y, axis)
    sites, place = _checked(sites, values, axis)
    widths, rises = _rises(sites, values)
    slopes = _two(rises) if dims.same(values.shape[0], 2) else _monotone(widths, rises)
    return _between(sites, values, slopes, place, True if extrapolate is None else extrapolate)


def akima(x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> Piecewise:
    """Akima1DInterpolator: H. Akima, J. ACM 17 (1970); it does not go on beyond its ends unless asked to."""
    if method not in {"akima", "makima"}:
        raise UnsupportedFunction(
            f"Akima1DInterpolator has no method {method!r}",
            place=tracing.user_place(),
            cure='Its methods are "akima" and "makima".',
        )
    sites, values = _sites(x), _values(y, axis)
    sites, place = _checked(sites, values, axis)
    _, rises = _rises(sites, values)
    slopes = _two(rises) if dims.same(values.shape[0], 2) else _weighted(rises, is_modified=method == "makima")
    return _between(sites, values, slopes, place, extrapolate is not None and extrapolate)


def _sites(x: Any) -> Any:
    return array_like(double(x))


def _values(y: Any, axis: int) -> Any:
    given: Any = finite(array_like(double(y)))
    return np.moveaxis(given, axis, 0)


def _checked(sites: Any, values: Any, axis: int) -> tuple[Any, int]:
    """The sites, as many as values, and the axis of these, counted from the first. Raises ShapeError for others."""
    if sites.ndim != 1 or not dims.could_be(sites.shape[0], values.shape[0]):
        raise ShapeError(
            f"sites of shape {sites.shape} have {values.shape[0]} values along axis {axis}", place=tracing.user_place()
        )
    return ascending(of_at_least(of_length(sites, values.shape[0]), 2)), axis % values.ndim


def _rises(sites: Any, values: Any) -> tuple[Any, Any]:
    """The widths of the pieces, with the axes of the values, and the slopes of the lines."""
    widths = np.diff(sites).reshape((-1, *(1,) * (values.ndim - 1)))
    return widths, np.diff(values, axis=0) / widths


def _between(sites: Any, values: Any, slopes: Any, axis: int, extrapolate: Any) -> Piecewise:
    widths, rises = _rises(sites, values)
    bend = (slopes[:-1] + slopes[1:] - 2 * rises) / widths
    coefficients = np.stack([bend / widths, (rises - slopes[:-1]) / widths - bend, slopes[:-1], values[:-1]])
    return Piecewise(coefficients, sites, extrapolate, axis)


def _two(rises: Any) -> Any:
    """The slopes at two sites."""
    return np.concatenate([rises, rises])


def _monotone(widths: Any, rises: Any) -> Any:
    """Harmonic means of the lines' slopes, weighted, and 0 where these have not one sign."""
    before, after = rises[:-1], rises[1:]
    is_one = np.sign(before) * np.sign(after) > 0
    first, second = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    mean = (first / np.where(is_one, before, 1.0) + second / np.where(is_one, after, 1.0)) / (first + second)
    inner = np.where(is_one, 1.0 / np.where(is_one, mean, 1.0), 0.0)
    # Between two sites is one piece, which is its own neighbour.
    last = rises.shape[0] - 1
    ends = [
        _end(widths[a : a + 1], widths[b : b + 1], rises[a : a + 1], rises[b : b + 1])
        for a, b in ((0, dims.minimum(1, last)), (last, dims.maximum(last - 1, 0)))
    ]
    return np.concatenate([ends[0], inner, ends[1]])


def _end(width: Any, next_width: Any, rise: Any, next_rise: Any) -> Any:
    """The slope at an end, of three points; of one sign with the line, and no more than three times as steep."""
    slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width)
    is_steep = (np.sign(rise) != np.sign(next_rise)) & (np.abs(slope) > 3.0 * np.abs(rise))
    return np.where(np.sign(slope) != np.sign(rise), 0.0, np.where(is_steep, 3.0 * rise, slope))


def _weighted(rises: Any, *, is_modified: bool) -> Any:
    """Means of the lines' slopes, weighted by how the slopes on the other side change."""
    count = rises.shape[0]
    near = [
        np.take(rises, size_as(i, np.int64), axis=0) for i in (dims.minimum(1, count - 1), dims.maximum(count - 2, 0))
    ]
    first, last = (2 * rises[a] - b for a, b in zip((0, -1), near, strict=True))
    outer = [2 * first - rises[0], first], [last, 2 * last - rises[-1]]
    m = np.concatenate([np.stack(outer[0]), rises, np.stack(outer[1])])
    change = np.abs(np.diff(m, axis=0))
    if is_modified:
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    after, before = change[2:], change[:-2]
    total = after + before
    is_weighted = total > LEAST * np.max(total, initial=0.0)
    share = before / np.where(is_weighted, total, 1.0)
    inner = m[1 : m.shape[0] - 2]
    found = inner + share * (m[2 : m.shape[0] - 1] - inner)
    return np.where(is_weighted, found, 0.5 * (m[3:] + m[:-3]))
