"""Reads through an index key: records `x[key]` as operators.

x[1:, None]          # x float64[N,M]
becomes
a = Slice(x, [1], [4611686018427387904], [0])
b = Unsqueeze(a, [1])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Shape, Size, broadcast_shapes
from primsplit.ir.errors import IndexingError, ShapeError
from primsplit.numpy.keys import END, WHOLE, Bound, Cut, Entry, Fancy, New, Take, index_vector
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, transpose


def read(x: Array, entries: Sequence[Entry]) -> Array:
    """The elements that the entries pick."""
    known = _read_constant(x, entries)
    if known is not None:
        return known
    if not any(isinstance(e, Fancy) for e in entries):
        return read_basic(x, entries)
    rest = [e if not isinstance(e, Fancy) else (New() if e.is_made else WHOLE) for e in entries]
    basic = read_basic(x, rest)
    picks: list[tuple[int, Fancy]] = []
    axis = 0
    for entry in entries:
        if isinstance(entry, Fancy):
            picks.append((axis, entry))
        axis += not isinstance(entry, Take)
    gathered, place, count = _gather(basic, picks)
    target = block_place(entries)
    return move_block(gathered, place, target, count)


def _read_constant(x: Array, entries: Sequence[Entry]) -> Array | None:
    """Return NumPy's own result where the array and the key are constants, else None."""
    known = x.known()
    if known is None:
        return None
    key: list[Any] = []
    for entry in entries:
        part = _literal(entry)
        if part is False:
            return None
        key.append(part)
    return Array(tracing.constant(known[tuple(key)]), weak=x.weak)


def _literal(entry: Entry) -> object:
    """Return the entry as a part of a NumPy key, or False if it is not literal."""
    if isinstance(entry, New):
        return None
    if isinstance(entry, Take):
        return entry.index if isinstance(entry.index, int) else False
    if isinstance(entry, Cut):
        if not (isinstance(entry.start, int) and isinstance(entry.stop, int)):
            return False
        return slice(entry.start, None if entry.stop < -(2**61) else entry.stop, entry.step)
    found = entry.index.known()
    return False if found is None or entry.is_made else found


def block_place(entries: Sequence[Entry]) -> int:
    """Return where NumPy puts the axes of index arrays: in their place if they stand together, else in front.

    An int counts as an index array where there is one.
    """
    picks = [(i, e) for i, e in enumerate(entries) if isinstance(e, Fancy | Take)]
    places, apart = [i for i, _ in picks], [i for i, e in picks if e.is_apart]
    if places[-1] - places[0] + 1 != len(places) or (apart and apart[-1] != places[-1]):
        return 0
    return places[0]


def move_block(x: Array, place: int, target: int, count: int) -> Array:
    """`x` with `count` axes that start at `place` moved so that they start at `target`."""
    block = list(range(place, place + count))
    rest = [i for i in range(x.ndim) if i not in block]
    return transpose(x, [*rest[:target], *block, *rest[target:]])


def read_basic(x: Array, entries: Sequence[Entry]) -> Array:
    """The elements that ints and slices pick, with new axes. Ints go first: they leave less to cut."""
    cuts = [e for e in entries if not isinstance(e, New | Take)]
    taken = _take(x, [e for e in entries if not isinstance(e, New)])
    result = _cut(taken, [e for e in cuts if isinstance(e, Cut)])
    kept = [e for e in entries if not isinstance(e, Take)]
    made = [i for i, e in enumerate(kept) if isinstance(e, New)]
    return op.Unsqueeze(result, made) if made else result


def _take(x: Array, entries: Sequence[Entry]) -> Array:
    places = [(axis, e.index) for axis, e in enumerate(entries) if isinstance(e, Take)]
    if len(places) > 1 and [axis for axis, _ in places] == list(range(len(places))):
        return op.GatherND(x, index_vector([i for _, i in places]))
    for axis, index in reversed(places):
        x = op.Gather(x, _scalar(index), axis=axis)
    return x


def _scalar(index: Bound) -> object:
    return np.asarray(index, np.int64) if isinstance(index, int) else index


def _cut(x: Array, cuts: Sequence[Cut]) -> Array:
    used = [(axis, cut) for axis, cut in enumerate(cuts) if not cut.is_whole]
    if not used:
        return x
    for place, (axis, cut) in enumerate(used):
        if cut.step < 0:
            x, inside = _from_inside(x, axis, cut)
            used[place] = axis, inside
    starts, stops = index_vector([c.start for _, c in used]), index_vector([c.stop for _, c in used])
    axes = [axis for axis, _ in used]
    steps = [cut.step for _, cut in used]
    return op.Slice(x, starts, stops, axes, steps) if any(s != 1 for s in steps) else op.Slice(x, starts, stops, axes)


def _from_inside(x: Array, axis: int, cut: Cut) -> tuple[Array, Cut]:
    """An array, and the slice of it that goes backwards and takes what `cut` takes of `x`.

    From a start before the front NumPy takes nothing, but ONNX the first element: it clamps the start into the axis. So
    what lies behind a start that is counted from the end is cut away, and what is left is read from its last element.
    """
    size, start, stop = x.shape[axis], cut.start, cut.stop
    if not isinstance(start, Array) and (dims.at_least(start, -1) or dims.at_least(start + size, 0)):
        return x, cut
    if isinstance(start, int) and isinstance(stop, int):
        if -END < stop < 0:
            stop = stop - start - 1 if stop < start else END
        return op.Slice(x, [0], [start + 1], [axis]), Cut(-1, stop, cut.step)
    first, last = index_vector([start]), index_vector([stop])
    is_before = op.Less(first, op.Neg(index_vector([size])))
    return x, Cut(start, op.Squeeze(op.Where(is_before, np.int64(END), last), [0]), cut.step)


def _gather(x: Array, picks: Sequence[tuple[int, Fancy]]) -> tuple[Array, int, int]:
    """The elements at the index arrays; where the new axes start, and how many there are."""
    if len(picks) == 1:
        ((axis, pick),) = picks
        return op.Gather(x, pick.index, axis=axis), axis, pick.index.ndim
    axes = [axis for axis, _ in picks]
    front = transpose(x, [*axes, *(i for i in range(x.ndim) if i not in axes)])
    matrix = index_matrix([pick for _, pick in picks])
    return op.GatherND(front, matrix), 0, matrix.ndim - 1


def index_matrix(picks: Sequence[Fancy | Take]) -> Array:
    """The index arrays broadcast together and joined on a new last axis."""
    first = picks[0]
    mask = first.mask if isinstance(first, Fancy) else None
    if mask is not None and all(isinstance(p, Fancy) and p.mask is mask for p in picks):
        return mask.places
    arrays = [p.index for p in picks]
    if not any(isinstance(a, Array) and a.ndim for a in arrays):
        return index_vector(arrays)
    known = [a.known() if isinstance(a, Array) else None if isinstance(a, Size) else np.asarray(a) for a in arrays]
    shape = _broadcast([a.shape if isinstance(a, Array) else () for a in arrays])
    literal = [k for k in known if k is not None]
    if len(literal) == len(known):
        wide = np.broadcast_arrays(*literal)
        return Array(tracing.constant(np.stack(wide, axis=-1).astype(np.int64)))
    columns = [expand_to(a if isinstance(a, Array) else _number(a), shape) for a in arrays]
    return columns_joined(columns)


def columns_joined(columns: Sequence[Array]) -> Array:
    """Index arrays of one shape on a new last axis."""
    tall = [op.Unsqueeze(c, [-1]) for c in columns]
    return tall[0] if len(tall) == 1 else op.Concat(*tall, axis=-1)


def _number(index: Bound) -> Array:
    return op.Reshape(index_vector([index]), np.zeros(0, np.int64))


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except ShapeError:
        told = " ".join(f"({','.join(map(str, s))})" for s in shapes)
        raise IndexingError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {told}",
            place=tracing.user_place(),
        ) from None
