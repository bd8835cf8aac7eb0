"""Keep a cotangent of 0 at 0 in the sides of a Where that are not taken, whatever the side's own derivative is.

```
Where(x > 0, Log(x), x)   ->   Where(x > 0, call::primsplit::Quiet(x, operator=Log), x)
```

By the chain rule as PyTorch computes it, 0 times an infinite derivative is NaN: here at x = 0. In one's own function
one writes it otherwise (`ps.safe_where`); a loaded model cannot be rewritten. `with_quiet_sides` replaces the operators
before a Where whose derivatives are not finite everywhere by `Quiet`.
"""

import functools
from dataclasses import replace
from typing import Any

from primsplit import tracing
from primsplit.ir import Block, Op, Renaming, Type, Var, inline, is_call, rename, renamed, walk
from primsplit.ir.analysis.orders import OF_IMPUTER, role_of
from primsplit.ir.errors import RuleError
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.traits import traits
from primsplit.rules.table import RULES, with_defaults
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like, sum_to
from primsplit.tracing.trees import as_list

IMPUTER = "call::ai.onnx.ml::Imputer"


def with_quiet_sides(block: Block, *, everywhere: bool) -> Block:
    """Return the block with quiet operators before each Where, or only before Imputers.

    An Imputer replaces NaN by a number, and so says that NaN is not taken. Values stay. Branches and the bodies of
    loops are searched, and a choice may be on the other side of such a boundary.
    """
    if not everywhere and all(step.kind != IMPUTER for step in walk(block)):
        return block
    opened = _opened(block)
    chosen = _before_choices(opened, everywhere=everywhere)
    if not chosen:
        return block
    with tracing.fresh_stack():
        return _quieted(opened, chosen, {})


def _quieted(block: Block, chosen: set[Var], renaming: Renaming) -> Block:
    """Return the block with its chosen results computed by `Quiet`.

    `renaming` has their replacements, outside as well.
    """
    with tracing.recording() as recorded:
        for param in block.params:
            recorded.learn(param)
        for step in block.ops:
            recorded.place, recorded.remark = step.place, step.remark
            inputs = [renamed(v, renaming) for v in step.inputs]
            if step.outputs and step.outputs[0] in chosen:
                given = {"operator": step.kind, **step.attributes}
                renaming[step.outputs[0]] = record_call("primsplit::Quiet", inputs, given)[0]
                continue
            changed = {n: _quieted(b, chosen, renaming) for n, b in _bodies(step)}
            tracing.append(replace(step, inputs=tuple(inputs), attributes={**step.attributes, **changed}))
    return Block(block.name, block.params, tuple(recorded.ops), tuple(renamed(r, renaming) for r in block.results))


def _bodies(step: Op) -> list[tuple[str, Block]]:
    """Return the branches or the body of an op, by attribute; none of a call."""
    return [] if is_call(step) else [(n, b) for n, b in step.attributes.items() if isinstance(b, Block)]


def _opened(block: Block) -> Block:
    """Return the block with the ops of each Imputer in its place; the Imputer's result keeps its name."""
    ops: list[Op] = []
    for step in block.ops:
        if step.kind != IMPUTER:
            inside = {n: _opened(b) for n, b in _bodies(step)}
            ops.append(replace(step, attributes={**step.attributes, **inside}) if inside else step)
            continue
        inner: list[Op] = []
        (result,) = inline(step.attributes["body"], [v for v in step.inputs if v is not None], inner)
        names: Renaming = {v: v for each in inner for v in each.outputs}
        if isinstance(result, Var):
            names[result] = step.outputs[0]
        ops += [rename(each, names, place=step.place, remark=OF_IMPUTER) for each in inner]
    return Block(block.name, block.params, tuple(ops), block.results)


def _before_choices(block: Block, *, everywhere: bool) -> set[Var]:
    """Return the results of singular operators from which a side of a choice is computed, element by element."""
    leads: set[Any] = set()
    chosen: set[Var] = set()
    count = -1
    while count < len(leads):  # a loop's body leads to itself, one step earlier
        count = len(leads)
        _look_back(block, leads, chosen, everywhere=everywhere)
    return chosen


def _look_back(block: Block, leads: set[Any], chosen: set[Var], *, everywhere: bool) -> None:
    """Add to `leads` the Vars that lead to a choice, and to `chosen` those of them that are singular."""
    for step in reversed(block.ops):
        is_before = any(v in leads for v in step.outputs)
        if step.kind == "Where" and (everywhere or role_of(step.remark) == "of an Imputer" or is_before):
            leads.update(step.inputs[1:])
        elif is_before and (traits(step.kind).elementwise or traits(step.kind).moves):
            leads.update(step.inputs)
            if traits(step.kind).steep and step.outputs[0].type.is_float:
                chosen.add(step.outputs[0])
        for _, body in _bodies(step):
            links = _links(step, body)
            leads.update(inner for outer, inner in links if outer in leads)
            _look_back(body, leads, chosen, everywhere=everywhere)
            leads.update(v for carry, v in _starts(step, body) if carry in leads)


def _links(step: Op, body: Block) -> list[tuple[Any, Any]]:
    """Return pairs of an output of the op, or a carry inside its body, and the body's result for it."""
    results = body.results[1:] if step.kind == "Loop" else body.results
    count = len(body.params) - int(step.attributes.get("num_scan_inputs", 0))
    carries = [carry for carry, _ in _starts(step, body)][:count]
    return [*zip(step.outputs, results, strict=False), *zip(carries, results, strict=False)]


def _starts(step: Op, body: Block) -> list[tuple[Any, Any]]:
    """Return pairs of a Var that a loop's body reads, carries first, and its source."""
    first = 2 if step.kind == "Loop" else 0
    return [*zip(body.params[first:], step.inputs[first:], strict=False)]


def _quiet_rule(*inputs: Array, outputs: int, operator: str, **attributes: Any) -> tuple[Any, Any]:
    """Return the primal and a pullback that, for a cotangent of 0, evaluates the derivative where it is finite."""
    z = Array(record_call("primsplit::Quiet", [x.value for x in inputs], {"operator": operator, **attributes})[0])

    def pullback(dz: Array) -> list[Array | None]:
        is_still = op.Equal(dz, 0)
        moved = [op.Where(is_still, 2 if operator == "Acosh" else 0.5, x) if x.type.is_float else x for x in inputs]
        every = as_list(_pullback_of(operator, attributes, moved)(dz))
        return [None if g is None else sum_to(g, x.shape) for g, x in zip(every, inputs, strict=True)]

    return z, pullback


def _quiet_forward(*inputs: Array, outputs: int, operator: str, **attributes: Any) -> tuple[Any, Any]:
    """Forward mode chooses among tangents, and so needs no care: each tangent times its own derivative."""
    z = Array(record_call("primsplit::Quiet", [x.value for x in inputs], {"operator": operator, **attributes})[0])

    def pushforward(*tangents: Array | None) -> Array | None:
        wide = [op.Expand(x, op.Shape(z), types=[Type(x.dtype, z.shape)]) for x in inputs]
        slopes = as_list(_pullback_of(operator, attributes, wide)(ones_like(z)))
        terms = [op.Mul(s, t) for s, t in zip(slopes, tangents, strict=True) if s is not None and t is not None]
        return functools.reduce(op.Add, terms) if terms else None

    return z, pushforward


def _pullback_of(operator: str, attributes: dict[str, Any], inputs: list[Array]) -> Any:
    entry = RULES[operator]
    if entry.rule is None:
        raise RuleError(f"{operator} has no rule")
    return entry.rule(*inputs, **with_defaults(operator, attributes))[1]


@defines("primsplit::Quiet", rule=_quiet_rule, frule=_quiet_forward)
def _quiet(*inputs: Array, outputs: int = 1, operator: str, **attributes: Any) -> Any:
    """Return the result of the operator."""
    return getattr(op, operator)(*inputs, **attributes)
