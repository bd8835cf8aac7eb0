"""Replace written-out softmax and GELU by one operator each, before differentiation.

A pullback of the pieces keeps the values between them: the scores, their exponentials and the quotients; an operator's
own pullback keeps one array. The operators compute the same up to a few roundings, and the same where numbers are
infinite or NaN. A written-out layer norm stays: onnxruntime's operator computes the variance as a difference of two
large numbers.

```
e = Exp(Sub(x, ReduceMax(x, [-1])))
y = Div(e, ReduceSum(e, [-1]))            ->     y = Softmax(x, axis=1)     # x: float32[3,4]
```
"""

import math
from collections.abc import Iterator
from itertools import chain, permutations

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.rewrites.dead_code import drop_dead_code
from primsplit.rewrites.uses import Ops, is_number

HALF_ROOT = math.sqrt(0.5)


def recognize(block: Block) -> Block:
    """Return the block with operators in the place of ops that write them out; itself if there are none.

    An idiom of which anything else reads an inner value stays.
    """
    seen = Ops(block)
    ops = [_softmax(op, seen) or _gelu(op, seen) or op for op in block.ops]
    if all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return drop_dead_code(Block(block.name, block.params, tuple(ops), block.results))


def _softmax(op: Op, seen: Ops) -> Op | None:
    """Match exp(x - max x) / sum(exp(x - max x)) along one axis."""
    if op.kind != "Div":
        return None
    numerator, total = op.inputs
    exp, sum_ = seen.op(numerator, "Exp", 2), seen.op(total, "ReduceSum")
    shifted = exp and seen.op(exp.inputs[0], "Sub")
    if exp is None or sum_ is None or not shifted or sum_.inputs[0] is not numerator:
        return None
    x, greatest = shifted.inputs
    if x is None or not _is_greatest(greatest, x, sum_, seen):
        return None
    axis = axis_of(sum_)
    return None if axis is None else Op("Softmax", (x,), op.outputs, {"axis": axis}, op.place)


def _is_greatest(value: Value | None, x: Value, sum_: Op, seen: Ops) -> bool:
    """Whether the value is the maximum of x along the axis of `sum_`.

    It may be NaN if x has a NaN, as in np.max, or not.
    """
    chosen = seen.op(value, "Where")
    if chosen is not None:
        is_nan, nan, value = chosen.inputs
        asked = seen.op(is_nan, "IsNaN")
        clipped = asked and seen.op(asked.inputs[0], "ReduceSum")
        source = clipped and axis_of(clipped) == axis_of(sum_) and seen.op(clipped.inputs[0], "Clip")
        if not source or source.inputs[0] is not x or not _is_nan(nan, seen):
            return False
    found = seen.op(value, "ReduceMax")
    return found is not None and found.inputs[0] is x and axis_of(found) == axis_of(sum_)


def _is_nan(value: Value | None, seen: Ops) -> bool:
    """Whether the value is NaN, also a NaN that a run of no elements lacks (`numpy.reductions.unless`)."""
    gathered = seen.op(value, "Gather")
    if gathered is None:
        return is_number(value, math.nan)
    source = gathered.inputs[0]
    found = source.number if isinstance(source, Const) and source.type.is_float else None
    return found is not None and bool(np.isnan(found))


def axis_of(reduction: Op) -> int | None:
    """Return the one axis of a reduction that keeps it, counted from the front."""
    axes = axes_of(reduction)
    return axes[0] if len(axes) == 1 else None


def axes_of(reduction: Op) -> tuple[int, ...]:
    """Return the axes of a reduction that keeps them, counted from the front, in order; none if they are unknown."""
    axes = reduction.inputs[1] if len(reduction.inputs) > 1 else None
    source = reduction.inputs[0]
    rank = None if source is None else source.type.rank
    if not isinstance(axes, Const) or not rank or not reduction.attributes.get("keepdims", 1):
        return ()
    return tuple(sorted({int(axis) % rank for axis in axes.numpy().ravel()}))


def _gelu(op: Op, seen: Ops) -> Op | None:
    """Match x/2 (1 + erf(x / sqrt 2)), its three factors in any order.

    In float32, for which onnxruntime has a kernel.
    """
    if op.kind != "Mul" or op.outputs[0].type.key[0] != "float32":
        return None
    for half, x, rest in chain.from_iterable(map(permutations, _triples(op, seen))):
        if is_number(half, 0.5) and isinstance(x, Var) and _is_one_plus_erf(rest, x, seen):
            return Op("Gelu", (x,), op.outputs, {"approximate": "none"}, op.place)
    return None


def _triples(op: Op, seen: Ops) -> Iterator[tuple[Value | None, Value | None, Value | None]]:
    """Yield the op's product as three factors."""
    for one, other in (op.inputs, op.inputs[::-1]):
        inner = seen.op(one, "Mul")
        if inner is not None:
            yield (*inner.inputs, other)  # type: ignore[misc]  # a product has two factors


def _is_one_plus_erf(value: Value | None, x: Var, seen: Ops) -> bool:
    added = seen.op(value, "Add")
    if added is None:
        return False
    for one, other in (added.inputs, added.inputs[::-1]):
        erf = seen.op(other, "Erf")
        if erf is not None and is_number(one, 1.0):
            return _is_scaled(erf.inputs[0], x, seen)
    return False


def _is_scaled(value: Value | None, x: Var, seen: Ops) -> bool:
    """Whether the value is x sqrt(1/2) or x / sqrt 2, as exact as in float32."""
    product, quotient = seen.op(value, "Mul"), seen.op(value, "Div")
    if product is not None:
        return any(a is x and is_number(b, HALF_ROOT) for a, b in (product.inputs, product.inputs[::-1]))
    return quotient is not None and quotient.inputs[0] is x and is_number(quotient.inputs[1], 1.0 / HALF_ROOT)
