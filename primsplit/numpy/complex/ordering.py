"""Sorts complex arrays in NumPy's order: by the real part, then by the imaginary part."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.axes import END, one_axis
from primsplit.numpy.complex.dispatch import delivered, offers
from primsplit.numpy.complex.operands import as_complex
from primsplit.numpy.ordering import lexsort
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.complex_array import OFFERED, ComplexArray, refused


def _flat_or(a: Any, axis: Any) -> tuple[ComplexArray, int]:
    """The array and the axis to order along: the flat array for None."""
    z = as_complex(a)
    if axis is not None:
        return z, one_axis(axis, z.ndim)
    return ComplexArray(*(reshape_to(p, (z.size,)) for p in (z.real, z.imag))), 0


@offers(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """np.argsort, stable whatever `kind` says."""
    z, place = _flat_or(a, axis)
    return lexsort([z.imag, z.real], place)


@offers(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> ComplexArray:
    """np.sort. The cotangent of a place goes to the element that came there."""
    z, place = _flat_or(a, axis)
    places = lexsort([z.imag, z.real], place)
    return ComplexArray(*(op.GatherElements(p, places, axis=place, types=[p.type]) for p in (z.real, z.imag)))


@offers("sort_in_place")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """The method: the array itself is sorted."""
    a.assign(sort(a, axis))


@offers(np.sort_complex)
@implements(np.sort_complex)
def sort_complex(a: Any) -> ComplexArray:
    """np.sort_complex: a complex array of any numbers, in order along the last axis."""
    return sort(as_complex(a))


@offers(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> ComplexArray:
    """np.partition, sorted as a whole."""
    return sort(a, axis)


@offers(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """np.argpartition, sorted as a whole."""
    return argsort(a, axis)


def _extreme(z: ComplexArray, axis: int) -> Callable[[bool], Array]:
    """A function that finds the index of the last or first element along an axis, or of a NaN, as an axis of 1."""
    order = lexsort([z.imag, z.real], axis)
    missing = op.Cast(op.Or(op.IsNaN(z.real), op.IsNaN(z.imag)), to=np.int32)
    is_missing = op.Greater(op.ReduceMax(missing, [axis], keepdims=1), 0)

    def find(is_last: bool) -> Array:
        last = op.Slice(order, [-1], [END], [axis])
        return last if is_last else op.Where(is_missing, last, op.Slice(order, [0], [1], [axis]))

    return find


def _chosen(function: Callable[..., Any], *, is_last: bool, is_place: bool) -> None:
    """Register np.max, np.min, np.argmax or np.argmin, along one axis or over all elements."""
    name = f"np.{function.__name__}"

    @offers(function)
    def choose(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if out is not None or isinstance(axis, tuple) or any(v is not np._NoValue for v in options.values()):
            raise refused(f"{name} with out=, several axes, initial= or where=")
        z, place = _flat_or(a, axis)
        found = _extreme(z, place)(is_last)
        chosen = (found,) if is_place else tuple(op.GatherElements(p, found, axis=place) for p in (z.real, z.imag))
        keeps = bool(keepdims) and keepdims is not np._NoValue
        if keeps and axis is None:
            parts = [reshape_to(p, (1,) * as_complex(a).ndim) for p in chosen]
        else:
            parts = list(chosen) if keeps else [op.Squeeze(p, [place]) for p in chosen]
        return parts[0] if is_place else ComplexArray(*parts)


for _function, _is_last in ((np.max, True), (np.amax, True), (np.min, False), (np.amin, False)):
    _chosen(_function, is_last=_is_last, is_place=False)
_chosen(np.argmax, is_last=True, is_place=True)
_chosen(np.argmin, is_last=False, is_place=True)


@offers(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The largest less the smallest in this order."""
    first, last = (OFFERED[f](a, axis, None, keepdims) for f in (np.min, np.max))
    return delivered(last - first, out)


def _without_nan(function: Any, of_all: Any, filler: float) -> None:
    """Register a function that ignores NaN, by replacing each NaN with a number that is never chosen."""

    @offers(function)
    def choose(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        z: Any = as_complex(a)
        is_none = np.isnan(z)
        found = OFFERED[of_all](np.where(is_none, complex(filler, filler), z), axis, None, keepdims, **options)
        if of_all in {np.argmax, np.argmin}:
            return delivered(found, out)
        is_empty = FUNCTIONS[np.all](is_none, axis=axis, keepdims=keepdims)
        left: Any = np.where(is_empty, complex(np.nan, np.nan), found)
        return delivered(left, out)


for _passing, _of_all, _filler in (
    (np.nanmax, np.max, -np.inf), (np.nanmin, np.min, np.inf),
    (np.nanargmax, np.argmax, -np.inf), (np.nanargmin, np.argmin, np.inf),
):  # fmt: skip
    _without_nan(_passing, _of_all, _filler)


@offers(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The middle element in this order, or the mean of both, of an axis whose size is known; NaN where one is."""
    z, place = _flat_or(a, axis)
    count = z.shape[place]
    if not isinstance(count, int) or isinstance(axis, tuple | list):
        raise refused("np.median over several axes, or a size that only the run knows", "Sort: np.sort(z)[...].")
    ordered: Any = sort(z, place)
    rows = np.moveaxis(ordered, place, 0)
    found = (rows[(count - 1) // 2] + rows[count // 2]) / 2
    found = np.where(np.isnan(rows[-1]), rows[-1], found)
    if keepdims:
        found = np.reshape(found, (1,) * as_complex(a).ndim) if axis is None else np.expand_dims(found, place)
    return delivered(found, out)
