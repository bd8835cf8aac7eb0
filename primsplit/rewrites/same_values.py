"""Tell that two ops compute the same: an expression that a user wrote twice is two ops until they are merged."""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Const, Op, Value, Var, is_call, same_data
from primsplit.rewrites.cse import Key, attribute_key, is_deterministic

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
    if _attributes(one) != _attributes(other) or not is_repeatable(one):
        return False
    pairs = zip(one.inputs, other.inputs, strict=True)
    return all(same_value(a, b, made_by, depth - 1) for a, b in pairs)


def _attributes(op: Op) -> Key:
    """Return a key of what the values depend on: of a call the body, but not the rules, which are made for each."""
    return attribute_key({k: v for k, v in op.attributes.items() if not is_call(op) or k not in {"rule", "frule"}})


def is_repeatable(op: Op) -> bool:
    """Whether an operator, or all of a call's, always return the same for the same inputs."""
    if not is_call(op):
        return is_deterministic(op.kind)
    return all(is_repeatable(inner) for block in op.blocks() for inner in block.ops)


def opposite_value(a: Value | None, b: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether one value is computed as the negative of the other: -x and x, 2 x and -2 x, x - y and y - x."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _are_opposite(a, b)
    one, other = (made_by.get(v) if isinstance(v, Var) else None for v in (a, b))
    for op, value in ((one, b), (other, a)):
        if op is not None and op.kind == "Neg" and same_value(op.inputs[0], value, made_by):
            return True
    if one is None or other is None or one.kind != other.kind or depth <= 0:
        return False
    (x, y), (u, v) = ((*op.inputs, None, None)[:2] for op in (one, other))
    if one.kind == "Sub" and same_value(x, v, made_by) and same_value(y, u, made_by):
        return True

    def opposite(c: Value | None, d: Value | None) -> bool:
        return opposite_value(c, d, made_by, depth - 1)

    if one.kind in {"Add", "Sub"}:
        return opposite(x, u) and opposite(y, v)
    pairs = [(x, y, u, v), (y, x, v, u)] if one.kind in {"Mul", "Div"} else []
    pairs += [(x, y, v, u), (y, x, u, v)] if one.kind == "Mul" else []
    return any(opposite(c, e) and same_value(d, f, made_by) for c, d, e, f in pairs)


def _are_opposite(a: Const, b: Const) -> bool:
    if not a.is_small or not b.is_small or a.is_weight or b.is_weight:
        return False
    one, other = a.numpy(), b.numpy()
    return one.shape == other.shape and one.dtype.kind in "fi" and bool(np.all(one == -other))
