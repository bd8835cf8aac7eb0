"""Find which values depend on given ones, or are needed for them, separately for each output of If, Loop and Scan."""

import itertools
import operator
from collections.abc import Iterable, Sequence

from primsplit.ir import Block, Op, Value, Var, is_call, reads
from primsplit.ir.analysis.carries import lead_and_carries, needed_back, settled

SHAPES = frozenset({"Shape", "Size"})


def dependent(ops: Iterable[Op], sources: Iterable[Var], *, shapes: bool = False) -> set[Var]:
    """Return the Vars whose elements depend on those of the sources.

    With `shapes`, also those that depend on their shapes.
    """
    depends = set(sources)
    for op in ops:
        if not shapes and op.kind in SHAPES:
            continue
        if any(v in depends for v in reads(op)):
            depends.update(_outputs(op, depends, shapes))
    return depends


def needed(ops: Sequence[Op], wanted: Iterable[Value]) -> set[Var]:
    """Return the wanted Vars and all that they are computed from, inside of Ifs, Loops and Scans too.

    Of a Loop or Scan only the carries that the wanted outputs need are included, and a Loop's condition.
    """
    found = _vars(wanted)
    for op in reversed(ops):
        if not found.isdisjoint(op.outputs):
            found |= _needed_by(op, [v in found for v in op.outputs])
    return found


def _needed_by(op: Op, wanted: Sequence[bool]) -> set[Var]:
    """Return what the wanted outputs of an op need: of the values that it reads, and of those inside of it."""
    if op.kind in {"Loop", "Scan"}:
        return _needed_turns(op, wanted)
    if op.kind != "If":
        return set(reads(op))
    sides = [needed(side.ops, itertools.compress(side.results, wanted)) for side in op.blocks()]
    return _vars(op.inputs).union(*sides)


def _needed_turns(op: Op, wanted: Sequence[bool]) -> set[Var]:
    """Return what the wanted outputs of a loop need. Its condition is always needed."""
    lead, _ = lead_and_carries(op)
    inside, begun = needed_back(
        op, wanted, lambda body, results: needed(body.ops, [*body.results[: lead // 2], *results])
    )
    return inside | _vars(op.inputs[:lead]) | _vars(begun)


def _vars(values: Iterable[Value | None]) -> set[Var]:
    return {v for v in values if isinstance(v, Var)}


def _outputs(op: Op, depends: set[Var], shapes: bool) -> list[Var]:
    """Return the outputs that depend on the set `depends`.

    All of them if the inner structure of the op is not known.
    """
    if is_call(op):
        body: Block = op.attributes["body"]
        results_depend = _inside(body, [v in depends for v in op.inputs if v is not None], set(), shapes)
        return [v for v, d in zip(op.outputs, results_depend, strict=True) if d]
    if op.kind == "If" and op.inputs[0] not in depends:
        sides = [_inside(block, [], depends, shapes) for block in op.blocks()]
        return [v for i, v in enumerate(op.outputs) if any(results[i] for results in sides)]
    if op.kind == "Scan" or (op.kind == "Loop" and not any(v in depends for v in op.inputs[:2])):
        return _turns(op, depends, shapes)
    return list(op.outputs)


def _turns(op: Op, depends: set[Var], shapes: bool) -> list[Var]:
    """Return the outputs of a loop that depend on the set; all of them if the condition that ends the loop does."""
    (body,) = op.blocks()
    given = [v in depends for v in op.inputs]
    ends, outputs_depend = settled(
        op, given, False, lambda params: _inside(body, params, depends, shapes), operator.or_
    )
    return [v for v, d in zip(op.outputs, outputs_depend, strict=True) if d or any(ends)]


def _inside(block: Block, params: Sequence[bool], depends: set[Var], shapes: bool) -> list[bool]:
    """Return which results of a sub-block depend, if these parameters and these outer Vars do."""
    sources = depends | {v for v, d in zip(block.params, params, strict=True) if d}
    here = dependent(block.ops, sources, shapes=shapes)
    return [_is_in(r, here) for r in block.results]


def _is_in(value: Value, found: set[Var]) -> bool:
    return isinstance(value, Var) and value in found
