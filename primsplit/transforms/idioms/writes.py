"""Arrays that are written element by element: `y[0] = a`, `y[1] = y[0] + b`, and so on, as a loop in Python does.

Each write is a ScatterND of the whole array, and each read a Gather of it: n of them cost n * n, and their derivatives
as much again. What is read where it was just written is the value that was written; and writes that nobody reads in
between are one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, readers, same_types
from primsplit.ir.dims import same
from primsplit.rewrites.dead_code import drop_dead_code
from primsplit.rewrites.rewriting import Rewriter

FARTHEST = 64
"""How many writes a read is looked for in."""


@dataclass(frozen=True, slots=True)
class _Write:
    """`whole[place] = part`, at a place that is written in the program."""

    whole: Value
    place: tuple[int, ...]
    part: Value


def join_writes(block: Block) -> Block:
    """The block with reads past writes, and with successive writes joined; itself where it writes nothing."""
    if not any(op.kind == "ScatterND" for op in block.ops):
        return block
    read = _Reads().run(block)
    return _joined(read if read is block else drop_dead_code(read))


def _write(op: Op) -> _Write | None:
    """The write that an op is. None for anything else, and where a place is not counted from the front."""
    if op.kind != "ScatterND" or op.attributes.get("reduction", "none") not in {"none", b"none"}:
        return None
    whole, place, part = op.inputs
    if whole is None or part is None or part.type.shape is None or not isinstance(place, Const) or place.type.rank != 1:
        return None
    found = tuple(int(i) for i in place.numpy())
    return None if min(found, default=-1) < 0 else _Write(whole, found, part)


class _Reads(Rewriter):
    """The walk that answers reads; `writes` are the writes met, by what they make."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: dict[Value, _Write] = {}

    def visit(self, op: Op) -> Op | None:
        """A read as what was written there, or of the array as it was before the writes to other places."""
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
    """The place of the one element or row that an op reads, counted from the front."""
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
    """The block with chains of writes as one write each."""
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
    """True for writes of alike parts, one after the other."""
    return (
        before is not None and len(before.place) == len(write.place) and same_types(before.part.type, write.part.type)
    )


def _chain(last: _Write, writes: Mapping[Value, _Write], inner: Collection[Value]) -> list[_Write]:
    """The writes that end in the last, the latest first."""
    found = [last]
    while found[-1].whole in inner:
        found.append(writes[found[-1].whole])
    return found


def _one_write(op: Op, chain: Sequence[_Write]) -> list[Op]:
    """The parts joined, where they name every row of the array; else scattered at once."""
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
