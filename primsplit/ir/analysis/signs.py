"""Prove that values are never negative, from the ops that compute them."""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Const, Op, Value, Var

DEPTH = 12
"""The longest chain of ops that is followed."""

_ALWAYS = frozenset({"Abs", "Exp", "Relu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "ReduceL1", "ReduceL2"})
_AS_ALL_INPUTS = frozenset({"Add", "Div", "Max", "Mean", "Min", "Mul", "Sum"})
_AS_THE_FIRST = frozenset(
    {"Cast", "Expand", "Flatten", "Gather", "Identity", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Reshape",
     "Slice", "Squeeze", "Transpose", "Unsqueeze"}
)  # fmt: skip


def is_nonnegative(value: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """Whether every element of the value is proven to be at least 0 (-0.0 included) or NaN.

    `made_by` maps Vars to the ops that compute them; a Var that it lacks is unknown.
    """
    if isinstance(value, Const):
        return value.type.dtype.kind in "iuf" and not value.is_weight and bool(np.all(value.numpy() >= 0))
    op = made_by.get(value) if isinstance(value, Var) else None
    if op is None or depth == 0:
        return False
    if op.kind in _ALWAYS or _is_square(op):
        return True

    def of(inputs: tuple[Value | None, ...]) -> bool:
        return all(is_nonnegative(v, made_by, depth - 1) for v in inputs)

    return (op.kind in _AS_ALL_INPUTS and of(op.inputs)) or (op.kind in _AS_THE_FIRST and of(op.inputs[:1]))


def _is_square(op: Op) -> bool:
    if op.kind == "Mul":
        return op.inputs[0] is op.inputs[1]
    power = op.inputs[1] if op.kind == "Pow" else None
    return isinstance(power, Const) and not power.is_weight and bool(np.all(power.numpy() % 2 == 0))


_SMOOTH = frozenset({"Exp", "Sigmoid", "Softmax", "Softplus"})
_SUMS_OF_SQUARES = frozenset({"ReduceSumSquare", "call::square"})
_SMOOTH_OF_ALL = frozenset({"Add", "Div", "Mean", "Mul", "Sum"})
_BOUNDED_BELOW = frozenset({"Max", "Clip", "Relu"})
_WITH_EDGES = frozenset({"Acosh", "Log", "Sqrt", "call::cbrt", "call::log10", "call::log1p", "call::log2"})
"""Functions with a finite end of their domain, where their slope may be infinite."""


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
    if op.kind in _SMOOTH:
        return True
    if op.kind in _SUMS_OF_SQUARES or _is_square(op) or _is_inner_product(op):
        return not _has_edge(op.inputs[0], made_by, depth)
    if op.kind in _BOUNDED_BELOW:
        return op.kind == "Relu" or any(isinstance(v, Const) and is_nonnegative(v, made_by) for v in op.inputs[:2])
    taken = op.inputs if op.kind in _SMOOTH_OF_ALL else op.inputs[:1] if op.kind in _AS_THE_FIRST else ()
    return bool(taken) and all(is_smoothly_nonnegative(v, made_by, depth - 1) for v in taken)


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
