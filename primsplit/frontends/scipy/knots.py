"""scipy.interpolate's B-splines between traced knots, whose number may be known only at run time."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.interpolate import placed
from primsplit.frontends.scipy.operands import ascending, double, of_at_least, of_length, wide
from primsplit.ir import dims
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up

__all__ = ["Knotted", "of_knots", "splines_at", "through"]


class Knotted:
    """The sum of B-splines of order `k` between ascending knots `t` [n + k + 1], with coefficients [n, ...].

    Beyond its ends it goes on where `extrapolate` is true, is NaN where it is false, and "periodic" repeats it. Raises
    ShapeError; a run with fewer than 2 k + 2 knots, or fewer coefficients than these have splines, fails.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t: Any = ascending(of_at_least(array_like(double(t)), 2 * k + 2), least="non-decreasing")
        given: Any = operand(wide(c))
        self.k, self.extrapolate, self.axis = k, extrapolate, axis % given.ndim
        size = self.t.shape[0] - k - 1
        self.c = of_length(of_at_least(np.moveaxis(given, axis, 0), size, 0)[:size], size, 0)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values at `x`, or derivatives of order `nu`; the axes of `x` take the place of the coefficients'."""
        asked: Any = array_like(double(x))
        beyond = self.extrapolate if extrapolate is None else extrapolate
        low, high = self.t[self.k], self.t[-self.k - 1]
        if isinstance(beyond, str):
            asked = low + np.remainder(asked - low, high - low)
        rest = (1,) * (self.c.ndim - 1)
        found = self.derivative(nu)._at(asked) if nu <= self.k else 0.0 * self._at(asked)
        if not beyond:
            inside = (asked >= low) & (asked <= high)
            found = np.where(inside.reshape((*asked.shape, *rest)), found, np.nan)
        return placed(found, asked.ndim, self.axis)

    def _at(self, x: Any) -> Any:
        first, shares = splines_at(self.t, x, self.k)
        rest = (1,) * (self.c.ndim - 1)
        return sum(s.reshape((*x.shape, *rest)) * np.take(self.c, first + i, axis=0) for i, s in enumerate(shares))

    def _moved(self, t: Any, c: Any, k: int) -> "Knotted":
        return Knotted(t, np.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)

    def derivative(self, nu: int = 1) -> "Knotted":
        """The derivative of order `nu`, up to the order of the splines."""
        if nu == 0:
            return self
        k, t = self.k, self.t
        widths = (t[k + 1 : -1] - t[1 : -k - 1]).reshape((-1, *(1,) * (self.c.ndim - 1)))
        slopes = k * np.diff(self.c, axis=0) / np.where(widths > 0, widths, 1.0)
        return self._moved(t[1:-1], np.where(widths > 0, slopes, 0.0), k - 1).derivative(nu - 1)

    def antiderivative(self, nu: int = 1) -> "Knotted":
        """The antiderivative of order `nu` that is 0 at the first knot; it does not repeat."""
        if nu == 0:
            return self
        k, t = self.k, self.t
        widths = (t[k + 1 :] - t[: -k - 1]).reshape((-1, *(1,) * (self.c.ndim - 1)))
        total = np.cumsum(self.c * widths, axis=0) / (k + 1)
        c = np.concatenate([np.zeros_like(total[:1]), total])
        found = self._moved(np.concatenate([t[:1], t, t[-1:]]), c, k + 1)
        found.extrapolate = self.extrapolate != "periodic" and self.extrapolate
        return found.antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`; where the splines do not go on, they are 0 outside."""
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            raise unsupported("the integral of a periodic scipy.interpolate.BSpline")
        if not beyond:
            return self.integral(a, b)
        whole = self.antiderivative()
        return whole(b) - whole(a)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral of what is 0 outside of the knots."""
        low, high = self.t[self.k], self.t[-self.k - 1]
        whole = self.antiderivative()
        return whole(np.clip(b, low, high)) - whole(np.clip(a, low, high))


def splines_at(t: Any, x: Any, k: int) -> tuple[Any, list[Any]]:
    """The first of the k + 1 splines that are not 0 at points, and their values: de Boor's recurrence.

    L. Piegl and W. Tiller, The NURBS Book (1997), algorithm A2.2.
    """
    last = size_as(t.shape[0] - k - 2, np.int64)
    piece = np.clip(np.searchsorted(t, x, side="right") - 1, k, last)
    left = [x - np.take(t, piece - i) for i in range(k)]
    right = [np.take(t, piece + i) - x for i in range(1, k + 1)]
    shares: list[Any] = [np.ones_like(x)]
    for degree in range(1, k + 1):
        carried: Any = np.zeros_like(x)
        new = []
        for i, share in enumerate(shares):
            before = left[degree - 1 - i]
            width = right[i] + before
            part = np.where(width > 0, share / np.where(width > 0, width, 1.0), 0.0)
            new.append(carried + right[i] * part)
            carried = before * part
        shares = [*new, carried]
    return piece - k, shares


def of_knots(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Knotted:
    """SciPy's BSpline: a run whose inner knots are all one fails."""
    found = Knotted(t, c, k, extrapolate, axis)
    is_one = found.t[k] == found.t[-k - 1]
    found.t = refusing(found.t, is_one, ValueError("Need at least two internal knots."))
    return found


def through(x: Any, y: Any, k: int, axis: int = 0) -> Knotted:
    """The spline of order `k` through values at ascending sites, with knots there, or between for an even order.

    None at the sites next to the ends ("not-a-knot"), as make_interp_spline and FITPACK do it. A run with fewer than
    k + 1 sites fails.
    """
    given: Any = operand(wide(y))
    values = np.moveaxis(given, axis, 0)
    sites: Any = ascending(of_at_least(of_length(array_like(double(x)), values.shape[0]), k + 1))
    if k == 0:
        return Knotted(np.concatenate([sites, sites[-1:]]), given, 0, True, axis)
    half, size = (k + 1) // 2, sites.shape[0]
    inner = sites if k % 2 else 0.5 * (sites[1:] + sites[:-1])
    ends = [np.repeat(end, k + 1) for end in (sites[:1], sites[-1:])]
    knots = np.concatenate([ends[0], inner[half : half + size - k - 1], ends[1]])
    knots = of_length(knots, size + k + 1)
    first, shares = splines_at(knots, sites, k)
    place: Any = count_up(size)
    matrix: Any = sum(np.where(place == (first + i)[:, None], s[:, None], 0.0) for i, s in enumerate(shares))
    columns = values.reshape((size, dims.product(values.shape[1:])))
    found = failing.nan_where_singular.solve(matrix, columns).reshape(values.shape)
    return Knotted(knots, np.moveaxis(found, 0, axis), k, True, axis)
