"""The elementwise ufuncs of NumPy, as operators and compositions of them."""

from typing import Any

from primsplit.array import Array
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op

_OPERATORS: dict[str, str] = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg",
    "absolute": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "tanh": "Tanh", "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip

for _name, _kind in _OPERATORS.items():
    ELEMENTWISE[_name] = getattr(op, _kind)


def _power(x: Array, y: Array) -> Any:
    return op.Pow(x, y)


ELEMENTWISE["power"] = _power
