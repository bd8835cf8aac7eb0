"""What a loop's step computes around the guards of loops inside of it goes into one guard.

A loop of a number of steps that may be 0 stands in an If (`faults/empty_scans.py`). In a step that is small an If takes
as long as thirty other operators: onnxruntime hands to the branch all that it reads, and copies what comes out. So Ifs
of one condition become one, with all that is made of what they give, and what they alone read. Where there are no
steps, nearly nothing of it is left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from primsplit.analysis.dependence import ELEMENTWISE
from primsplit.dims import Dim, Size
from primsplit.ir import Block, Const, Op, Renaming, Value, Var, is_call, live_ops, reads, rename, renamed, same_types
from primsplit.passes.rewriting import literal_shape

LOOPS = frozenset({"Loop", "Scan"})
MOST_INSIDE = 512
"""So many ops are taken into an If at most: they are written for both of its sides."""
ROW_BY_ROW = ELEMENTWISE | {"Slice", "Unsqueeze"}
"""What gives no elements where it is given none."""


def join_ifs(block: Block) -> Block:
    """The block with the guards of each loop's step joined; the same object where nothing changes."""
    return _walked(block, in_step=False)


def _walked(block: Block, *, in_step: bool) -> Block:
    """The block with its sub-blocks walked and, where it is run for each step of a loop, its own guards joined."""
    if "If" not in block.kinds or LOOPS.isdisjoint(block.kinds):
        return block
    ops = tuple(_inside(op, in_step=in_step) for op in block.ops)
    found = block
    if any(a is not b for a, b in zip(ops, block.ops, strict=True)):
        found = Block(block.name, block.params, ops, block.results)
    for guard in filter(_is_guard, found.ops) if in_step else ():
        # An If that another one has taken in is in the block no more.
        found = _joined(found, guard) if guard in found.ops else found
    return found


def _inside(op: Op, *, in_step: bool) -> Op:
    if is_call(op):
        return op
    in_step = _keeps_shapes(op) if op.kind in LOOPS else in_step
    return op.with_blocks(lambda inner: _walked(inner, in_step=in_step))


def _keeps_shapes(loop: Op) -> bool:
    """True for a loop none of whose carries grows: what makes them grow is to be found in the step itself."""
    (body,) = loop.blocks()
    lead = 2 if loop.kind == "Loop" else 0
    carries = len(loop.inputs) - (lead or int(loop.attributes["num_scan_inputs"]))
    pairs = zip(body.params[lead : lead + carries], body.results[lead // 2 :], strict=False)
    return all(same_types(param.type, result.type) for param, result in pairs)


def _has_loops(side: Block) -> bool:
    return not LOOPS.isdisjoint(side.kinds)


def _is_guard(op: Op) -> bool:
    """True for an If of whose sides one has loops."""
    return op.kind == "If" and sum(map(_has_loops, op.blocks())) == 1


def _is_like(op: Op, guard: Op) -> bool:
    """True for a guard of the same loops' number of steps."""
    return _is_guard(op) and op.inputs[0] is guard.inputs[0]


@dataclass(frozen=True, slots=True)
class _Around:
    """The ops of a step by where they stand to a guard: before it, inside of it, and behind it."""

    before: list[Op]
    inside: list[Op]
    behind: list[Op]


def _joined(block: Block, guard: Op) -> Block:
    """The block with what goes into the guard inside; the same object where that is nothing, or too much."""
    place = block.ops.index(guard)
    parted = _with_readers_inside(block.ops[:place], guard, block.ops[place + 1 :])
    parted = _with_operands_inside(parted, guard, block.results)
    if parted.inside == [guard] or len(parted.inside) > MOST_INSIDE:
        return block
    wanted = {*block.results, *(v for op in parted.behind for v in reads(op))}
    outputs = tuple(v for op in parted.inside for v in op.outputs if v in wanted)
    sides = {name: _side(parted.inside, name, outputs) for name in ("then_branch", "else_branch")}
    steps = {length.symbol for side in sides.values() for length in _lengths(side) if length.symbol is not None}
    sides = {name: side if _has_loops(side) else _without_rows(side, steps) for name, side in sides.items()}
    joined = guard.beside("If", guard.inputs, outputs, sides)
    return Block(block.name, block.params, (*parted.before, joined, *parted.behind), block.results)


def _with_readers_inside(before: Sequence[Op], guard: Op, ops: Sequence[Op]) -> _Around:
    """What is made of what the guard gives is inside, up to what has blocks; what is not made of it stands before."""
    found = _Around(list(before), [guard], [])
    given, later = set(guard.outputs), set[Var]()
    for op in ops:
        read = reads(op)
        if not later.isdisjoint(read) or (op.blocks() and not given.isdisjoint(read) and not _is_like(op, guard)):
            found.behind.append(op)
            later.update(op.outputs)
        elif given.isdisjoint(read):
            found.before.append(op)
        else:
            found.inside.append(op)
            given.update(op.outputs)
    return found


def _with_operands_inside(around: _Around, guard: Op, results: Iterable[Value]) -> _Around:
    """With what only ops inside read inside as well."""
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
    """A branch: copies of the ops, and in place of the Ifs what they have in this branch."""
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


def _lengths(side: Block) -> Iterator[Size]:
    """The numbers of steps of a branch's Scans, where they are no literals."""
    for op in side.ops:
        if op.kind == "Scan":
            rows = op.inputs[-int(op.attributes["num_scan_inputs"])]
            shape = None if rows is None else rows.type.shape
            length = shape[op.attributes.get("scan_input_axes", [0])[0]] if shape else 0
            if isinstance(length, Size):
                yield length


def _without_rows(side: Block, steps: Iterable[str]) -> Block:
    """The branch of no steps without what computes on arrays of no rows, or sums them."""
    none: dict[str, Dim] = dict.fromkeys(steps, 0)
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
    """What the op gives where these symbols are 0, if that has no elements, or is a sum of none."""
    if len(op.outputs) != 1:
        return None
    shape = literal_shape(op.outputs[0].type.substitute(none))
    first = op.inputs[0] if op.inputs else None
    is_sum = op.kind == "ReduceSum" and isinstance(first, Const) and not first.numpy().size
    if shape is None or not (is_sum or (op.kind in ROW_BY_ROW and 0 in shape)):
        return None
    return Const(np.zeros(shape, op.outputs[0].type.dtype))
