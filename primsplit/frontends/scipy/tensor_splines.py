"""scipy.interpolate's splines on a rectangular grid: products of B-splines along its axes, at traced points."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.scipy.knots import splines_at
from primsplit.frontends.scipy.operands import double, of_length, wide
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["DEGREES", "coefficients_of", "on_knots"]

DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
"""The order of the splines of each method."""


def coefficients_of(make: Callable[..., Any], grid: Sequence[Any], values: Any, method: str) -> tuple[list[Any], Any]:
    """The knots along each axis of a known grid, and the coefficients of the spline through values on it.

    `make` is SciPy's `make_interp_spline`. Raises ShapeError; UnsupportedFunction for a traced grid.
    """
    if any(map(holds_traced, grid)):
        raise unsupported(f"scipy.interpolate.RegularGridInterpolator on a traced grid with method={method!r}")
    found: Any = operand(wide(values))
    knots = []
    for axis, sites in enumerate(grid):
        known = np.asarray(double(sites))
        made = make(known, np.eye(len(known)), k=DEGREES[method])
        found = of_length(found, len(known), axis)
        found = np.moveaxis(np.tensordot(made.c, found, axes=(1, axis)), 0, axis)
        knots.append(made.t)
    return knots, found


def on_knots(knots: Sequence[Any], coefficients: Any, xi: Any, degree: int, *, fill: Any) -> Any:
    """The spline with these knots and coefficients [..., ...] at points `xi`, [..., axes].

    Points outside get `fill`; the outer pieces go on where that is None. A missing coordinate gives NaN.
    """
    xi = of_length(cast_to(array_like(xi), np.float64), len(knots))
    lead, rank = xi.shape[:-1], len(knots)
    places, weights = [], []
    outside: Any = False
    for axis, given in enumerate(knots):
        x = xi[..., axis]
        first, shares = splines_at(array_like(given), x, degree)
        own = [1] * rank
        own[axis] = degree + 1
        steps = np.arange(degree + 1).reshape(own)
        places.append(first.reshape((*lead, *[1] * rank)) + steps)
        weights.append(np.stack(shares, axis=-1).reshape((*lead, *own)))
        outside = outside | (x < given[degree]) | (x > given[-degree - 1])
    coefficients = operand(coefficients)
    rest = (1,) * (coefficients.ndim - rank)
    weight: Any = 1.0
    for each in weights:
        weight = weight * each
    picked = coefficients[tuple(places)]
    found = np.sum(weight.reshape((*weight.shape, *rest)) * picked, axis=tuple(range(len(lead), len(lead) + rank)))
    if fill is None:
        return found
    outside = outside & np.logical_not(np.any(np.isnan(xi), axis=-1))
    return np.where(outside.reshape((*lead, *rest)), fill, found)
