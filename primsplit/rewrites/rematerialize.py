"""Delay the recomputation of values in a pullback until the cotangents that they meet exist.

```
k = later(x, g);  h = Exp(k)      # the result of `later` is x, but does not exist before the cotangent g does
```

Only then does it save memory. In one file with the forward pass neither `merge_common` nor onnxruntime, which has the
same pass, would compute a value twice, and onnxruntime would run the recomputation whenever its order of the nodes has
it. So recomputed ops read their operands through `later`, a call whose results are its operands, and which also reads a
cotangent. It is written as a Reshape to the operand's own shape, concatenated with an empty vector sliced from the
cotangent: no element is touched, and onnxruntime cannot tell that the result is the operand before the cotangent
exists.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Value, Var, free, reads
from primsplit.ir.analysis.dependence import dependent
from primsplit.ir.analysis.orders import AGAIN
from primsplit.ir.surgery import rebind
from primsplit.ops import op as operators
from primsplit.rewrites.rewriting import Rewriter, literal_shape, recorded_beside
from primsplit.tracing.array import Array

LATER = "call::later"


def computed_late(again: Sequence[Op], ops: Sequence[Op], results: Sequence[Value], seeds: Sequence[Var]) -> list[Op]:
    """Return the ops of a pullback with those of `again` among them, each where something first needs its result.

    There it waits for the cotangents that its results meet, or else for `seeds`, the pullback's cotangent parameters.
    """
    made_by = {v: op for op in again for v in op.outputs}
    left = {id(op): position for position, op in enumerate(again)}
    moving = dependent(ops, seeds)
    there = set(seeds)
    found: list[Op] = []
    for position, op in enumerate(ops):
        group = _needed(reads(op), made_by, left)
        if group:
            found += _behind(group, made_by, _met(group, ops[position:], there) or seeds)
        found.append(op)
        there.update(moving.intersection(op.outputs))
    last = _needed([r for r in results if isinstance(r, Var)], made_by, left)
    return found + _behind(last, made_by, seeds)


def _needed(values: Sequence[Var], made_by: Mapping[Var, Op], left: dict[int, int]) -> list[Op]:
    """Return the ops that compute these values, in order.

    It removes them from those `left`, which are by id and place.
    """
    chosen: dict[int, Op] = {}
    open_values = [*values]
    while open_values:
        op = made_by.get(open_values.pop())
        if op is not None and id(op) in left:
            chosen[left.pop(id(op))] = op
            open_values += reads(op)
    return [chosen[place] for place in sorted(chosen)]


def _met(group: Sequence[Op], ops: Sequence[Op], there: Collection[Var]) -> list[Var]:
    """Return the cotangents, of those that exist, with which an op first reads a value that depends on the group."""
    made = {v for op in group for v in op.outputs}
    for op in ops:
        if made.isdisjoint(reads(op)):
            continue
        met = [v for v in reads(op) if v in there]
        if met:
            return met
        made.update(op.outputs)
    return []


def _behind(group: Sequence[Op], made_by: Mapping[Var, Op], after: Sequence[Var]) -> list[Op]:
    """Return the ops, whose operands from elsewhere wait for these values."""
    block = Block("", (), tuple(group), ())
    operands = [v for v in free(block) if v not in made_by]
    if not operands or not after:
        return list(group)
    wait = replace(later(operands, after), place=group[0].place, remark=AGAIN)
    return [wait, *rebind(block, dict(zip(operands, wait.outputs, strict=True))).ops]


def later(values: Sequence[Value], after: Sequence[Value]) -> Op:
    """Return the op whose results are these values, once those of `after` exist."""
    params = [Var(v.type, "", v.sizes) for v in (*values, *after)]
    body = Block("later", tuple(params), (), tuple(params[: len(values)]))
    outputs = tuple(Var(v.type, "", v.sizes) for v in values)
    return Op(LATER, (*values, *after), outputs, {"body": body, "waits": len(after)})


def write_later(block: Block) -> Block:
    """Return the block with operators of the standard in place of `later`."""
    return _Writing().run(block)


class _Writing(Rewriter):
    kinds = frozenset({LATER})

    def visit(self, op: Op) -> Op | None:
        if op.kind != LATER:
            return op
        given = [v for v in op.inputs if v is not None]
        count = len(given) - int(op.attributes["waits"])
        with recorded_beside(op) as recorded:
            if any(map(_can_wait, given[:count])):
                empty = [_empty(Array(v)) for v in given[count:] if _can_wait(v)]
                given[:count] = [_put_off(v, empty) if _can_wait(v) and empty else v for v in given[:count]]
            found = tracing.inline(op.attributes["body"], given)
        self.kept.extend(recorded.ops)
        self.replaced.update(zip(op.outputs, found, strict=True))
        return None


def _can_wait(value: Value) -> bool:
    """Whether the value is computed, and has a known number of axes."""
    return isinstance(value, Var) and value.type.shape is not None


def _empty(x: Array) -> Array:
    """Return an empty vector of integers that exists when x does."""
    whole = operators.Reshape(x, [1]) if x.type.rank == 0 else x
    none = operators.Slice(whole, [0], [0], [0])
    return operators.Cast(operators.Reshape(none, [0], allowzero=1), to=np.dtype(np.int64))


def _put_off(value: Value, empty: Sequence[Array]) -> Value:
    """Return the value, once the empty vectors exist."""
    literal = literal_shape(value.type)
    shape = operators.Shape(Array(value)) if literal is None else np.array(literal, np.int64)
    asked = operators.Concat(shape, *empty, axis=0)
    found: Array = operators.Reshape(Array(value), asked, allowzero=1, types=[value.type])
    return found.value
