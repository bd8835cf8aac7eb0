"""Forward stores to loads and merge adjacent stores: `y[0] = a; y[1] = y[0] + b` becomes one ScatterND.

Each store is a ScatterND of the whole array, and each load a Gather of it: n of them cost n * n, and their derivatives
as much again.

```
y1 = ScatterND(y0, [0], a)
c  = Gather(y1, 0)                 c  = Add(a, b)
d  = Add(c, b)              ->     y2 = ScatterND(y0, [[0], [1]], Concat(a, c))
y2 = ScatterND(y1, [1], d)
```
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, readers, same_types
from primsplit.ir.dims import same
from primsplit.rewrites.rewriting import Rewriter


@dataclass(frozen=True, slots=True)
class _Write:
    """A store `whole[place] = part`, at a constant place."""

    whole: Value
    place: tuple[int, ...]
    part: Value


def join_writes(block: Block) -> Block:
    """Return the block with loads forwarded past stores, and successive stores merged; itself if it has no stores."""
    if not any(op.kind == "ScatterND" for op in block.ops):
        return block
    return _joined(_Reads().run_and_drop(block))


def _write(op: Op) -> _Write | None:
    """Return the store that an op is. None for anything else, and for a place that is not counted from the front."""
    if op.kind != "ScatterND" or op.attributes.get("reduction", "none") not in {"none", b"none"}:
        return None
    whole, place, part = op.inputs
    if whole is None or part is None or part.type.shape is None or not isinstance(place, Const) or place.type.rank != 1:
        return None
    indices = tuple(int(i) for i in place.numpy())
    return None if min(indices, default=-1) < 0 else _Write(whole, indices, part)


@dataclass(slots=True)
class _Chain:
    """Stores one after another into the array `whole`: `parts` are their numbers and parts, by place."""

    whole: Value
    depth: int
    parts: dict[tuple[int, ...], list[tuple[int, Value]]] = field(default_factory=dict)
    count: int = 0


class _Reads(Rewriter):
    """The walk that forwards loads; `stored` are the results of the stores so far, with their numbers in chains."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[Value, tuple[_Chain, int]] = {}

    def visit(self, op: Op) -> Op | None:
        """Return a load as the stored value, or as a load from the array before the stores to other places."""
        write = _write(op)
        if write is not None:
            self.store(write, op.outputs[0])
        place = _place_read(op)
        source = op.inputs[0] if op.inputs else None
        if place is None or source not in self.stored:
            return super().visit(op)
        before, part = self.latest(source, place)
        if part is not None:
            return None if self.replace(op.outputs[0], part) else super().visit(op)
        return super().visit(op) if before is source else replace(op, inputs=(before, *op.inputs[1:]))

    def store(self, write: _Write, result: Value) -> None:
        """Number a store: the next of its chain, or the first where another store followed the array already."""
        chain, count = self.stored.get(write.whole, (None, 0))
        if chain is None or count < chain.count or chain.depth != len(write.place):
            chain = _Chain(write.whole, len(write.place))
        chain.count += 1
        chain.parts.setdefault(write.place, []).append((chain.count, write.part))
        self.stored[result] = chain, chain.count

    def latest(self, source: Value, place: tuple[int, ...]) -> tuple[Value, Value | None]:
        """Return the array before the stores to other places, and what was stored at this place; None for nothing."""
        while source in self.stored:
            chain, count = self.stored[source]
            if chain.depth != len(place):
                break
            part = next((part for k, part in reversed(chain.parts.get(place, ())) if k <= count), None)
            if part is not None:
                return source, part
            source = chain.whole
        return source, None


def _place_read(op: Op) -> tuple[int, ...] | None:
    """Return the place of the one element or row that an op loads, counted from the front."""
    index = op.inputs[1] if op.kind in {"Gather", "GatherND"} else None
    if not isinstance(index, Const):
        return None
    if op.kind == "Gather" and (index.type.shape != () or op.attributes.get("axis", 0) != 0):
        return None
    if op.kind == "GatherND" and (index.type.rank != 1 or op.attributes.get("batch_dims", 0)):
        return None
    place = tuple(int(i) for i in index.numpy().reshape(-1))
    return None if min(place, default=-1) < 0 else place


def _joined(block: Block) -> Block:
    """Return the block with chains of stores merged."""
    read_by = readers(block.ops, block.results)
    writes: dict[Value, _Write] = {op.outputs[0]: write for op in block.ops if (write := _write(op)) is not None}
    earlier = [w.whole for w in writes.values() if _continues(w, writes.get(w.whole))]
    inner = {whole for whole in earlier if isinstance(whole, Var) and len(read_by[whole]) == 1}
    if not inner:
        return block
    ops: list[Op] = []
    for op in block.ops:
        write = writes.get(op.outputs[0])
        if write is None or (op.outputs[0] not in inner and write.whole not in inner):
            ops.append(op)
        elif op.outputs[0] not in inner:
            ops.extend(_one_write(op, _chain(write, writes, inner)))
    return Block(block.name, block.params, tuple(ops), block.results)


def _continues(write: _Write, before: _Write | None) -> bool:
    """Whether a store follows one of the same type."""
    return (
        before is not None and len(before.place) == len(write.place) and same_types(before.part.type, write.part.type)
    )


def _chain(last: _Write, writes: Mapping[Value, _Write], inner: Collection[Value]) -> list[_Write]:
    """Return the stores that end in the last, the latest first."""
    chain = [last]
    while chain[-1].whole in inner:
        chain.append(writes[chain[-1].whole])
    return chain


def _one_write(op: Op, chain: Sequence[_Write]) -> list[Op]:
    """Return the ops that concatenate the parts, if they cover every row of the array, or else scatter them at once."""
    parts: dict[tuple[int, ...], Value] = {}
    for write in chain:
        parts.setdefault(write.place, write.part)
    whole, result = chain[-1].whole, op.outputs[0]
    places = sorted(parts)
    rows, ops = [], []
    for place in places:
        part = parts[place]
        row = Var(Type(part.type.dtype, (1, *(part.type.shape or ()))))
        ops.append(op.beside("Unsqueeze", (part, Const(np.array([0]))), (row,)))
        rows.append(row)
    shape = result.type.shape
    if places == [(i,) for i in range(len(places))] and shape and same(shape[0], len(places)):
        return [*ops, op.beside("Concat", tuple(rows), (result,), {"axis": 0})]
    joined = Var(Type(result.type.dtype, (len(places), *(chain[0].part.type.shape or ()))))
    ops.append(op.beside("Concat", tuple(rows), (joined,), {"axis": 0}))
    inputs = (whole, Const(np.array(places)), joined)
    return [*ops, op.beside("ScatterND", inputs, (result,), op.attributes)]
