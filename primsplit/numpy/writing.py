"""Writes through an index key: records the array that results from `x[key] = v` as operators.

x[1:] = v            # x float64[N]
becomes
c = Expand(v, ...)   # to the slice's shape
f = Slice(x, ...)    # before the slice
h = Slice(x, ...)    # behind it
i = Concat(f, c, h, axis=0)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape
from primsplit.ir.errors import ShapeError
from primsplit.numpy.keys import END, WHOLE, Bound, Cut, Entry, Fancy, Mask, New, Take, index_vector
from primsplit.numpy.reading import block_place, index_matrix, read_basic
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import (
    count_up,
    expand_to,
    expanded_strictly,
    inverse_permutation,
    reshape_to,
    transpose,
    zeros,
)
from primsplit.tracing.calls.primitive import stop_gradient

Label = int | str


def write(x: Array, entries: Sequence[Entry], v: Array, reduction: str = "none") -> Array:
    """`x` with `v`, which has the dtype of `x` and broadcasts to `x[entries]`, written where the entries pick.

    With a reduction ("add", "mul", "max", "min") `v` is combined with what is there, once for each time that an
    element is picked; the entries must have an index array then. Without, the last write to an element stays.
    """
    if not any(isinstance(e, Fancy) for e in entries):
        return _write_basic(x, entries, v)
    own = [e for e in entries if not isinstance(e, New) and not (isinstance(e, Fancy) and e.is_made)]
    outer = [e if isinstance(e, Cut) else WHOLE for e in own]
    if not all(e.is_whole for e in outer):
        inner = [WHOLE if isinstance(e, Cut) else e for e in entries]
        return _write_basic(x, outer, write(read_basic(x, outer), inner, v, reduction))
    mask = _only_mask(entries)
    if mask is not None and reduction == "none":
        chosen = _write_where(x, entries, mask, v)
        if chosen is not None:
            return chosen
    if any(isinstance(e, Fancy) and e.is_made for e in entries):
        return _write_made(x, entries, v, reduction)
    return _scatter(x, entries, v, reduction)


def _write_made(x: Array, entries: Sequence[Entry], v: Array, reduction: str) -> Array:
    """`x` written through masks without axes, each with an axis of size 1 made for it, which goes again."""
    own = [e for e in entries if not isinstance(e, New)]
    axes = [a for a, e in enumerate(own) if isinstance(e, Fancy) and e.is_made]
    placed = [replace(e, is_made=False) if isinstance(e, Fancy) else e for e in entries]
    return op.Squeeze(write(op.Unsqueeze(x, axes), placed, v, reduction), axes)


def labels_of(entries: Sequence[Entry], block: int) -> list[Label]:
    """Return the source of each axis of `x[entries]`: the number of an axis of `x`, "new", or `block` times "block"."""
    labels: list[Label] = []
    axis = 0
    for entry in entries:
        if isinstance(entry, Cut):
            labels.append(axis)
        elif isinstance(entry, New):
            labels.append("new")
        axis += not (isinstance(entry, New) or (isinstance(entry, Fancy) and entry.is_made))
    if any(isinstance(e, Fancy) for e in entries):
        target = block_place(entries)
        labels[target:target] = ["block"] * block
    return labels


def aligned(v: Array, labels: Sequence[Label]) -> Array:
    """`v` with one axis for each label but "new", whose axes go. Raises ShapeError where it has too many axes."""
    extra = v.ndim - len(labels)
    if extra > 0:
        if not all(dims.is_one(d) for d in v.shape[:extra]):
            raise _unfit(v.shape, f"one with {len(labels)} axes")
        v = op.Squeeze(v, list(range(extra)))
    elif extra < 0 and v.ndim:
        v = op.Unsqueeze(v, list(range(-extra)))
    elif extra < 0:
        return v
    made = [i for i, label in enumerate(labels) if label == "new"]
    return op.Squeeze(v, made) if made else v


def fitted(v: Array, shape: Shape) -> Array:
    """`v` broadcast to a shape. Raises ShapeError where it can never be; a run in which it cannot be fails."""
    lead = len(shape) - v.ndim
    if lead < 0 or not all(dims.is_one(d) or dims.could_be(d, s) for d, s in zip(v.shape, shape[lead:], strict=True)):
        raise _unfit(v.shape, _told(shape))
    if all(dims.is_one(d) or dims.same(d, s) for d, s in zip(v.shape, shape[lead:], strict=True)):
        return expand_to(v, shape)
    return expanded_strictly(v, shape)


def _told(shape: Shape) -> str:
    return f"({','.join(map(str, shape))})"


def _unfit(shape: Shape, wanted: str) -> ShapeError:
    return ShapeError(
        f"could not broadcast input array from shape {_told(shape)} into shape {wanted}", place=tracing.user_place()
    )


# Ints and slices.


def _write_basic(x: Array, entries: Sequence[Entry], v: Array) -> Array:
    own: list[Take | Cut] = [e for e in entries if isinstance(e, Take | Cut)]
    return _place(x, own, aligned(v, labels_of(entries, 0)))


def _place(x: Array, entries: Sequence[Take | Cut], v: Array) -> Array:
    """Return `x` with `v` written at one entry per axis; handles the first entry that is not `:`, then the others."""
    active = [a for a, e in enumerate(entries) if isinstance(e, Take) or not e.is_whole]
    if not active:
        return fitted(v, x.shape)
    taken = [e.index for e in entries if isinstance(e, Take)]
    if active == list(range(len(taken))) and len(active) == len(taken):
        return op.ScatterND(x, index_vector(taken), fitted(v, x.shape[len(taken) :]))
    axis = active[0]
    entry = entries[axis]
    inner = [WHOLE if i == axis else e for i, e in enumerate(entries)]
    if isinstance(entry, Take):
        sub = _place(read_basic(x, [entry if i == axis else WHOLE for i in range(x.ndim)]), _without(inner, axis), v)
        if isinstance(entry.index, int):
            behind = entry.index + 1 if entry.index != -1 else END
            return _joined(x, axis, (0, entry.index), op.Unsqueeze(sub, [axis]), (behind, END))
        return _scatter_axis(x, axis, index_vector([entry.index]), op.Unsqueeze(sub, [axis]))
    picked = read_basic(x, [entry if i == axis else WHOLE for i in range(x.ndim)])
    sub = _place(picked, inner, v)
    if entry.step == 1 and not isinstance(entry.start, Array) and not isinstance(entry.stop, Array):
        first = _clamped(entry.start, x.shape[axis])
        return _joined(x, axis, (0, first), sub, (first + picked.shape[axis], END))
    return _scatter_axis(x, axis, _picked(x.shape[axis], entry), sub)


def _without(entries: Sequence[Take | Cut], axis: int) -> list[Take | Cut]:
    return [e for i, e in enumerate(entries) if i != axis]


def _clamped(bound: Bound, size: Dim) -> Dim:
    """A slice's start as a place in the axis."""
    if isinstance(bound, int) and bound < 0:
        return dims.maximum(0, size + bound)
    assert not isinstance(bound, Array)
    return dims.minimum(bound, size)


def _joined(x: Array, axis: int, before: tuple[Dim, Dim], middle: Array, after: tuple[Dim, Dim]) -> Array:
    """The parts of `x` before and after, and what was written in between."""
    parts = []
    for part in (before, None, after):
        piece = middle if part is None else op.Slice(x, [part[0]], [part[1]], [axis])
        if not dims.same(piece.shape[axis], 0):
            parts.append(piece)
    return op.Concat(*parts, axis=axis, types=[x.type]) if len(parts) > 1 else (parts or [x])[0]


def _picked(size: Dim, cut: Cut) -> Array:
    """The indices that a slice picks of an axis."""
    return read_basic(count_up(size), [cut])


def _scatter_axis(x: Array, axis: int, indices: Array, v: Array) -> Array:
    """`x` with the slices of `v` written at different indices along one axis."""
    order = [axis, *(i for i in range(x.ndim) if i != axis)]
    rows = op.Unsqueeze(indices, [-1])
    return transpose(op.ScatterND(transpose(x, order), rows, transpose(v, order)), inverse_permutation(order))


# Index arrays and masks.


def _only_mask(entries: Sequence[Entry]) -> Mask | None:
    """The mask, where the entries are those of one mask and `:`."""
    picks = [e for e in entries if isinstance(e, Fancy | Take)]
    first = picks[0]
    if not isinstance(first, Fancy) or first.mask is None or any(isinstance(e, New) for e in entries):
        return None
    return first.mask if all(isinstance(p, Fancy) and p.mask is first.mask for p in picks) else None


def _write_where(x: Array, entries: Sequence[Entry], mask: Mask, v: Array) -> Array | None:
    """Return `x` with `v` where the mask is True; None if `v` has one value for each True."""
    labels = labels_of(entries, 1)
    v = aligned(v, labels)
    place = labels.index("block")
    behind = x.ndim - place - mask.condition.ndim
    if v.ndim:
        if not dims.is_one(v.shape[place]):
            return None
        shape = (*v.shape[:place], *(1,) * mask.condition.ndim, *v.shape[place + 1 :])
        v = reshape_to(v, shape)
        fitted(v, x.shape)
    condition = mask.condition
    if behind and condition.ndim:
        condition = op.Unsqueeze(condition, list(range(condition.ndim, condition.ndim + behind)))
    return op.Where(condition, v, x, types=[x.type])


def _scatter(x: Array, entries: Sequence[Entry], v: Array, reduction: str) -> Array:
    """`x` with `v` scattered to the places that the index arrays and ints name."""
    own = [e for e in entries if not isinstance(e, New)]
    axes = [a for a, e in enumerate(own) if isinstance(e, Fancy | Take)]
    rest = [a for a in range(x.ndim) if a not in axes]
    picks = [e for e in own if isinstance(e, Fancy | Take)]
    matrix = index_matrix(picks)
    block = matrix.ndim - 1
    labels = labels_of(entries, block)
    v = aligned(v, labels)
    if v.ndim:
        kept = [label for label in labels if label != "new"]
        first = kept.index("block") if block else 0
        order = [*range(first, first + block), *(i for i, label in enumerate(kept) if label != "block")]
        v = transpose(v, order)
    updates = fitted(v, (*matrix.shape[:-1], *(x.shape[a] for a in rest)))
    front = transpose(x, [*axes, *rest])
    if reduction == "none" and block and not _is_unique(picks):
        matrix, updates = _last_writes(matrix, updates, [x.shape[a] for a in axes])
    done = op.ScatterND(front, matrix, updates, reduction=reduction)
    return transpose(done, inverse_permutation([*axes, *rest]))


def _is_unique(picks: Sequence[Fancy | Take]) -> bool:
    """Return whether no place is named twice, as by the indices of one mask."""
    masks = [p.mask if isinstance(p, Fancy) else None for p in picks]
    return masks[0] is not None and all(m is masks[0] for m in masks)


def _last_writes(matrix: Array, updates: Array, sizes: Sequence[Dim]) -> tuple[Array, Array]:
    """Indices and updates in rows, those that name the same place with the same update: the last one.

    ONNX leaves open which write to a place stays; NumPy keeps the last, and only that one has a gradient. No row is
    dropped, so that the sizes do not depend on the indices, and are the same for each example of a batch.
    """
    block = matrix.ndim - 1
    depth = len(sizes)
    count = dims.product(matrix.shape[:-1])
    rows = reshape_to(matrix, (count, depth))
    flat = reshape_to(updates, (count, *updates.shape[block:]))
    known = rows.known() if block == 1 else _known_rows(matrix, depth)
    if known is not None:
        kept = _last_rows(known, sizes)
        if kept is not None:
            if len(kept) == len(known):
                return matrix, updates
            return Array(tracing.constant(known[kept])), op.Gather(flat, kept)
    numbers = count_up(count)
    last = op.GatherND(op.ScatterND(zeros(sizes, np.dtype(np.int64)), rows, numbers, reduction="max"), rows)
    stays = op.Equal(last, numbers)
    stays = op.Unsqueeze(stays, list(range(1, flat.ndim))) if flat.ndim > 1 else stays
    return rows, op.Where(stays, flat, stop_gradient(op.Gather(flat, last)), types=[flat.type])


def _known_rows(matrix: Array, depth: int) -> np.ndarray[Any, Any] | None:
    known = matrix.known()
    return None if known is None else known.reshape(-1, depth)


def _last_rows(rows: np.ndarray[Any, Any], sizes: Sequence[Dim]) -> np.ndarray[Any, Any] | None:
    """Return the numbers of the rows that no later row repeats; None where only the run can tell."""
    counted = rows.copy()
    for column, size in enumerate(sizes):
        if isinstance(size, int):
            counted[:, column] %= max(size, 1)
        elif (counted[:, column] < 0).any() and (counted[:, column] >= 0).any():
            return None
    _, first = np.unique(counted[::-1], axis=0, return_index=True)
    return np.sort(len(rows) - 1 - first)
