"""Set operations: membership, union, intersection, differences, and the variants of np.unique.

The cotangent of a number in a result goes to its first occurrence in the first array that has it. NaN is a member of
nothing, as in NumPy.
"""

from typing import Any, NamedTuple

import numpy as np

from primsplit.numpy.axes import array_like, size_as
from primsplit.numpy.joining import joined_dtype
from primsplit.numpy.ordering import searchsorted, sorted_along, unique
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import reshape_to


class UniqueAllResult(NamedTuple):
    """The result of np.unique_all."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of np.unique_counts."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of np.unique_inverse."""

    values: Array
    inverse_indices: Array


@implements(np.unique_all)
def unique_all(x: Any) -> UniqueAllResult:
    """np.unique_all."""
    return UniqueAllResult(*unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCountsResult:
    """np.unique_counts."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverseResult:
    """np.unique_inverse."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any) -> Array:
    """np.unique_values, in order."""
    found: Array = unique(x, equal_nan=False)
    return found


def _flat(*values: Any) -> list[Array]:
    """The elements in a row, in one dtype."""
    arrays = [array_like(v) for v in values]
    dtype = joined_dtype(arrays)
    return [reshape_to(cast_to(a, dtype), (a.size,)) for a in arrays]


def _is_in(x: Array, members: Array) -> Array:
    """Return which elements of `x` are in a vector, by bisection of the sorted vector."""
    if x.dtype == np.bool_:
        x, members = cast_to(x, np.int32), cast_to(members, np.int32)
    ordered = sorted_along(members, 0)
    place = searchsorted(ordered, x)
    there = op.Gather(op.Concat(ordered, np.zeros(1, x.dtype), axis=0), place)
    return op.And(op.Less(place, size_as(members.shape[0], np.int64)), op.Equal(there, x))


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    """np.isin, for any `kind`."""
    x, members = _flat(element, test_elements)
    found = reshape_to(_is_in(x, members), array_like(element).shape)
    return op.Not(found) if invert else found


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Array:
    """np.union1d."""
    found: Array = unique(op.Concat(*_flat(ar1, ar2), axis=0))
    return found


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """np.intersect1d; repeated numbers are taken once whatever `assume_unique` says."""
    first, second = (unique(a, return_index=True) for a in _flat(ar1, ar2))
    in_both = _is_in(first[0], second[0])
    values = op.Compress(first[0], in_both, axis=0)
    if not return_indices:
        return values
    back = op.Compress(second[1], _is_in(second[0], first[0]), axis=0)
    return values, op.Compress(first[1], in_both, axis=0), back


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """np.setdiff1d."""
    a = array_like(ar1)
    a = reshape_to(a, (a.size,)) if assume_unique else unique(a)
    return op.Compress(a, op.Not(_is_in(*_flat(a, ar2))), axis=0)


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """np.setxor1d; repeated numbers are taken once whatever `assume_unique` says."""
    a, b = (unique(x) for x in _flat(ar1, ar2))
    alone = [op.Compress(x, op.Not(_is_in(x, y)), axis=0) for x, y in ((a, b), (b, a))]
    return sorted_along(op.Concat(*alone, axis=0), 0)
