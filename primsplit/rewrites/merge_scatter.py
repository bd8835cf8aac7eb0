"""Merge sums of scatters: n elements of an array that are read one by one have one cotangent of size n, not n arrays.

```
Add(ScatterND(zeros, [[0]], a), ScatterND(zeros, [[3]], b))   ->   ScatterND(zeros, [[0], [3]], Concat(a, b))
Add(Pad(a: [1], [0, 2]), Pad(b: [2], [1, 0]))                 ->   Concat(a, b)
```

The cotangents of `x[0]`, `x[1]`, ... arrive as a sum of arrays that are zero but for one slice each. Those from
ScatterND are merged into one ScatterND of all slices; those from Pad, if they do not overlap, into one Concat.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.ir import NOWHERE, Block, Const, Op, Type, Value, Var, dims, readers, same_types
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.tracing import fresh_stack, recording
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros


def merge_scatters(block: Block) -> Block:
    """Return the block with sums of several scatters replaced by fewer. Unread ops stay: drop dead code after."""
    found = _Sums(block.ops, block.results)
    merged: list[Op] = []
    for each in block.ops:
        leaves = found.leaves(each)
        made = _merged(each, leaves, found) if leaves is not None else None
        merged.extend([each] if made is None else made)
    return replace(block, ops=tuple(merged))


class _Sums:
    """The op that makes each Var, the ops that read it, and the Adds that are part of a larger sum."""

    def __init__(self, ops: Sequence[Op], results: Iterable[Value]) -> None:
        self.producers = {v: o for o in ops for v in o.outputs}
        self.readers = readers(ops, results)
        self.inner = {v for o in ops if _is_sum(o) for v in o.inputs if isinstance(v, Var) and self._is_inner(v)}

    def _is_inner(self, var: Var) -> bool:
        made = self.made_once(var)
        return made is not None and _is_sum(made)

    def made_once(self, value: Value | None) -> Op | None:
        """Return the op that makes a value which is read once."""
        if not isinstance(value, Var) or len(self.readers.get(value, ())) != 1:
            return None
        return self.producers.get(value)

    def leaves(self, each: Op) -> list[Value] | None:
        """Return the terms of the sum that an op ends, in order; None for an op that ends none."""
        if not _is_sum(each) or each.outputs[0] in self.inner:
            return None
        terms: list[Value] = []
        waiting: list[Value] = [each.outputs[0]]
        while waiting:
            value = waiting.pop()
            if value is each.outputs[0] or value in self.inner:
                made = self.producers[value]
                waiting.extend(v for v in reversed(made.inputs) if v is not None)
            else:
                terms.append(value)
        return terms


def _is_sum(each: Op) -> bool:
    """Whether it is an Add that broadcasts nothing."""
    return each.kind == "Add" and all(v is not None and same_types(v.type, each.outputs[0].type) for v in each.inputs)


# The terms that are scatters.


@dataclass(frozen=True, slots=True)
class _Scattered:
    """`ScatterND(zeros, indices, updates)`, with its axes in the order `perm`."""

    zeros: Value
    indices: Value
    updates: Value
    perm: tuple[int, ...] | None

    @property
    def depth(self) -> Dim:
        return (self.indices.type.shape or ())[-1]

    @property
    def reads(self) -> tuple[Value, ...]:
        return (self.zeros, self.indices, self.updates)


@dataclass(frozen=True, slots=True)
class _Padded:
    """A value with zeros before and after it along one axis, where it fills `start` to `end`."""

    value: Value
    axis: int
    start: int
    end: int

    @property
    def reads(self) -> tuple[Value, ...]:
        return (self.value,)


def _scattered(value: Value, sums: _Sums) -> _Scattered | None:
    made = sums.made_once(value)
    perm = None
    if made is not None and made.kind == "Transpose":
        perm = tuple(made.attributes.get("perm", ())) or None
        made = sums.made_once(made.inputs[0])
        if perm is None:
            return None
    if made is None or made.kind != "ScatterND" or made.attributes.get("reduction") != "add":
        return None
    data, indices, updates = made.inputs
    if data is None or indices is None or updates is None or not _is_zero(data, sums.producers):
        return None
    shape = indices.type.shape
    if shape is None or updates.type.shape is None or not isinstance(shape[-1], int):
        return None
    return _Scattered(data, indices, updates, perm)


def _is_zero(value: Value, producers: dict[Var, Op]) -> bool:
    if isinstance(value, Const):
        return value.is_small and not value.numpy().any()
    made = producers.get(value)
    if made is None:
        return False
    if made.kind == "ConstantOfShape":
        filled = made.attributes.get("value")
        return filled is None or not np.asarray(filled).any()
    source = made.inputs[0] if made.kind == "Expand" else None
    return isinstance(source, Const) and source.is_small and not source.numpy().any()


def _padded(value: Value, sums: _Sums) -> _Padded | None:
    made = sums.made_once(value)
    if made is None or made.kind != "Pad" or made.attributes.get("mode", "constant") not in {"constant", b"constant"}:
        return None
    source, pads = made.inputs[:2]
    fill, axes = (*made.inputs[2:], None, None)[:2]
    if source is None or pads is None or pads.sizes is None or source.type.shape is None:
        return None
    rank = len(source.type.shape)
    used = list(range(rank)) if axes is None else list(axes.sizes or ())
    if len(pads.sizes) != 2 * len(used) or (fill is not None and not _is_zero(fill, sums.producers)):
        return None
    pairs = [(a, pads.sizes[i], pads.sizes[i + len(used)]) for i, a in enumerate(used)]
    moved = [(int(a), front) for a, front, back in pairs if not (dims.same(front, 0) and dims.same(back, 0))]
    if len(moved) != 1:
        return None
    axis, front = moved[0][0] % rank, moved[0][1]
    length = source.type.shape[axis]
    if not isinstance(front, int) or not isinstance(length, int) or front < 0:
        return None
    return _Padded(source, axis, front, front + length)


# Joining them.


def _merged(root: Op, leaves: Sequence[Value], sums: _Sums) -> list[Op] | None:
    """Return the ops that compute the sum with its scatters merged; None if there are none to merge."""
    groups: dict[Any, list[Any]] = {}
    rest: list[Value] = []
    for leaf in leaves:
        found = _scattered(leaf, sums) or _padded(leaf, sums)
        if isinstance(found, _Scattered):
            groups.setdefault((found.perm, found.depth), []).append((leaf, found))
        elif isinstance(found, _Padded):
            groups.setdefault(found.axis, []).append((leaf, found))
        else:
            rest.append(leaf)
    joins: list[Callable[[], Array]] = []
    read = [*rest, *(v for group in groups.values() for _, found in group for v in found.reads)]
    for group in groups.values():
        for layer in [group] if isinstance(group[0][1], _Scattered) else _layers(group):
            if len(layer) == 1:
                rest.append(layer[0][0])
            else:
                joins.append(_joining([found for _, found in layer], root))
    if not joins:
        return None
    return _recorded(root, rest, joins, read)


def _layers(group: list[tuple[Value, _Padded]]) -> list[list[tuple[Value, _Padded]]]:
    """Return the padded values in as few layers as possible without overlap within one."""
    layers: list[list[tuple[Value, _Padded]]] = []
    ends: list[tuple[int, int]] = []
    for leaf, found in sorted(group, key=lambda pair: pair[1].start):
        if ends and ends[0][0] <= found.start:
            _, number = heapq.heappop(ends)
        else:
            number = len(layers)
            layers.append([])
        layers[number].append((leaf, found))
        heapq.heappush(ends, (found.end, number))
    return layers


def _joining(found: Sequence[Any], root: Op) -> Callable[[], Array]:
    if isinstance(found[0], _Scattered):
        return lambda: _one_scatter(found)
    return lambda: _one_concat(found, root.outputs[0].type)


def _recorded(root: Op, rest: Sequence[Value], joins: Sequence[Callable[[], Array]], read: Sequence[Value]) -> list[Op]:
    """Return the ops of the sum, which `read` these values; the last one defines the root's output."""
    with fresh_stack(), recording(place=root.place or NOWHERE, remark=root.remark) as recorded:
        for value in read:
            if isinstance(value, Var):
                recorded.learn(value)
        parts = [*(Array(v) for v in rest), *(join() for join in joins)]
        total = parts[0]
        for part in parts[1:]:
            total = op.Add(total, part)
        result = total.value
    last = recorded.ops[-1]
    if result not in last.outputs:
        last = root.beside("Identity", (result,), (root.outputs[0],))
        return [*recorded.ops, last]
    return [*recorded.ops[:-1], replace(last, outputs=root.outputs)]


def _one_scatter(found: Sequence[_Scattered]) -> Array:
    """Scatter all slices at once: indices that occur twice add up."""
    depth = found[0].depth
    indices: list[Any] = []
    updates: list[Array] = []
    for each in found:
        shape = each.indices.type.shape or ()
        count = dims.product(shape[:-1])
        known = each.indices.numpy() if isinstance(each.indices, Const) else None
        rows = (count, depth)
        indices.append(reshape_to(Array(each.indices), rows) if known is None else known.reshape(-1, known.shape[-1]))
        update = Array(each.updates)
        rest = update.shape[len(shape) - 1 :]
        updates.append(op.Unsqueeze(update, [0]) if len(shape) == 1 else reshape_to(update, (count, *rest)))
    literal = [i for i in indices if isinstance(i, np.ndarray)]
    joined = np.concatenate(literal) if len(literal) == len(indices) else op.Concat(*indices, axis=0)
    whole = found[0].zeros.type
    order = _order_of_rows(literal, whole) if isinstance(joined, np.ndarray) else None
    if order is not None:
        total = op.Concat(*(updates[i] for i in order), axis=0, types=[whole])
    else:
        total = op.ScatterND(Array(found[0].zeros), joined, op.Concat(*updates, axis=0), reduction="add")
    return total if found[0].perm is None else op.Transpose(total, perm=list(found[0].perm))


def _order_of_rows(indices: Sequence[np.ndarray[Any, Any]], type: Type) -> list[int] | None:
    """Return the order in which the indices, each a run of rows, name every row once; None if they do not."""
    size = (type.shape or (None,))[0]
    if not isinstance(size, int) or size == 0 or any(i.shape[-1] != 1 or not len(i) for i in indices):
        return None
    order = sorted(range(len(indices)), key=lambda i: int(indices[i][0, 0]) % size)
    rows = np.concatenate([indices[i][:, 0] for i in order]) % size
    return order if np.array_equal(rows, np.arange(size)) else None


def _one_concat(found: Sequence[_Padded], type: Type) -> Array:
    """Return the values one after the other, with zeros between them."""
    axis = found[0].axis
    shape = type.shape or ()
    parts: list[Array] = []
    place: Dim = 0
    for start, end, value in [*((f.start, f.end, f.value) for f in found), (shape[axis], shape[axis], None)]:
        gap = start - place
        if not dims.same(gap, 0):
            parts.append(zeros((*shape[:axis], gap, *shape[axis + 1 :]), type.dtype))
        if value is not None:
            parts.append(Array(value))
        place = end
    return op.Concat(*parts, axis=axis, types=[type])
