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
from dataclasses import dataclass, replace

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, readers, same_types
from primsplit.ir.dims import same
from primsplit.rewrites.rewriting import Rewriter

FARTHEST = 64
"""The most stores that a load is searched in."""


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


class _Reads(Rewriter):
    """The walk that forwards loads; `writes` are the stores so far, by their results."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: dict[Value, _Write] = {}

    def visit(self, op: Op) -> Op | None:
        """Return a load as the stored value, or as a load from the array before the stores to other places."""
        write = _write(op)
        if write is not None:
            self.writes[op.outputs[0]] = write
        place = _place_read(op)
        source = op.inputs[0] if op.inputs else None
        if place is None or source not in self.writes:
            return super().visit(op)
        before = source
        for _ in range(FARTHEST):
            last = self.writes.get(before) if before is not None else None
            if last is None or len(last.place) != len(place):
                break
            if last.place == place:
                return None if self.replace(op.outputs[0], last.part) else super().visit(op)
            before = last.whole
        if before is source:
            return super().visit(op)
        return replace(op, inputs=(before, *op.inputs[1:]))


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
