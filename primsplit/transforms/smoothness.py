"""Find inputs that act on the results, but never smoothly: only through a comparison, a rounding or a choice.

The derivative by such an input is 0 wherever there is one. Ifs, Loops, Scans and calls are searched too.

>>> import numpy as np, primsplit as ps
>>> block = ps.trace(lambda x, a: np.where(x < a, x, 0.0), 1.0, 2.0).block
>>> [cut.kind for cuts in cut_inputs(block, [0, 1], [0]).values() for cut in cuts]
['Less']
"""

import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, is_call, reads, walk
from primsplit.ir.analysis.carries import lead_and_carries, needed_back, settled
from primsplit.ir.analysis.dependence import SHAPES, needed
from primsplit.ir.analysis.orders import order_of
from primsplit.ir.dims import symbols
from primsplit.ops.traits import traits
from primsplit.rules.activity import stops


def cut_inputs(block: Block, wrt: Sequence[int], of: Sequence[int]) -> dict[int, list[Op]]:
    """Return the parameters, by position, that act on the results only through ops without a slope, and these ops.

    Parameters that act on no result are left out, and those with a `stop_gradient` on the way. In a block that holds a
    derivative, those with which the function itself varies smoothly are left out: the derivative of a mask is 0.
    """
    given = frozenset().union(*(symbols(d) for p in block.params for d in p.type.shape or ()))
    ops = [op for op in block.ops if op.kind not in SHAPES or _reads_a_count(op, given)]
    results = [block.results[i] for i in of]
    smooth = smoothly_needed(ops, results)
    suspects = [i for i in wrt if block.params[i].type.is_float and block.params[i] not in smooth]
    if not suspects:
        return {}
    acting = needed(ops, results)
    own = [op for op in ops if not order_of(op.remark)]
    cut = {}
    for position in suspects:
        param = block.params[position]
        if param not in acting or (len(own) < len(ops) and _is_smooth_in(own, param)):
            continue
        ends = cuts(ops, [param], acting)
        if ends and not any(map(_is_stopping, ends)):
            cut[position] = ends
    return cut


def _is_smooth_in(ops: Sequence[Op], param: Var) -> bool:
    """Whether a final value of the function's ops varies smoothly with the parameter."""
    read = {v for op in ops for v in reads(op)}
    return any(v is not param and v not in read for v in _varying(ops, {param}))


def _reads_a_count(op: Op, given: frozenset[str]) -> bool:
    """Whether the op reads the size of places that the data chose, which no parameter has: that of NonZero's result."""
    read = op.inputs[0]
    return isinstance(read, Var) and not read.type.is_float and any(symbols(d) - given for d in read.type.shape or ())


def _is_stopping(op: Op) -> bool:
    return bool(op.attributes.get("stops", False))


def _is_opaque(op: Op) -> bool:
    """Whether the op varies smoothly with all that it reads: an operator, or a call with a rule of the user's."""
    return has_own_rule(op) if is_call(op) else not traits(op.kind).bodies


def has_own_rule(call: Op) -> bool:
    """Whether a call has a rule that its body does not tell: one of the user's."""
    rule = call.attributes.get("rule")
    return rule is not None and not isinstance(getattr(rule, "body", None), Block)


# Back from the results.


def smoothly_needed(ops: Sequence[Op], wanted: Iterable[Value]) -> set[Var]:
    """The wanted float Vars, and those that they vary smoothly with, inside of Ifs, Loops, Scans and calls too."""
    found = _floats(wanted)
    for op in reversed(ops):
        if op.kind not in SHAPES and not found.isdisjoint(op.outputs) and not stops(op):
            found |= _smoothly_needed_by(op, [v in found for v in op.outputs])
    return found


def _smoothly_needed_by(op: Op, wanted: Sequence[bool]) -> set[Var]:
    if _is_opaque(op):
        return _floats(reads(op))
    if op.kind in {"Loop", "Scan"}:
        inside, begun = needed_back(op, wanted, lambda body, results: smoothly_needed(body.ops, results))
        return inside | _floats(begun)
    sides = [smoothly_needed(side.ops, itertools.compress(side.results, wanted)) for side in op.blocks()]
    found = set().union(*sides)
    if is_call(op):
        body: Block = op.attributes["body"]
        given = [v for v in op.inputs if v is not None]
        return _floats(v for v, p in zip(given, body.params, strict=True) if p in found)
    return found


def _floats(values: Iterable[Value | None]) -> set[Var]:
    return {v for v in values if isinstance(v, Var) and v.type.is_float}


# On from the parameter.


def cuts(ops: Sequence[Op], sources: Iterable[Var], acting: set[Var]) -> list[Op]:
    """The ops among those `acting` that read what varies smoothly with the sources, and whose outputs do not vary."""
    varying = _varying(ops, set(sources))
    cut_ops: list[Op] = []
    for op in ops:
        if op.kind in SHAPES or varying.isdisjoint(reads(op)) or acting.isdisjoint(op.outputs):
            continue
        inside = [] if _is_opaque(op) or stops(op) else _cuts_inside(op, varying)
        if inside:
            cut_ops += inside
        elif varying.isdisjoint(op.outputs):
            cut_ops.append(op)
    return cut_ops


def _cuts_inside(op: Op, varying: set[Var]) -> list[Op]:
    found = []
    for block in op.blocks():
        sources = varying | _varying_params(op, block, varying)
        found += cuts(block.ops, sources, {v for inner in walk(block) for v in inner.outputs})
    # What a call recorded on its own line has no place.
    return [c if c.place is not None and c.place.filename else replace(c, place=op.place) for c in found]


def _varying_params(op: Op, block: Block, varying: set[Var]) -> set[Var]:
    """Return the parameters of a body that vary."""
    if op.kind in {"Loop", "Scan"}:
        lead, carries = lead_and_carries(op)
        given = [isinstance(v, Var) and v in varying for v in op.inputs]
        _, turned = settled(op, given, False, lambda params: _varying_results(block, params, varying), operator.or_)
        flags = [*[False] * lead, *turned[:carries], *given[lead + carries :]]
    elif is_call(op):
        flags = [v in varying for v in op.inputs if v is not None]
    else:
        return set()
    return {p for p, is_varying in zip(block.params, flags, strict=True) if is_varying}


def _varying(ops: Iterable[Op], sources: set[Var]) -> set[Var]:
    """Return the float Vars that vary smoothly with the sources."""
    varying = set(sources)
    for op in ops:
        if op.kind not in SHAPES and not stops(op) and not varying.isdisjoint(reads(op)):
            varying |= _floats(_varying_outputs(op, varying))
    return varying


def _varying_outputs(op: Op, varying: set[Var]) -> Iterable[Var]:
    if _is_opaque(op):
        return op.outputs
    given = [isinstance(v, Var) and v in varying for v in op.inputs]
    if op.kind in {"Loop", "Scan"}:
        (body,) = op.blocks()
        _, flags = settled(op, given, False, lambda params: _varying_results(body, params, varying), operator.or_)
    else:
        sides = [_varying_results(b, given if is_call(op) else [], varying) for b in op.blocks()]
        flags = [any(side) for side in zip(*sides, strict=True)]
    return itertools.compress(op.outputs, flags)


def _varying_results(block: Block, params: Sequence[bool], varying: set[Var]) -> list[bool]:
    sources = varying | {p for p, is_varying in zip(block.params, params, strict=False) if is_varying}
    here = _varying(block.ops, sources)
    return [isinstance(r, Var) and r in here and r.type.is_float for r in block.results]
