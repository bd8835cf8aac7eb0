"""Prove that values are never negative, or signs of others, from the ops that compute them."""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Const, Op, Value, Var
from primsplit.ops.traits import kinds_where, moved, terms, terms_of, traits

DEPTH = 12
"""The longest chain of ops that is followed."""


def is_nonnegative(value: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether every element of the value is proven to be at least 0 (-0.0 included) or NaN.

    `made_by` maps Vars to the ops that compute them; a Var that it lacks is unknown.
    """
    if isinstance(value, Const):
        return value.type.dtype.kind in "iuf" and not value.is_weight and bool(np.all(value.numpy() >= 0))
    op = made_by.get(value) if isinstance(value, Var) else None
    if op is None or depth == 0:
        return False
    row = traits(op.kind)
    if row.sign or _is_square(op) or op.kind == "call::hypot":
        return True

    # Of no elements ReduceMax is -inf, which nothing reads as a size.
    return (row.keeps_sign or op.kind == "ReduceMax") and all(
        is_nonnegative(v, made_by, depth - 1) for v in _numbers(op)
    )


def _numbers(op: Op) -> list[Value | None]:
    """The inputs that are numbers, and tell no axes, places or choice."""
    count, row = len(op.inputs), traits(op.kind)
    if row.elementwise and not row.moves:
        return [v for i, v in enumerate(op.inputs) if i not in row.reads_type]
    factors = {i for term in terms(op.kind, count) for i in term}
    positions = set(moved(op.kind, count)) or factors or ({0} if row.reduces else set(range(count)))
    return [op.inputs[i] for i in sorted(positions) if i < count and op.inputs[i] is not None]


def _is_square(op: Op) -> bool:
    if op.kind == "Mul":
        return op.inputs[0] is op.inputs[1]
    power = op.inputs[1] if op.kind == "Pow" else None
    return isinstance(power, Const) and not power.is_weight and bool(np.all(power.numpy() % 2 == 0))


_SUMS_OF_SQUARES = frozenset({"ReduceSumSquare", "call::square"})
_WITH_EDGES = kinds_where(lambda t: t.partial) | {"call::cbrt", "call::log10", "call::log1p", "call::log2"}
"""Functions whose domain has a finite end, where their slope may be infinite."""


def is_smoothly_nonnegative(value: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether the value is proven to be at least 0, and a smooth function of its inputs where it is 0.

    Where such a number is 0 it has a minimum, and its slope is 0. A value that Max, Clip or Relu bounds below counts
    too: it has a kink there, and 0 is one of its slopes.
    """
    if isinstance(value, Const):
        return is_nonnegative(value, made_by)
    op = made_by.get(value) if isinstance(value, Var) else None
    if op is None or depth == 0:
        return False
    row = traits(op.kind)
    if row.sign == "positive":
        return True
    if op.kind in _SUMS_OF_SQUARES or _is_square(op) or _is_inner_product(op):
        return not _has_edge(op.inputs[0], made_by, depth)
    if op.kind in {"Max", "Clip", "Relu"}:
        return op.kind == "Relu" or any(isinstance(v, Const) and is_nonnegative(v, made_by) for v in op.inputs[:2])
    is_of_first = row.reduces or terms_of(op) == ((0,),)
    taken = op.inputs if row.broadcasts and row.terms and not row.moves else op.inputs[:1] if is_of_first else ()
    return (
        bool(taken)
        and (row.keeps_sign or op.kind == "ReduceMax")
        and all(is_smoothly_nonnegative(v, made_by, depth - 1) for v in taken)
    )


def _is_inner_product(op: Op) -> bool:
    """Whether the op is the product of a vector with itself."""
    one, *others = op.inputs
    return op.kind == "MatMul" and others[0] is one and one is not None and len(one.type.shape or (0, 0)) == 1


def _has_edge(value: Value | None, made_by: Mapping[Var, Op], depth: int) -> bool:
    """Whether one of the last ops that compute the value has a finite end of its domain."""
    op = made_by.get(value) if isinstance(value, Var) else None
    if op is None or depth == 0:
        return False
    fractional = op.kind == "Pow" and not _is_whole(op.inputs[1])
    return op.kind in _WITH_EDGES or fractional or any(_has_edge(v, made_by, depth - 1) for v in op.inputs)


def _is_whole(exponent: Value | None) -> bool:
    return isinstance(exponent, Const) and not exponent.is_weight and bool(np.all(exponent.numpy() % 1 == 0))


def sign_argument(op: Op, made_by: Mapping[Var, Op]) -> Value | None:
    """Return the value whose sign an op gives: x of Sign(x), or of Where(x < 0, -1, 1), as copysign has it."""
    if op.kind == "Sign":
        return op.inputs[0]
    if op.kind != "Where":
        return None
    asked = which_sign(op.inputs[0], made_by)
    if asked is None:
        return None
    x, is_positive = asked
    sides = (1.0, -1.0) if is_positive else (-1.0, 1.0)
    return x if all(map(_is_one_number, op.inputs[1:], sides)) else None


def which_sign(condition: Value | None, made_by: Mapping[Var, Op]) -> tuple[Value, bool] | None:
    """Return x and whether it is positive where the condition is true, of x > 0, 0 < x, x < 0 and the sign bit of x."""
    asked = _maker(condition, made_by)
    if asked is not None and asked.kind == "Or":
        return _of_sign_bit(asked, made_by)
    if asked is None or traits(asked.kind).compares != "order":
        return None
    x, zero = asked.inputs
    is_positive = asked.kind.startswith("Greater")
    if _is_one_number(x, 0.0):
        x, zero, is_positive = zero, x, not is_positive
    return (x, is_positive) if x is not None and _is_one_number(zero, 0.0) else None


def _of_sign_bit(either: Op, made_by: Mapping[Var, Op]) -> tuple[Value, bool] | None:
    """Match x < 0 or 1 / x < 0."""
    found, other = (which_sign(v, made_by) for v in either.inputs)
    if found is None or other is None or found[1] or other[1]:
        return None
    inverse = _maker(other[0], made_by)
    is_of_x = inverse is not None and inverse.kind == "Reciprocal" and inverse.inputs[0] is found[0]
    return found if is_of_x else None


def _maker(value: Value | None, made_by: Mapping[Var, Op]) -> Op | None:
    return made_by.get(value) if isinstance(value, Var) else None


def _is_one_number(value: Value | None, number: float) -> bool:
    is_known = isinstance(value, Const) and value.is_small and value.numpy().size > 0
    return isinstance(value, Const) and is_known and bool(np.all(value.numpy() == number))
