"""Define the range of a value: between which numbers its elements lie, and whether they may be NaN or infinite.

`low` and `high` are arrays of float64 that broadcast to the shape of the value: one number for all elements, or one for
each. An infinite end says that no bound is known. Whether an element may really be infinite is a `Level`.

>>> x = interval(-1.0, 2.0, np.float32)
>>> (float(x.low), float(x.high), x.inf)
(-1.0, 2.0, <Level.NEVER: 0>)
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from primsplit.ir import FLOATS, AnyArray

Shape = tuple[int | None, ...]
"""Sizes; None for one that is not known."""
LARGEST = 2**16
"""The most elements that have a range each."""


class Level(IntEnum):
    """Whether something can happen to a value: never; only where a bound is not known; or within the known bounds."""

    NEVER = 0
    UNBOUNDED = 1
    CAN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The range of a value of a program. See the module.

    `value` are the elements if they are known. With `nonzero` no element is 0. `attains` are axes and a number: along
    these axes some element is that number. `error` bounds the distance of each element from what exact arithmetic
    gives; None if that is not asked for.
    """

    low: AnyArray
    high: AnyArray
    dtype: np.dtype[Any]
    shape: Shape | None = None
    nan: Level = Level.NEVER
    inf: Level = Level.NEVER
    value: AnyArray | None = None
    nonzero: bool = False
    attains: tuple[tuple[int, ...] | None, float] | None = None
    error: AnyArray | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number of all elements; of no elements 0."""
        if not self.low.size or not self.high.size:
            return 0.0, 0.0
        return float(np.min(self.low)), float(np.max(self.high))

    @property
    def largest(self) -> AnyArray:
        """The largest magnitude of each element."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def has_zero(self) -> AnyArray:
        """Whether each element may be 0."""
        return (self.low <= 0) & (self.high >= 0) & (not self.nonzero)

    @property
    def is_bounded(self) -> AnyArray:
        """Whether both bounds of each element are known."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @property
    def is_uniform(self) -> bool:
        """Whether there is one bound for all elements."""
        return self.low.ndim == 0 and self.high.ndim == 0 and (self.error is None or self.error.ndim == 0)

    @property
    def count(self) -> int | None:
        """The number of elements, None if it is not known."""
        if self.shape is None or None in self.shape:
            return None
        return int(np.prod([d for d in self.shape if d is not None], dtype=np.int64))

    @property
    def text(self) -> str:
        """The range as a text: `[-1, 2]`."""
        low, high = self.ends
        return f"[{low:.4g}, {high:.4g}]"

    def whole(self) -> tuple[AnyArray, AnyArray] | None:
        """The bounds of each element, in arrays of the value's shape; None if that is not known or too large."""
        count = self.count
        if count is None or count > LARGEST or self.shape is None:
            return None
        shape = tuple(d for d in self.shape if d is not None)
        return np.broadcast_to(self.low, shape), np.broadcast_to(self.high, shape)

    @property
    def transposed(self) -> "Range":
        """The range of the transposed matrix."""
        ends = self.whole()
        shape = None if self.shape is None else self.shape[::-1]
        if ends is None or self.is_uniform:
            return replace(self.hull(), shape=shape)
        error = None if self.error is None else np.broadcast_to(self.error, ends[0].shape).T
        return replace(self, low=ends[0].T, high=ends[1].T, shape=shape, error=error, value=None, attains=None)

    def hull(self) -> "Range":
        """The range with one bound for all elements, without what is known of single ones."""
        low, high = self.ends
        error = None if self.error is None else np.asarray(np.max(self.error, initial=0.0))
        return replace(self, low=np.asarray(low), high=np.asarray(high), value=None, attains=None, error=error)

    def like(self, low: AnyArray, high: AnyArray, *others: "Range | None", **facts: Any) -> "Range":
        """The range of a result between two bounds that is NaN or infinite where this value or others may be."""
        ranges = [self, *(r for r in others if r is not None)]
        levels = {"nan": max(r.nan for r in ranges), "inf": max(r.inf for r in ranges)}
        plain = {"value": None, "nonzero": False, "attains": None, "error": None}
        return replace(self, low=np.asarray(low), high=np.asarray(high), **{**plain, **levels, **facts})


def interval(low: npt.ArrayLike, high: npt.ArrayLike, dtype: npt.DTypeLike, shape: Shape | None = None) -> Range:
    """Return the range of finite numbers between two bounds."""
    return Range(np.asarray(low, np.float64), np.asarray(high, np.float64), np.dtype(dtype), shape)


def unbounded(dtype: npt.DTypeLike, shape: Shape | None = None, level: Level = Level.NEVER) -> Range:
    """Return the range of any number of a dtype; with a level also of NaN and infinity."""
    low, high = limits(np.dtype(dtype))
    is_float = np.dtype(dtype).kind not in "iub"
    return Range(
        np.asarray(-np.inf if is_float else low),
        np.asarray(np.inf if is_float else high),
        np.dtype(dtype),
        shape,
        nan=level if is_float else Level.NEVER,
        inf=level if is_float else Level.NEVER,
    )


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype holds floating-point numbers that are computed with."""
    return dtype.name in FLOATS


def _info(dtype: np.dtype[Any]) -> Any:
    """Return NumPy's facts about a dtype of floating-point numbers, or those of one that NumPy lacks."""
    finfo: Callable[..., Any] = ml_dtypes.finfo
    return finfo(dtype)


def limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the least and the greatest number of a dtype."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return float(info.min), float(info.max)
    if is_floating(dtype):
        return -float(_info(dtype).max), float(_info(dtype).max)
    return -np.inf, np.inf


def unit(dtype: np.dtype[Any]) -> float:
    """Return the unit roundoff of a dtype: the largest relative error of one rounding; 0 for integers."""
    return float(_info(dtype).eps) / 2 if is_floating(dtype) else 0.0


def smallest(dtype: np.dtype[Any]) -> float:
    """Return the smallest normal number of a dtype: results that are smaller may become 0."""
    return float(_info(dtype).tiny) if is_floating(dtype) else 0.0


def rounded(numbers: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """Return numbers of float64 rounded once to a dtype; too large ones become infinite."""
    if not is_floating(dtype) or dtype.itemsize >= 8:
        return np.asarray(numbers)
    return np.asarray(numbers).astype(dtype).astype(np.float64)


def of_array(array: AnyArray) -> Range:
    """Return the range of a known array."""
    shape: Shape = array.shape
    if array.dtype.kind not in "iub" and not is_floating(array.dtype):
        return Range(np.asarray(-np.inf), np.asarray(np.inf), array.dtype, shape, value=array)
    numbers = array.astype(np.float64)
    is_nan = np.isnan(numbers)
    nan = Level.CAN if bool(is_nan.any()) else Level.NEVER
    inf = Level.CAN if bool(np.isinf(numbers).any()) else Level.NEVER
    numbers = np.where(is_nan, _other(numbers, is_nan), numbers)
    nonzero = bool(np.all(numbers != 0))
    found = Range(numbers, numbers, array.dtype, shape, nan, inf, value=array, nonzero=nonzero)
    return found if array.size <= LARGEST else replace(found.hull(), nonzero=found.nonzero)


def _other(numbers: AnyArray, is_nan: AnyArray) -> float:
    """Return a number to stand for NaN, which has no place in an interval: one that is there, else 0."""
    there = numbers[~is_nan]
    return float(there.flat[0]) if there.size else 0.0


def either(ranges: Iterable[Range]) -> Range:
    """Return the range of a value that is one of several."""
    return functools.reduce(_joined, ranges)


def _joined(one: Range, other: Range) -> Range:
    if _fit(one, other):
        low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    else:
        one, other = one.hull(), other.hull()
        low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    shape = one.shape if one.shape == other.shape else None
    nonzero = one.nonzero and other.nonzero
    return one.like(low, high, other, shape=shape, nonzero=nonzero, error=_worse(one, other))


def _fit(one: Range, other: Range) -> bool:
    try:
        np.broadcast_shapes(one.low.shape, other.low.shape)
    except ValueError:
        return False
    return one.shape == other.shape


def _worse(one: Range, other: Range) -> AnyArray | None:
    if one.error is None or other.error is None:
        return None
    return np.asarray(np.maximum(one.error, other.error))


def planes(ranges: Sequence[Range], function: Callable[..., AnyArray | None]) -> Range | None:
    """Apply a function of whole arrays to the lower bounds, to the upper bounds and to the errors of ranges.

    Return None if not all elements are known, or the function returns None.
    """
    ends = [e for e in (r.whole() for r in ranges) if e is not None]
    if len(ends) < len(ranges):
        return None
    low, high = function(*(e[0] for e in ends)), function(*(e[1] for e in ends))
    if low is None or high is None:
        return None
    errors = [np.broadcast_to(r.error, e[0].shape) for r, e in zip(ranges, ends, strict=True) if r.error is not None]
    error = function(*errors) if len(errors) == len(ranges) else None
    return ranges[0].like(low, high, *ranges[1:], shape=np.shape(low), error=error)
