"""Merge the guards of inner loops in a loop's step into one If, together with the ops around them.

```
a = If(n > 0): Scan(x)
b = Exp(a)
c = If(n > 0): Scan(b)   ->   c = If(n > 0): { a = Scan(x);  b = Exp(a);  Scan(b) }
```

A loop whose number of steps may be 0 stands in an If (`targets/faults/empty_scans.py`). In a small step an If takes as
long as thirty other ops: onnxruntime passes all that the branch reads, and copies its results. So Ifs of one condition
become one, with the ops that depend on their results, and the ops that only those read. The branch for no steps is
nearly empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from primsplit.ir import Block, Const, Op, Renaming, Value, Var, is_call, live_ops, reads, rename, renamed, same_types
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.dims import Dim, Size
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewrites.table import number
from primsplit.rewrites.rewriting import literal_shape

LOOPS = frozenset({"Loop", "Scan"})
MOST_INSIDE = 512
"""The most ops that are moved into an If: they are written for both of its branches."""
ROW_BY_ROW = kinds_where(lambda t: t.elementwise) | {"Slice", "Unsqueeze"}
"""Operators whose result is empty if their input is."""


def join_ifs(block: Block) -> Block:
    """Return the block with the guards of each loop's step merged; the same object if nothing changes."""
    return _walked(block, in_step=False)


def _walked(block: Block, *, in_step: bool) -> Block:
    """Return the block with its sub-blocks walked and, if it runs for each step of a loop, its own guards merged."""
    if "If" not in block.kinds or LOOPS.isdisjoint(block.kinds):
        return block
    ops = tuple(_inside(op, in_step=in_step) for op in block.ops)
    found = block
    if any(a is not b for a, b in zip(ops, block.ops, strict=True)):
        found = Block(block.name, block.params, ops, block.results)
    for guard in found.ops if in_step else ():
        # An If that another one has taken in is in the block no more.
        if guard.kind == "If" and guard in found.ops:
            found = _joined(found, guard)
    return found


def _inside(op: Op, *, in_step: bool) -> Op:
    if is_call(op):
        return op
    in_step = _keeps_shapes(op) if op.kind in LOOPS else in_step
    return op.with_blocks(lambda inner: _walked(inner, in_step=in_step))


def _keeps_shapes(loop: Op) -> bool:
    """Whether no carry of a loop grows: the reason for growth is to be found in the step itself."""
    (body,) = loop.blocks()
    lead, carries = lead_and_carries(loop)
    pairs = zip(body.params[lead : lead + carries], body.results[lead // 2 :], strict=False)
    return all(same_types(param.type, result.type) for param, result in pairs)


@dataclass(frozen=True, slots=True)
class _Around:
    """The ops of a step by where they stand to a guard: before, inside, and behind."""

    before: list[Op]
    inside: list[Op]
    behind: list[Op]


def _joined(block: Block, guard: Op) -> Block:
    """Return the block with these ops moved into the guard; the same object if there are none, or too many."""
    place = block.ops.index(guard)
    steps = _steps_asked(block.ops[:place], guard.inputs[0])
    if steps is None:
        return block
    parted = _with_readers_inside(block.ops[:place], guard, block.ops[place + 1 :])
    parted = _with_operands_inside(parted, guard, block.results)
    if parted.inside == [guard] or len(parted.inside) > MOST_INSIDE:
        return block
    wanted = {*block.results, *(v for op in parted.behind for v in reads(op))}
    outputs = tuple(v for op in parted.inside for v in op.outputs if v in wanted)
    empty, full = (_side(parted.inside, name, outputs) for name in ("then_branch", "else_branch"))
    sides = {"then_branch": _without_rows(empty, steps), "else_branch": full}
    joined = guard.beside("If", guard.inputs, outputs, sides)
    return Block(block.name, block.params, (*parted.before, joined, *parted.behind), block.results)


def _steps_asked(ops: Sequence[Op], condition: Value | None) -> str | None:
    """Return the size, a symbol, that the condition compares with 0, as the guards of Scans do."""
    made = {v: op for op in ops for v in op.outputs}
    for kind in ("Equal", "Squeeze"):
        op = made.get(condition) if isinstance(condition, Var) else None
        if op is None or op.kind != kind or (kind == "Equal" and number(op.inputs[1]) != 0):
            return None
        condition = op.inputs[0]
    shape = made.get(condition) if isinstance(condition, Var) else None
    if shape is None or shape.kind != "Shape" or not isinstance(of := shape.inputs[0], Var) or of.type.shape is None:
        return None
    sizes = of.type.shape[shape.attributes.get("start", 0) : shape.attributes.get("end")]
    return sizes[0].symbol if len(sizes) == 1 and isinstance(sizes[0], Size) else None


def _with_readers_inside(before: Sequence[Op], guard: Op, ops: Sequence[Op]) -> _Around:
    """Move ops that depend on the guard's results inside, up to those with blocks; the others stand before."""
    found = _Around(list(before), [guard], [])
    given, later = set(guard.outputs), set[Var]()
    for op in ops:
        read = reads(op)
        if not later.isdisjoint(read) or (
            op.blocks() and not given.isdisjoint(read) and not _is_of(op, guard.inputs[0])
        ):
            found.behind.append(op)
            later.update(op.outputs)
        elif given.isdisjoint(read):
            found.before.append(op)
        else:
            found.inside.append(op)
            given.update(op.outputs)
    return found


def _is_of(op: Op, condition: Value | None) -> bool:
    """Whether it is an If of this condition."""
    return op.kind == "If" and op.inputs[0] is condition


def _with_operands_inside(around: _Around, guard: Op, results: Iterable[Value]) -> _Around:
    """Also move ops inside that only ops inside read."""
    outside = {*results, *guard.inputs, *(v for op in around.behind for v in reads(op))}
    before: list[Op] = []
    inside: list[Op] = []
    for op in reversed(around.before):
        if op.blocks() or not outside.isdisjoint(op.outputs):
            before.append(op)
            outside.update(reads(op))
        else:
            inside.append(op)
    return _Around(before[::-1], [*inside[::-1], *around.inside], around.behind)


def _side(inside: Sequence[Op], name: str, outputs: Sequence[Var]) -> Block:
    """Return a branch: copies of the ops, with the Ifs replaced by their results in this branch."""
    given: Renaming = {}
    ops: list[Op] = []
    for op in inside:
        if op.kind != "If":
            ops.append(rename(op, given))
            continue
        branch: Block = op.attributes[name]
        ops.extend(rename(step, given) for step in branch.ops)
        given.update(zip(op.outputs, (renamed(r, given) for r in branch.results), strict=True))
    return Block(name, (), tuple(ops), tuple(renamed(v, given) for v in outputs))


def _without_rows(side: Block, steps: str) -> Block:
    """Return the branch for no steps, without ops that compute on empty arrays, or sum them."""
    none: dict[str, Dim] = {steps: 0}
    known: Renaming = {}
    kept: list[Op] = []
    for op in side.ops:
        found = replace(op, inputs=tuple(renamed(v, known) for v in op.inputs))
        value = _of_nothing(found, none)
        if value is None:
            kept.append(found)
        else:
            known[op.outputs[0]] = value
    results = tuple(renamed(r, known) for r in side.results)
    return Block(side.name, (), tuple(live_ops(kept, results)), results)


def _of_nothing(op: Op, none: Mapping[str, Dim]) -> Const | None:
    """Return the op's result when these symbols are 0, if it is empty, or a sum of nothing."""
    if len(op.outputs) != 1:
        return None
    shape = literal_shape(op.outputs[0].type.substitute(none))
    first = op.inputs[0] if op.inputs else None
    is_sum = op.kind == "ReduceSum" and isinstance(first, Const) and not first.numpy().size
    if shape is None or not (is_sum or (op.kind in ROW_BY_ROW and 0 in shape)):
        return None
    return Const(np.zeros(shape, op.outputs[0].type.dtype))
