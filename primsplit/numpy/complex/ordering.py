"""Sorting of complex arrays: by the real part, equal ones by the imaginary part, as NumPy has it."""

from typing import Any

import numpy as np

from primsplit.array import Array, implements
from primsplit.broadcasting import reshape_to
from primsplit.numpy.axes import one_axis
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.handle import ComplexArray
from primsplit.numpy.complex.operands import as_complex
from primsplit.numpy.ordering import lexsort
from primsplit.ops import op


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


@implements(np.sort_complex)
def sort_complex(a: Any) -> ComplexArray:
    """np.sort_complex: a complex array of any numbers, in order along the last axis."""
    return sort(a)
