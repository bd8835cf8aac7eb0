"""Joining and splitting: concatenate, stack, block, append, insert, delete, split."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import BFLOAT16, Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import DtypeError, IndexingError, ShapeError
from primsplit.ir.runtimes import fault
from primsplit.numpy.axes import END, array_like, delivered, one_axis, reaching, size_as, slab
from primsplit.numpy.indexing import as_view
from primsplit.numpy.keys import as_int64
from primsplit.numpy.layout import atleast_1d, atleast_2d, atleast_3d, moveaxis, reshape
from primsplit.numpy.ufuncs import Casting, cast_to
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements, unsupported
from primsplit.tracing.broadcasting import count_up, expand_to, full, of_shape
from primsplit.tracing.trees import as_list


def joined_dtype(arrays: Sequence[Array]) -> np.dtype[Any]:
    """The dtype that NumPy joins these arrays in. Python numbers count as arrays here."""
    found = {a.dtype for a in arrays}
    if BFLOAT16 in found and found != {BFLOAT16}:
        others = [d for d in found if d != BFLOAT16]
        wide = np.result_type(np.float32, *others)
        return BFLOAT16 if all(d.kind in "biu" for d in others) else wide
    return np.result_type(*found) if len(found) > 1 else next(iter(found))


def _together(arrays: Sequence[Any], dtype: npt.DTypeLike | None, casting: Casting) -> list[Array]:
    """The arrays in one dtype. Raises ShapeError for none, DtypeError where `casting` forbids the dtype."""
    given = [array_like(a) for a in arrays]
    if not given:
        raise ShapeError("need at least one array to concatenate", place=tracing.user_place())
    wanted = joined_dtype(given) if dtype is None else np.dtype(dtype)
    for array in given:
        if dtype is not None and not np.can_cast(array.dtype, wanted, casting):
            raise DtypeError(
                f"Cannot cast array data from {array.dtype} to {wanted} according to the rule {casting!r}",
                place=tracing.user_place(),
            )
    return [cast_to(a, wanted) for a in given]


def _concatenated(arrays: Sequence[Array], axis: int) -> Array:
    return Array(arrays[0].value) if len(arrays) == 1 else op.Concat(*_of_one_shape(arrays, axis), axis=axis)


@fault(
    "concat_beside_nothing",
    kind="wrong",
    operators=("Concat",),
    says="Concat does not check the other sizes of an array without elements, and leaves its part of the result "
    "unwritten.",
)
def _of_one_shape(arrays: Sequence[Array], axis: int) -> list[Array]:
    """The arrays, whose sizes along the other axes are those of one of them; a run in which they differ fails.

    onnxruntime does not look at the sizes of an array without elements, and leaves memory as it was in its place.
    """
    if len({a.ndim for a in arrays}) > 1:
        return list(arrays)
    along = zip(*(a.shape for a in arrays), strict=True)
    wanted = [next((s for s in sizes if not isinstance(s, Size)), sizes[0]) for sizes in along]
    found = []
    for a in arrays:
        own = [s if i == axis or not isinstance(s, Size) else wanted[i] for i, s in enumerate(a.shape)]
        found.append(of_shape(a, own))
    return found


@implements(np.concatenate)
def concatenate(
    arrays: Any,
    axis: int | None = 0,
    out: Any = None,
    dtype: npt.DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> Array:
    """The arrays one after the other along an axis that they have; in a row for None."""
    given = _together(list(arrays), dtype, casting)
    if axis is None:
        return delivered(_concatenated([reshape(a, -1) for a in given], 0), out)
    if any(a.ndim == 0 for a in given):
        raise ShapeError("zero-dimensional arrays cannot be concatenated", place=tracing.user_place())
    return delivered(_concatenated(given, one_axis(axis, given[0].ndim)), out)


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: npt.DTypeLike | None = None, casting: Casting = "same_kind"
) -> Array:
    """Arrays of one shape along a new axis."""
    given = _together(list(arrays), dtype, casting)
    shapes = [a.shape for a in given]
    if any(len(s) != len(shapes[0]) or not all(map(dims.could_be, s, shapes[0])) for s in shapes):
        raise ShapeError("all input arrays must have the same shape", place=tracing.user_place())
    place = one_axis(axis, given[0].ndim + 1)
    return delivered(_concatenated([op.Unsqueeze(a, [place]) for a in given], place), out)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: npt.DTypeLike | None = None, casting: Casting = "same_kind") -> Array:
    """Joined along axis 1, or along the only axis."""
    given = as_list(atleast_1d(*tup))
    return concatenate(given, 0 if given[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: npt.DTypeLike | None = None, casting: Casting = "same_kind") -> Array:
    """Joined as rows."""
    return concatenate(as_list(atleast_2d(*tup)), 0, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Array:
    """Joined along the third axis."""
    return concatenate(as_list(atleast_3d(*tup)), 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Array:
    """Joined as columns."""
    given = [array_like(a) for a in tup]
    return concatenate([a if a.ndim > 1 else reshape(a, (-1, 1)) for a in given], 1)


@implements(np.block)
def block(arrays: Any) -> Array:
    """Nested lists of blocks joined: the innermost along the last axis, those around along the one before."""
    depth = _depth(arrays)
    rank = max(depth, *(array_like(a).ndim for a in _leaves(arrays)))
    return Array(_joined_block(arrays, depth, rank).value)


def _depth(nested: Any) -> int:
    if not isinstance(nested, list):
        return 0
    depths = {_depth(n) for n in nested}
    if len(depths) != 1:
        raise ShapeError("List depths are mismatched, or a list of blocks is empty", place=tracing.user_place())
    return 1 + depths.pop()


def _leaves(nested: Any) -> list[Any]:
    return [leaf for n in nested for leaf in _leaves(n)] if isinstance(nested, list) else [nested]


def _joined_block(nested: Any, depth: int, rank: int) -> Array:
    if not isinstance(nested, list):
        leaf = array_like(nested)
        found: Array = leaf[(None,) * (rank - leaf.ndim)] if leaf.ndim < rank else leaf
        return found
    return concatenate([_joined_block(n, depth - 1, rank) for n in nested], rank - depth)


@implements(np.append)
def append(x: Any, values: Any, axis: int | None = None) -> Array:
    """`values` after `x`; both in a row for no axis."""
    return concatenate([x, values], axis)


# Positions known while tracing.


def _static_size(x: Array, axis: int, what: str) -> int:
    size = x.shape[axis]
    if isinstance(size, Size):
        raise ShapeError(
            f"{what} counts positions from an end of an axis of size {size}, which is known only at run time",
            place=tracing.user_place(),
            cure="Give this axis a fixed size in the spec, or join slices with np.concatenate.",
        )
    return size


def _flat_unless(x: Any, axis: int | None) -> tuple[Array, int]:
    x = array_like(x)
    return (reshape(x, -1), 0) if axis is None else (x, one_axis(axis, x.ndim))


@implements(np.delete)
def delete(x: Any, obj: Any, axis: int | None = None) -> Array:
    """Without the slices at these positions.

    Where only the run knows how many these are, of an axis of unknown size or at unknown positions, the result has a
    size of its own.
    """
    x, axis = _flat_unless(x, axis)
    size = x.shape[axis]
    asked = obj.known() if isinstance(obj, Array) else obj
    if isinstance(size, Size) and (from_start := _counted_from_start(asked)) is not None:
        return _between_places(x, from_start, axis)
    if _is_asked(obj) or (isinstance(size, Size) and isinstance(obj, int | np.integer)):
        places = count_up(size)
        left, gone = places[1:], op.Gather(places, as_int64(array_like(obj)))
        return op.Gather(x, op.Sub(left, op.Cast(op.LessOrEqual(left, gone), to="int64")), axis=axis)
    if isinstance(size, Size) or asked is None:
        kept: Any = full((size,), np.bool_(True))
        kept[obj if isinstance(obj, slice) else array_like(obj)] = False
        found: Array = FUNCTIONS[np.compress](kept, x, axis)
        return found
    try:
        rest = np.delete(np.arange(size), asked)
    except IndexError as error:
        raise IndexingError(str(error), place=tracing.user_place()) from None
    return op.Gather(x, rest, axis=axis)


def _counted_from_start(asked: Any) -> list[int] | None:
    """Return each of these positions once, in order; None if one counts from the end or is not a whole number."""
    if asked is None or isinstance(asked, slice):
        return None
    places = np.asarray(asked)
    if places.size and (places.dtype.kind not in "iu" or np.min(places) < 0):
        return None
    return [int(p) for p in np.unique(places)]


def _between_places(x: Array, places: Sequence[int], axis: int) -> Array:
    """Return `x` without the slices at these places. A run in which `x` lacks one of them fails."""
    if not places:
        return Array(x.value)
    x = reaching(x, axis, places[-1] + 1)
    starts = [0, *(p + 1 for p in places)]
    parts = [slab(x, axis, start, end) for start, end in zip(starts, [*places, END], strict=True) if start != end]
    return op.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


def _is_asked(obj: Any) -> bool:
    """Return whether this is a single position that only the run knows."""
    return isinstance(obj, Array) and not obj.ndim and obj.dtype.kind in "iu" and obj.known() is None


def _literal(obj: Any, what: str) -> Any:
    if isinstance(obj, Array):
        known = obj.known()
        if known is None:
            raise unsupported(f"{what} at positions that are known only at run time")
        return known
    return obj


@implements(np.insert)
def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """With `values` put before these positions, which must be known while tracing, but for a single one.

    Of an axis whose size only the run knows they are counted from one of its ends; a run that has not so many fails.
    """
    x, axis = _flat_unless(x, axis)
    position = obj if _is_asked(obj) else _literal(obj, "np.insert")
    if isinstance(position, slice):
        position = np.arange(_static_size(x, axis, "np.insert"))[position]
    places = np.zeros((), int) if isinstance(position, Array) else np.asarray(position)
    if not places.size:
        return Array(x.value)
    new = cast_to(array_like(values), x.dtype)
    if new.ndim < x.ndim:
        new = new[(None,) * (x.ndim - new.ndim)]
    if places.size == 1:
        # One position takes all of `values`; where it is a plain int their first axis is the one inserted along.
        new = moveaxis(new, 0, axis) if places.ndim == 0 else new
    count = new.shape[axis] if places.size == 1 else places.size
    wide = expand_to(new, tuple(count if i == axis else d for i, d in enumerate(x.shape)))
    size = x.shape[axis]
    if isinstance(position, Array):
        return _from_behind(op.Concat(x, wide, axis=axis), as_int64(position), size, count, axis)
    if isinstance(size, Size) or isinstance(count, Size):
        return _between(x, places.reshape(-1), wide, axis)
    places = np.full(count, places.item()) if places.size == 1 else places
    try:
        numbered = np.insert(np.arange(size), places, np.arange(size, size + count))
    except IndexError as error:
        raise IndexingError(str(error), place=tracing.user_place()) from None
    return op.Gather(op.Concat(x, wide, axis=axis), numbered, axis=axis)


def _from_behind(joined: Array, asked: Array, size: Dim, count: Dim, axis: int) -> Array:
    """`joined`, whose last `count` slices are moved before the position asked for, which is one of the first `size`."""
    backwards = op.Sub(asked, op.Cast(op.Less(asked, 0), to="int64"))  # -1 is before the last of them, not behind it
    place = op.Gather(count_up(size + 1), backwards)
    before = count_up(size + count)
    moved = op.Sub(before, place)
    behind = op.Where(
        op.Less(moved, size_as(count, np.int64)),
        op.Add(moved, size_as(size, np.int64)),
        op.Sub(before, size_as(count, np.int64)),
    )
    return op.Gather(joined, op.Where(op.Less(moved, 0), before, behind), axis=axis)


def _between(x: Array, places: Any, new: Array, axis: int) -> Array:
    """`new`, one slice for each place, or all of it at the only one, between the parts of `x`."""
    if np.min(places) < 0 <= np.max(places):
        _static_size(x, axis, "np.insert")
    order = np.argsort(places, kind="stable")
    parts: list[Array] = []
    start: int = 0
    x = reaching(x, axis, int(max(np.max(places), -np.min(places))))
    for i in order:
        place = int(places[i])
        parts.append(slab(x, axis, start, place))
        parts.append(new if len(order) == 1 else slab(new, axis, int(i), int(i) + 1))
        start = place
    return op.Concat(*parts, slab(x, axis, start, END), axis=axis)


# Cutting.


@implements(np.array_split)
def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of the parts: cut at the given places, or into so many parts, the first ones longer by one."""
    x = array_like(x)
    axis = one_axis(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
        return _cut(x, [0, *(_place(p) for p in indices_or_sections), None], axis)
    count = int(indices_or_sections)
    if count <= 0:
        raise ValueError("number sections must be larger than 0.")
    lengths = [dims.floor_divide(size + (count - 1 - i), count) for i in range(count)]
    return _parts(x, lengths, axis)


@implements(np.split)
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of the parts: cut at the given places, or into so many parts of one length. Raises ShapeError."""
    x = array_like(x)
    axis = one_axis(axis, x.ndim)
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
        return array_split(x, indices_or_sections, axis)
    count, size = int(indices_or_sections), x.shape[axis]
    if isinstance(size, int) and size % count:
        raise ShapeError("array split does not result in an equal division", place=tracing.user_place())
    return _parts(x, [dims.floor_divide(size, count)] * count, axis)


def _place(place: Any) -> Any:
    return place if isinstance(place, Size | Array) else int(place)


def _cut(x: Array, places: Sequence[Any], axis: int) -> list[Array]:
    size = x.shape[axis]
    known = [0, *places[1:-1], size]
    literal = [p for p in known if isinstance(p, int)]
    if len(literal) == len(known) and all(0 <= a <= b for a, b in itertools.pairwise(literal)):
        return _parts(x, [b - a for a, b in itertools.pairwise(literal)], axis)
    before = (slice(None),) * axis
    return [x[(*before, slice(a, b))] for a, b in itertools.pairwise(places)]


def _parts(x: Array, lengths: Sequence[Dim], axis: int) -> list[Array]:
    """Views of consecutive parts of these lengths, which fill the axis."""
    shapes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in lengths]
    types = [Type(x.dtype, s) for s in shapes]
    vector = Array(tracing.size_vector(lengths))
    parts = op.Split(x, vector, axis=axis, outputs=len(lengths), types=types) if len(lengths) > 1 else [x]
    start: Dim = 0
    views: list[Array] = []
    for part, length in zip(parts, lengths, strict=True):
        views.append(as_view(part, x, (*(slice(None),) * axis, slice(start, start + length))))
        start = start + length
    return views


@implements(np.hsplit)
def hsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """Cut along axis 1, or along the only axis."""
    x = array_like(x)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """Cut along axis 0."""
    return split(x, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """Cut along axis 2."""
    return split(x, indices_or_sections, 2)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the slices along an axis of known size."""
    x = array_like(x)
    place = one_axis(axis, x.ndim)
    size = x.shape[place]
    if isinstance(size, Size):
        size = _static_size(x, place, "np.unstack")
    return tuple(x[(*(slice(None),) * place, i)] for i in range(size))
