"""Reads index keys: whatever stands in `x[...]` becomes a list of entries, one for each axis indexed or made."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import BFLOAT16, dims
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ir.errors import IndexingError
from primsplit.numpy.refusing import raise_if_caught
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import Held, as_array
from primsplit.tracing.broadcasting import of_shape
from primsplit.tracing.handles import integer_ranges

Bound = int | Size | Array
END = 2**62
"""A slice bound past the end of every axis; negated, one before the front."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """One element of an axis, which goes away. `index` is an int, a Size or an int64 Array without axes.

    `is_apart` marks one that an ellipsis for no axes separates from index arrays behind it.
    """

    index: Bound
    is_apart: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A slice of an axis. Bounds are ints, Sizes or int64 Arrays without axes."""

    start: Bound
    stop: Bound
    step: int

    @property
    def is_whole(self) -> bool:
        """Return whether this is `:`."""
        if not (isinstance(self.start, int) and isinstance(self.stop, int)):
            return False
        return self.step == 1 and self.start == 0 and self.stop == END


@dataclass(frozen=True, slots=True, eq=False)
class New:
    """A new axis of size 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Fancy:
    """An axis indexed by an integer array.

    `mask` is the mask that the axis belongs to, if any. `is_made` marks the axis of a mask without axes, which is new.
    `is_apart` marks one that an ellipsis for no axes separates from index arrays behind it.
    """

    index: Array
    mask: "Mask | None" = None
    is_made: bool = False
    is_apart: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A boolean array used as an index. `places` has one row for each True: its indices along the mask's axes."""

    condition: Array
    places: Array


Entry = Take | Cut | New | Fancy
WHOLE = Cut(0, END, 1)


def read_key(shape: Shape, key: Any) -> list[Entry]:
    """The entries of a key, for an array of this shape; together they index every axis.

    Raises IndexingError at the user's line for a key that NumPy refuses.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [_as_index(p) for p in parts]
    used = sum(_axes_used(p) for p in parts)
    if sum(p is Ellipsis for p in parts) > 1:
        raise _refused("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise _refused(f"too many indices: the array has {len(shape)} axes, but {used} were indexed")
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    entries: list[Entry] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            count = len(shape) - used
            entries = [*(entries if count else map(_apart, entries)), *[WHOLE] * count]
        else:
            count = _axes_used(part)
            entries.extend(_entries(part, shape, axis))
        axis += count
    return entries


def _apart(entry: Entry) -> Entry:
    return replace(entry, is_apart=True) if isinstance(entry, Fancy | Take) else entry


def _refused(what: str) -> IndexingError:
    return IndexingError(what, place=tracing.user_place())


def _beyond(what: str) -> IndexingError:
    error = _refused(what)
    error.numpys = IndexError(what)
    return error


def _as_index(part: Any) -> Any:
    """The part, where it is a list, tuple or range as an array, and what holds an array as that."""
    if isinstance(part, Held):
        return part.read()
    if isinstance(part, slice):
        return slice(*(b.read() if isinstance(b, Held) else b for b in (part.start, part.stop, part.step)))
    if isinstance(part, list | tuple | range):
        if any(isinstance(p, Array) for p in part):
            stacked: Array = FUNCTIONS[np.stack](part)
            return stacked
        return np.asarray(part) if part else np.zeros(0, np.int64)
    if isinstance(part, np.generic):
        return np.asarray(part)
    return part


def _axes_used(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, np.ndarray | Array) and part.dtype == np.bool_:
        return len(part.shape)
    return 1


def _entries(part: Any, shape: Shape, axis: int) -> list[Entry]:
    if part is None:
        return [New()]
    if isinstance(part, slice):
        return [_cut(part)]
    if isinstance(part, bool):
        part = np.asarray(part)
    if isinstance(part, Size):
        return [Take(part)]
    if not isinstance(part, np.ndarray | Array):
        return [Take(_checked_index(_as_integer(part), shape[axis], axis))]
    if part.dtype == np.bool_:
        return _mask_entries(part, shape, axis)
    if part.dtype == BFLOAT16 or part.dtype.kind not in "iu":
        raise _refused(f"arrays used as indices must be of integer (or boolean) type, not {part.dtype}")
    known = part.known() if isinstance(part, Array) else part
    if known is not None:
        _check_indices(known, shape[axis], axis)
        if known.ndim == 0:
            return [Take(int(known))]
        return [Fancy(Array(tracing.constant(known.astype(np.int64))))]
    return [_of_the_run(part, shape[axis], axis)]


def _of_the_run(part: Any, size: Dim, axis: int) -> Entry:
    """The entry of an index that only the run knows. If the function catches an IndexError, that has its own path."""
    # A copy of the handle: writing to the user's index array afterwards does not move what was read with it.
    index = as_int64(Array(as_array(part).value))
    told = f"an index is out of bounds for axis {axis} with size {size}"
    if isinstance(size, int) and integer_ranges.are_beyond(part, size):
        raise _beyond(told)
    raise_if_caught(lambda: FUNCTIONS[np.any]((index >= size) | (index < -size)), IndexError(told))
    return Fancy(index) if index.ndim else Take(index)


def as_int64(index: Array) -> Array:
    """The indices as int64."""
    return index if index.dtype == np.int64 else op.Cast(index, to=np.int64)


def _as_integer(part: Any) -> int:
    try:
        return operator.index(part)
    except TypeError:
        raise _refused(
            "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices, "
            f"not {type(part).__name__}"
        ) from None


def _checked_index(index: int, size: Dim, axis: int) -> int:
    if isinstance(size, int) and not -size <= index < size:
        raise _beyond(f"index {index} is out of bounds for axis {axis} with size {size}")
    if isinstance(size, Size):
        raise_if_caught(
            lambda: _is_less(size, index + 1 if index >= 0 else -index),
            IndexError(f"index {index} is out of bounds for axis {axis} with size {size}"),
        )
    return index


def _is_less(size: Size, least: int) -> Array | None:
    """Record whether a size is less than a number; None if it never is."""
    if dims.at_least(size, least):
        return None
    found: Array = op.Less(op.Squeeze(Array(tracing.size_of(size)), [0]), least)
    return found


def _check_indices(indices: np.ndarray[Any, Any], size: Dim, axis: int) -> None:
    if indices.size:
        _checked_index(int(indices.max()), size, axis)
        _checked_index(int(indices.min()), size, axis)


def _cut(part: slice) -> Cut:
    step = 1 if part.step is None else operator.index(part.step)
    if step == 0:
        raise _refused("slice step cannot be zero")
    ends = (0, END) if step > 0 else (-1, -END)
    start, stop = (
        end if bound is None else _bound(bound) for bound, end in zip((part.start, part.stop), ends, strict=True)
    )
    return Cut(start, stop, step)


def _bound(bound: Any) -> Bound:
    if isinstance(bound, Size):
        return bound
    if isinstance(bound, Array):
        if bound.ndim or bound.dtype.kind not in "iu":
            raise _refused(f"slice bounds must be integers or None, not {bound.type}")
        known = bound.known()
        return as_int64(Array(bound.value)) if known is None else int(known)
    try:
        return max(-END, min(END, operator.index(bound)))
    except TypeError:
        raise _refused(f"slice bounds must be integers or None, not {type(bound).__name__}") from None


def _mask_entries(part: np.ndarray[Any, Any] | Array, shape: Shape, axis: int) -> list[Entry]:
    for place, (own, size) in enumerate(zip(part.shape, shape[axis:], strict=False)):
        if not dims.could_be(own, size):
            raise _refused(
                f"boolean index did not match indexed array along axis {axis + place}; size of axis is {size} but size "
                f"of corresponding boolean axis is {own}"
            )
    known = part if isinstance(part, np.ndarray) else part.known()
    sizes = shape[axis : axis + part.ndim]
    condition = Array(as_array(part).value if known is None else tracing.constant(known))
    condition = of_shape(condition, sizes)
    if known is not None:
        # A mask without axes picks all or nothing of one new axis.
        places = Array(tracing.constant(np.argwhere(np.atleast_1d(known)).astype(np.int64)))
        places = _where_sizes_fit(places, known.shape, sizes)
    else:
        places = places_of(condition if condition.ndim else op.Unsqueeze(condition, [0]))
    mask = Mask(condition, places)
    if not part.ndim:
        return [Fancy(_column(places, 0), mask, is_made=True)]
    return [Fancy(_column(places, i), mask) for i in range(part.ndim)]


def _where_sizes_fit(places: Array, own: Shape, sizes: Shape) -> Array:
    """The places in a run in which the axes have the mask's own sizes; another fails."""
    for count, size in zip(own, sizes, strict=True):
        if isinstance(size, Size):
            none = of_shape(Array(tracing.constant(np.zeros(count, np.int64))), [size])
            places = op.Add(places, op.ReduceSum(none, keepdims=0))
    return places


def _column(places: Array, position: int) -> Array:
    known = places.known()
    if known is not None:
        return Array(tracing.constant(known[:, position]))
    if places.shape[1] == 1:
        return op.Squeeze(places, [1])
    return op.Gather(places, position, axis=1)


def places_of(condition: Array) -> Array:
    """One row for each True of a traced mask: its indices."""
    return op.Transpose(_nonzero(condition), perm=[1, 0])


def _nonzero(condition: Array) -> Array:
    """NonZero of a mask; of two masks that are the same by the way they were made, the same array.

    How many there are is one size then, so that `x[mask] * y[mask]` is known to fit.
    """
    level: tracing.Recording | None = tracing.current()
    while level is not None:
        done = level.alike.made_by(level.ops, "NonZero", condition.value)
        if done is not None:
            return Array(done)
        level = level.outer
    return op.NonZero(condition)


def index_vector(indices: Sequence[Bound]) -> Array:
    """An int64 vector of these numbers."""
    if not any(isinstance(i, Array) for i in indices):
        return Array(tracing.size_vector([i for i in indices if not isinstance(i, Array)]))
    parts = [op.Reshape(i, [1]) if isinstance(i, Array) else Array(tracing.size_of(i)) for i in indices]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
