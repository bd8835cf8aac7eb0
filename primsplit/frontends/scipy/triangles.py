"""scipy.interpolate's interpolation between scattered points: by triangles of known points, or the nearest point."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, not_empty, of_length
from primsplit.ir.dims import Dim
from primsplit.numpy import failing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["Nearest", "Triangulated", "griddata"]

SLACK = 1e-12
"""The largest distance outside of a triangle, in parts of it, of a point that belongs to it."""


def _points(args: tuple[Any, ...], axes: Dim) -> Any:
    """The places [..., axes], of one array, in which one place is a list of it, or of one array for each axis."""
    given = args[0] if len(args) == 1 else args
    if isinstance(given, tuple):
        return array_like(double(np.stack(np.broadcast_arrays(*map(array_like, given)), axis=-1)))
    found: Any = array_like(double(given))
    return found.reshape((-1, axes)) if found.ndim == 1 else found


class Triangulated:
    """LinearNDInterpolator: between the corners of the simplex that a point lies in; the fill value outside of all.

    On an edge that two simplices share the derivative is that of the first. Every point is tried in every simplex.
    """

    def __init__(self, corners: Any, simplices: Any, values: Any, fill: Any) -> None:
        """`corners` [points, axes] and `simplices` [count, axes + 1] are NumPy's."""
        first = corners[simplices[:, 0]]
        sides = corners[simplices[:, 1:]] - first[:, None]
        self.first, self.inverse = first, failing.nan_where_singular.inv(np.swapaxes(sides, 1, 2))
        self.simplices, self.fill = simplices, fill
        self.values = of_length(array_like(double(values)), len(corners), 0)

    def __call__(self, *args: Any) -> Any:
        """The values at the points, [..., *an array for each value]."""
        points = _points(args, self.first.shape[1])
        apart = points[..., None, :] - self.first
        shares = np.sum(self.inverse * apart[..., None, :], axis=-1)
        shares = np.concatenate([1.0 - np.sum(shares, axis=-1, keepdims=True), shares], axis=-1)
        inside = np.min(shares, axis=-1) >= -SLACK
        chosen = np.argmax(inside, axis=-1)
        weights = np.take_along_axis(shares, chosen[..., None, None], axis=-2)[..., 0, :]
        picked = np.take(self.values, np.take(array_like(self.simplices), chosen, axis=0), axis=0)
        rest = (1,) * (self.values.ndim - 1)
        found = np.sum(weights.reshape((*weights.shape, *rest)) * picked, axis=weights.ndim - 1)
        is_inside = np.any(inside, axis=-1)
        return np.where(is_inside.reshape((*is_inside.shape, *rest)), found, self.fill)


class Nearest:
    """NearestNDInterpolator: the value of the nearest of the points, the first of two that are as near."""

    def __init__(self, corners: Any, values: Any) -> None:
        self.corners: Any = not_empty(double(corners), [0])
        self.values = of_length(array_like(values), self.corners.shape[0], 0)

    def __call__(self, *args: Any) -> Any:
        """The values at the points."""
        points = of_length(_points(args, self.corners.shape[1]), self.corners.shape[1])
        points = failing.finite(points, ValueError("'x' must be finite, check for nan or inf values"))
        squares = np.sum((points[..., None, :] - self.corners) ** 2, axis=-1)
        return np.take(self.values, np.argmin(squares, axis=-1), axis=0)


def griddata(corners: Any, values: Any, xi: Any, method: str, fill_value: Any, triangulate: Any) -> Any:
    """Values at known points [points, axes], at others: "linear" or "nearest"."""
    if method == "nearest":
        return Nearest(corners, values)(xi)
    if method != "linear":
        raise unsupported(f"scipy.interpolate.griddata with method={method!r}")
    return Triangulated(corners, triangulate(corners), values, fill_value)(xi)
