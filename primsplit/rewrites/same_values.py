"""Tell that two ops compute the same: an expression that a user wrote twice is two ops until they are merged."""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Const, Op, Value, Var, is_call, same_data
from primsplit.rewrites.cse import attribute_key, is_deterministic

DEPTH = 4
"""The longest chain of ops that is compared."""


def same_value(a: Value | None, b: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether two values are one, or small constants of the same data, or computed by the same ops.

    `made_by` maps Vars to the ops that compute them.
    """
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return a.is_small and b.is_small and same_data(a, b)
    one, other = (made_by.get(v) if isinstance(v, Var) else None for v in (a, b))
    return one is not None and other is not None and same_computation(one, other, made_by, depth)


def same_computation(one: Op, other: Op, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether two ops with one result compute the same; never two draws."""
    if one.kind != other.kind or len(one.outputs) != 1 or len(one.inputs) != len(other.inputs) or depth <= 0:
        return False
    if attribute_key(one.attributes) != attribute_key(other.attributes) or not _is_repeatable(one):
        return False
    pairs = zip(one.inputs, other.inputs, strict=True)
    return all(same_value(a, b, made_by, depth - 1) for a, b in pairs)


def _is_repeatable(op: Op) -> bool:
    if not is_call(op):
        return is_deterministic(op.kind)
    return all(_is_repeatable(inner) for block in op.blocks() for inner in block.ops)


def opposite_value(a: Value | None, b: Value | None, made_by: Mapping[Var, Op]) -> bool:
    """Whether one value is computed as the negative of the other: -x and x, 2 x and -2 x, x / 2 and x / -2."""
    one, other = (made_by.get(v) if isinstance(v, Var) else None for v in (a, b))
    for op, value in ((one, b), (other, a)):
        if op is not None and op.kind == "Neg" and same_value(op.inputs[0], value, made_by):
            return True
    if one is None or other is None or one.kind != other.kind or one.kind not in {"Mul", "Div"}:
        return False
    pairs = [(x, c, y, d) for x, c in _with_factors(one) for y, d in _with_factors(other)]
    return any(_are_opposite(c, d) and same_value(x, y, made_by) for x, c, y, d in pairs)


def _with_factors(op: Op) -> list[tuple[Value | None, Value | None]]:
    first, second = op.inputs
    return [(first, second), (second, first)] if op.kind == "Mul" else [(first, second)]


def _are_opposite(a: Value | None, b: Value | None) -> bool:
    if not isinstance(a, Const) or not isinstance(b, Const) or not a.is_small or not b.is_small:
        return False
    one, other = a.numpy(), b.numpy()
    return one.shape == other.shape and not a.is_weight and not b.is_weight and bool(np.all(one == -other))
