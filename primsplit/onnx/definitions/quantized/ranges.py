"""Differentiate the scale of DynamicQuantizeLinear, which varies with the extremes of the numbers, unless it cancels.

Integers are numbers divided by the scale, and in most networks the product of the integers is multiplied by it: the
scale cancels. The derivative is then that of the numbers, without the scale. Otherwise the scale has a derivative of
its own.
"""

from collections.abc import Iterable

import numpy as np

from primsplit.ir import Block, Op, Value, Var, is_call
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array

LEVELS = 255.0
INTEGERS, ZERO_POINT = "integers", "zero point"
"""In the place of powers: only their difference is numbers divided by the scale."""
PRODUCTS = frozenset({"ConvInteger", "MatMulInteger"})
Powers = dict[Var, int | str]


def smooth_scale(x: Array, scale: Value) -> Array:
    """Return (max(x, 0) - min(x, 0)) / 255.

    Equal extremes share the gradient evenly, an extreme of 0 has half of it. NaN where all numbers are 0: there the
    operator's scale jumps to 1.
    """
    zero = np.zeros((), x.dtype)
    high = op.Max(op.ReduceMax(x, keepdims=0), zero)
    low = op.Min(op.ReduceMin(x, keepdims=0), zero)
    factor = op.Where(op.Equal(high, low), x.dtype.type(np.nan), x.dtype.type(1.0 / LEVELS))
    found: Array = cast_to(op.Mul(op.Sub(high, low), factor), scale.type.dtype)
    return found


def cancels(origin: Op, block: Block) -> bool:
    """Whether no result of the block varies with the scale alone: what reads the integers is multiplied by it."""
    integers, scale, zero = origin.outputs
    powers: Powers = {integers: INTEGERS, scale: 1, zero: ZERO_POINT}
    return _walk(block.ops, powers) and not any(powers.get(r, 0) for r in block.results if isinstance(r, Var))


def _walk(ops: Iterable[Op], powers: Powers) -> bool:
    """Note each value's power of the scale; return False if one is not known."""
    for step in ops:
        if not any(isinstance(v, Var) and v in powers for v in step.inputs) and not step.blocks():
            continue
        found = _powers_of(step, powers)
        if found is None:
            return False
        powers.update({v: p for v, p in zip(step.outputs, found, strict=True) if p})
    return True


def _powers_of(step: Op, powers: Powers) -> list[int | str] | None:
    """Return the powers of an op's outputs; None if they are not known."""
    given = [powers.get(v, 0) if isinstance(v, Var) else 0 for v in step.inputs]
    if is_call(step):
        body = step.attributes["body"]
        inside = {p: n for p, n in zip(body.params, given, strict=True) if n}
        known = _walk(body.ops, inside)
        return [inside.get(r, 0) if isinstance(r, Var) else 0 for r in body.results] if known else None
    if any(isinstance(v, Var) and v in powers for inner in step.blocks() for v in _read_inside(inner)):
        return None
    if not any(given):
        return [0] * len(step.outputs)
    if step.kind == "Sub" and given == [INTEGERS, ZERO_POINT]:
        return [-1]
    given += [0] * (4 - len(given))
    if step.kind in PRODUCTS:
        return _product((given[0], given[2]), (given[1], given[3]))
    if step.kind in {"Mul", "DequantizeLinear"}:
        return _product((given[0], given[2]), (given[1], 0))
    return [given[0]] if traits(step.kind).terms == ((0,),) and not any(given[1:]) else None


def _product(*factors: tuple[int | str, int | str]) -> list[int | str] | None:
    """Return the power of a product of factors, each less its zero point; None if it is not known."""
    powers = [-1 if pair == (INTEGERS, ZERO_POINT) else pair[0] if pair[1] == 0 else None for pair in factors]
    known = [power for power in powers if isinstance(power, int)]
    return [sum(known)] if len(known) == len(factors) else None


def _read_inside(block: Block) -> Iterable[Value | None]:
    for step in block.ops:
        yield from step.inputs
        for inner in step.blocks():
            yield from _read_inside(inner)
    yield from block.results
