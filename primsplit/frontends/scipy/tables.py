"""scipy.interpolate.interp1d for traced sites or values: linear, or in steps."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.interpolate import lines, placed
from primsplit.frontends.scipy.operands import double, not_empty, wide
from primsplit.numpy.complex.operands import operand
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["LINES", "Stepped", "filled"]

LINES, STEPS = ("linear", "slinear"), ("nearest", "nearest-up", "previous", "next", "zero")


class Stepped:
    """The result of `interp1d`: values at `x` along an axis of `y`; beyond the sites a fill value, or the outer pieces.

    `fill` is a number, one below and one above, or "extrapolate": steps go on to the side that they come from. The
    sites ascend; a place halfway between two has the value of the lower one for "nearest".
    """

    def __init__(self, x: Any, y: Any, kind: str, axis: int, fill: Any) -> None:
        if kind not in (*LINES, *STEPS):
            raise unsupported(f"scipy.interpolate.interp1d of traced values with kind={kind!r} and a fill value")
        given: Any = operand(wide(y))
        self.axis = axis % given.ndim
        self.sites, self.values = array_like(double(x)), not_empty(np.moveaxis(given, self.axis, 0), [0])
        self.kind, self.fill = kind, fill
        if isinstance(fill, str) and kind in {"previous", "next"}:
            self.fill = (np.nan, self.values[-1]) if kind == "previous" else (self.values[0], np.nan)

    def __call__(self, x: Any) -> Any:
        """The values at `x`, whose axes take the place of that of the sites."""
        asked: Any = array_like(double(x))
        found = self._inside(asked)
        if not isinstance(self.fill, str):
            below, above = self.fill if isinstance(self.fill, tuple) else (self.fill, self.fill)
            place = asked.reshape((*asked.shape, *(1,) * (self.values.ndim - 1)))
            found = np.where(place < self.sites[0], below, np.where(place > self.sites[-1], above, found))
        return placed(found, asked.ndim, self.axis)

    def _inside(self, x: Any) -> Any:
        if self.kind in LINES:
            alone = 0.0 if self.values.ndim == 1 and not isinstance(self.fill, str) else np.nan
            return lines(self.sites, self.values, 0, extrapolate=True, alone=alone)(x)
        if self.kind in {"nearest", "nearest-up"}:
            middles = 0.5 * (self.sites[1:] + self.sites[:-1])
            place = np.searchsorted(middles, x, side="left" if self.kind == "nearest" else "right")
        elif self.kind in {"previous", "zero"}:
            place = np.maximum(np.searchsorted(self.sites, x, side="right") - 1, 0)
        else:
            place = np.minimum(np.searchsorted(self.sites, x, side="left"), self.sites.shape[0] - 1)
        found = np.take(self.values, place, axis=0)
        if self.kind != "zero":  # SciPy's steps of NaN are the last ones, but for those of a spline
            return found
        return np.where(np.isnan(x.reshape((*x.shape, *(1,) * (self.values.ndim - 1)))), np.nan, found)


def filled(made: Any, sites: Any, axis: int, fill: Any, x: Any) -> Any:
    """A spline of values along an axis at `x`; beyond its sites a number, or one below and one above."""
    asked: Any = array_like(double(x))
    below, above = fill if isinstance(fill, tuple) else (fill, fill)
    found = np.moveaxis(made(asked, extrapolate=True), list(range(axis, axis + asked.ndim)), list(range(asked.ndim)))
    place = asked.reshape((*asked.shape, *(1,) * (found.ndim - asked.ndim)))
    found = np.where(place < sites[0], below, np.where(place > sites[-1], above, found))
    return placed(found, asked.ndim, axis)
