"""Which values are never below zero, as far as the ops that make them tell."""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Const, Op, Value, Var

DEPTH = 12
"""How many ops are looked at, one behind the other."""

_ALWAYS = frozenset({"Abs", "Exp", "Relu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "ReduceL1", "ReduceL2"})
_AS_ALL_INPUTS = frozenset({"Add", "Div", "Max", "Mean", "Min", "Mul", "Sum"})
_AS_THE_FIRST = frozenset(
    {"Cast", "Expand", "Flatten", "Gather", "Identity", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Reshape",
     "Slice", "Squeeze", "Transpose", "Unsqueeze"}
)  # fmt: skip


def is_nonnegative(value: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> bool:
    """True where each number of the value surely is at least 0 (of either sign), or NaN.

    `made_by` are the ops that make the Vars that are known.
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
