"""scipy.interpolate's piecewise polynomials, at traced points or of traced values at fixed sites."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.converter.copies import converted
from primsplit.frontends.scipy.operands import double, finite, not_empty, of_length, wide
from primsplit.ir import dims
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced, plain_or_traced
from primsplit.tracing.complex_array import ComplexArray

__all__ = ["Piecewise", "ascending_grid", "in_order", "integral", "lines", "on_grid", "piecewise", "within"]


def piecewise(coefficients: Any, breaks: Any, x: Any, *, order: int = 0, extrapolate: Any = True) -> Any:
    """Piecewise polynomials at `x`, or their derivative of this order, [*x.shape, ...].

    `coefficients` are [degree + 1, pieces, ...], the highest power first, of the distance from the left end of a piece,
    of which `breaks` are the ends, ascending. Beyond the ends the outer pieces go on where `extrapolate` is true; it is
    NaN where it is false, and "periodic" repeats them. At a break the derivative is that of the piece to its right.
    """
    x, breaks, coefficients = array_like(x), array_like(breaks), operand(coefficients)
    x = cast_to(x, np.float64)
    if extrapolate == "periodic":
        x = breaks[0] + np.remainder(x - breaks[0], breaks[-1] - breaks[0])
    count = coefficients.shape[1]
    places, ends = x.known(), breaks.known()
    if places is not None and ends is not None:  # found while tracing
        x, breaks = places, ends
    piece = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, count - 1)
    apart = array_like(x - np.take(breaks, piece))
    rest = coefficients.ndim - 2
    apart = apart.reshape((*apart.shape, *(1,) * rest))
    degree = coefficients.shape[0] - 1
    found: Any = np.zeros_like(np.take(coefficients[0], piece, axis=0) * apart)
    for power in range(degree, order - 1, -1):
        factor = float(np.prod(np.arange(power, power - order, -1.0)))
        found = found * apart + factor * np.take(coefficients[degree - power], piece, axis=0)
    if extrapolate:
        return found
    is_in = ((x >= breaks[0]) & (x <= breaks[-1])).reshape(apart.shape)
    missing = complex(np.nan, np.nan) if isinstance(found, ComplexArray) else np.nan
    return np.where(is_in, found, missing)


class Piecewise:
    """Piecewise polynomials with traced coefficients: what a spline of traced values is."""

    def __init__(self, coefficients: Any, breaks: Any, extrapolate: Any, axis: int = 0) -> None:
        self.c = coefficients
        self.x = breaks
        self.extrapolate = extrapolate
        self.axis = axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values at `x`, or derivatives of order `nu`; the axes of `x` take the place of that of the sites."""
        asked = self.extrapolate if extrapolate is None else extrapolate
        return placed(piecewise(self.c, self.x, x, order=nu, extrapolate=asked), np.ndim(x), self.axis)

    def derivative(self, nu: int = 1) -> "Piecewise":
        """The derivative of order `nu`."""
        c = self.c
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1.0)
            lower = c[:-1] * powers.reshape((-1, *(1,) * (c.ndim - 1)))
            c = lower if c.shape[0] > 1 else np.zeros_like(c)
        return Piecewise(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "Piecewise":
        """The antiderivative of order `nu` that is 0 at the first break; it does not repeat."""
        c, rest = self.c, (1,) * (self.c.ndim - 2)
        width = np.diff(self.x).reshape((-1, *rest))
        for _ in range(nu):
            powers = np.arange(c.shape[0], 0, -1.0)
            c = c / powers.reshape((-1, 1, *rest))
            gain: Any = np.zeros_like(c[0])
            for higher in c:
                gain = gain * width + higher
            total = np.cumsum(gain * width, axis=0)
            c = np.concatenate([c, np.concatenate([np.zeros_like(total[:1]), total[:-1]])[None]])
        return Piecewise(c, self.x, self.extrapolate != "periodic" and self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`."""
        return integral(self, a, b, extrapolate)


def integral(made: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """The integral of piecewise polynomials, ours or SciPy's, from `a` to `b`, which may be traced."""
    asked = made.extrapolate if extrapolate is None else extrapolate
    whole, low, high = converted(made.antiderivative()), made.x[0], made.x[-1]

    def upto(x: Any) -> Any:
        if asked != "periodic":
            return whole(x, extrapolate=asked)
        turns = np.floor((x - low) / (high - low))
        return turns * whole(high, extrapolate=True) + whole(x - turns * (high - low), extrapolate=True)

    return upto(b) - upto(a)


def spline_of_values(
    make: Callable[[Any], tuple[Any, Any]],
    sites: Any,
    y: Any,
    extrapolate: Any,
    axis: int,
    *,
    check_finite: bool = False,
) -> Piecewise:
    """The spline of traced values `y`, whose coefficients are linear in them.

    `make(values)` gives the coefficients [degree + 1, pieces, ...] and breaks for values [sites, ...]. Raises
    ShapeError where the sites are traced, too, or of another number. With `check_finite`, a run with NaN or infinity
    among the values fails.
    """
    if holds_traced(sites):
        raise unsupported("a spline of traced sites")
    given: Any = operand(wide(y))
    count = len(np.asarray(sites))
    y = of_length(np.moveaxis(finite(given) if check_finite else given, axis, 0), count, 0)
    matrix, breaks = make(np.eye(count))
    return Piecewise(np.tensordot(matrix, y, axes=1), breaks, extrapolate, axis)


def lines(x: Any, y: Any, axis: int, *, extrapolate: Any, alone: float = np.nan) -> Piecewise:
    """The lines between values at ascending sites, both of which may be traced; `alone` is the slope at a lone site."""
    given: Any = operand(wide(y))
    values = np.moveaxis(given, axis, 0)
    sites: Any = of_length(not_empty(cast_to(array_like(x), np.float64)), values.shape[0])
    slopes = np.diff(values, axis=0) / np.diff(sites).reshape((-1, *(1,) * (values.ndim - 1)))
    count = values.shape[0]
    if dims.could_be(count, 1):
        pads: list[Any] = [(0, dims.maximum(2 - count, 0)), *[(0, 0)] * (values.ndim - 1)]
        slopes = np.pad(slopes, pads, constant_values=alone)
    return Piecewise(np.stack([slopes, values[: dims.maximum(count - 1, 1)]]), sites, extrapolate, axis)


def within(sites: Any, x: Any) -> Any:
    """Return the points; a run in which one is outside of ascending sites fails, as `interp1d` with bounds does."""
    below, above = (
        f"A value in x_new is {told} value."
        for told in ("below the interpolation range's minimum", "above the interpolation range's maximum")
    )
    x = refusing(x, x < sites[0], ValueError(below))
    return refusing(x, x > sites[-1], ValueError(above))


def in_order(x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """Sites and the values along an axis in ascending order of the sites, as interp1d sorts them."""
    if not holds_traced(x) and np.all(np.diff(x) >= 0):
        return x, y
    order = np.argsort(x, kind="stable")
    return np.take(x, order), np.take(operand(y), order, axis=axis)


def ascending_grid(grid: Sequence[Any], values: Any) -> tuple[list[Any], Any]:
    """A grid and the values on it, each axis that descends reversed. Raises ValueError for any other order.

    Where only the run knows the sites, it is the run that fails.
    """
    found: list[Any] = []
    values = operand(values)
    for axis, given in enumerate(grid):
        error = ValueError(f"The points in dimension {axis} must be strictly ascending or descending")
        sites: Any = not_empty(plain_or_traced(double(given)))
        if not holds_traced(sites):
            is_down: Any = len(sites) > 1 and bool(sites[0] > sites[-1])
            sites, values = (sites[::-1], np.flip(values, axis)) if is_down else (sites, values)
        else:
            is_down = sites[0] > sites[-1]
            sites = np.where(is_down, sites[::-1], sites)
            values = np.where(is_down, np.flip(values, axis), values)
        found.append(refusing(sites, np.logical_not(np.diff(sites) > 0), error))
    return found, values


def placed(found: Any, rank: int, axis: int) -> Any:
    """Values whose first axes, `rank` of them, belong in the place of one axis."""
    return np.moveaxis(found, list(range(rank)), list(range(axis, axis + rank))) if axis else found


def on_grid(grid: Sequence[Any], values: Any, xi: Any, *, method: str, fill: Any) -> Any:
    """Values on a rectangular grid at points `xi`, [..., axes]: "linear" or "nearest".

    Points outside get `fill`; the outer cells go on where that is None. A missing coordinate gives NaN.
    """
    nearest = method == "nearest"
    xi, values = of_length(cast_to(array_like(xi), np.float64), len(grid)), operand(values)
    cells: list[Any] = []
    shares: list[Any] = []
    outside: Any = False
    for axis, given in enumerate(grid):
        x, sites = xi[..., axis], not_empty(array_like(double(given)))
        count = sites.shape[0]
        values = of_length(values, count, axis)
        last: Any = dims.maximum(count - 2, 0)
        cell = np.clip(np.searchsorted(sites, x, side="right") - 1, 0, last)
        widths = np.diff(sites)
        if dims.could_be(count, 1):
            widths = np.append(widths, np.inf)  # a lone site has its value everywhere
            values = np.concatenate([values, np.take(values, [-1], axis=axis)], axis=axis)
        share = (x - np.take(sites, cell)) / np.take(widths, cell)
        cells.append(cell)
        shares.append(np.where(np.isnan(share), np.nan, np.where(share <= 0.5, 0.0, 1.0)) if nearest else share)
        outside = outside | (x < sites[0]) | (x > sites[-1])
    rest = values.ndim - len(grid)
    found: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(grid)):
        weight: Any = 1.0
        for side, share in zip(corner, shares, strict=True):
            weight = weight * (share if side else 1.0 - share)
        picked = values[tuple(cell + side for cell, side in zip(cells, corner, strict=True))]
        found = found + weight.reshape((*weight.shape, *(1,) * rest)) * picked
    if fill is None:
        return found
    outside = outside & np.logical_not(np.any(np.isnan(xi), axis=-1))
    return np.where(outside.reshape((*outside.shape, *(1,) * rest)), fill, found)
