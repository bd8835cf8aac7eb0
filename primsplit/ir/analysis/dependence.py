"""Which values depend on others, and which are needed for others: each output of an If, Loop or Scan by itself."""

import itertools
import operator
from collections.abc import Iterable, Sequence

from primsplit.ir import Block, Op, Value, Var, is_call, reads
from primsplit.ir.analysis.carries import lead_and_carries, settled

SHAPES = frozenset({"Shape", "Size"})
ELEMENTWISE = frozenset({
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Cast", "CastLike", "Ceil", "Celu", "Clip",
    "Cos", "Cosh", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish",
    "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Where",
    "Xor",
})  # fmt: skip
"""Operators whose every element depends on the elements at its place alone."""


def dependent(ops: Iterable[Op], sources: Iterable[Var], *, shapes: bool = False) -> set[Var]:
    """The Vars whose elements depend on those of the sources; with `shapes`, also on their shapes alone."""
    depends = set(sources)
    for op in ops:
        if not shapes and op.kind in SHAPES:
            continue
        if any(v in depends for v in reads(op)):
            depends.update(_outputs(op, depends, shapes))
    return depends


def needed(ops: Sequence[Op], wanted: Iterable[Value]) -> set[Var]:
    """The wanted Vars, and those that they are made of, inside of Ifs, Loops and Scans too.

    Of what takes several through its steps, only what the wanted ones need is among them, and what ends a Loop.
    """
    found = _vars(wanted)
    for op in reversed(ops):
        if not found.isdisjoint(op.outputs):
            found |= _needed_by(op, [v in found for v in op.outputs])
    return found


def _needed_by(op: Op, wanted: Sequence[bool]) -> set[Var]:
    """What the wanted outputs of an op need of what it reads, and all that they need inside of it."""
    if op.kind in {"Loop", "Scan"}:
        return _needed_turns(op, wanted)
    if op.kind != "If":
        return set(reads(op))
    sides = [needed(side.ops, itertools.compress(side.results, wanted)) for side in op.blocks()]
    return _vars(op.inputs).union(*sides)


def _needed_turns(op: Op, wanted: Sequence[bool]) -> set[Var]:
    """The same of a loop: carries until one more turn needs no further one, then what these begin with and walk."""
    (body,) = op.blocks()
    lead, carries = lead_and_carries(op)
    own = body.params[lead:]
    while True:
        inside = needed(body.ops, [*body.results[: lead // 2], *itertools.compress(body.results[lead // 2 :], wanted)])
        turned = [w or (i < carries and own[i] in inside) for i, w in enumerate(wanted)]
        if turned == wanted:
            break
        wanted = turned
    begun = [own[i] in inside or (i < carries and wanted[i]) for i in range(len(own))]
    return inside | _vars(op.inputs[:lead]) | _vars(itertools.compress(op.inputs[lead:], begun))


def _vars(values: Iterable[Value | None]) -> set[Var]:
    return {v for v in values if isinstance(v, Var)}


def _outputs(op: Op, depends: set[Var], shapes: bool) -> list[Var]:
    """The outputs of an op that depend on what it reads; all where its form is not known."""
    if is_call(op):
        body: Block = op.attributes["body"]
        found = _inside(body, [v in depends for v in op.inputs if v is not None], set(), shapes)
        return [v for v, d in zip(op.outputs, found, strict=True) if d]
    if op.kind == "If" and op.inputs[0] not in depends:
        sides = [_inside(block, [], depends, shapes) for block in op.blocks()]
        return [v for i, v in enumerate(op.outputs) if any(results[i] for results in sides)]
    if op.kind == "Scan" or (op.kind == "Loop" and not any(v in depends for v in op.inputs[:2])):
        return _turns(op, depends, shapes)
    return list(op.outputs)


def _turns(op: Op, depends: set[Var], shapes: bool) -> list[Var]:
    """The outputs of a loop that depend; all where it ends by what does."""
    (body,) = op.blocks()
    given = [v in depends for v in op.inputs]
    ends, found = settled(op, given, False, lambda params: _inside(body, params, depends, shapes), operator.or_)
    return [v for v, d in zip(op.outputs, found, strict=True) if d or any(ends)]


def _inside(block: Block, params: Sequence[bool], depends: set[Var], shapes: bool) -> list[bool]:
    """Which results of a sub-block depend, where these parameters do and these Vars outside."""
    sources = depends | {v for v, d in zip(block.params, params, strict=True) if d}
    here = dependent(block.ops, sources, shapes=shapes)
    return [_is_in(r, here) for r in block.results]


def _is_in(value: Value, found: set[Var]) -> bool:
    return isinstance(value, Var) and value in found
