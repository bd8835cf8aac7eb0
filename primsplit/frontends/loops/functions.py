"""The table of scalar functions of nests: their names, numbers of arguments, and costs per element."""

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from primsplit.ir.analysis import costs


class Function(NamedTuple):
    """The number of a function's arguments, and the kind of ONNX operator that takes about as long."""

    arity: int
    kind: str


def _table(arity: int, rows: str) -> dict[str, Function]:
    return {name: Function(arity, kind) for name, kind in (row.split(":", 1) for row in rows.split())}


FUNCTIONS: Mapping[str, Function] = {
    **_table(1, "negative:Neg absolute:Abs square:Mul reciprocal:Reciprocal sqrt:Sqrt cbrt:Pow"),
    **_table(1, "relu:Relu expit:Sigmoid exp:Exp exp2:Exp exp10:Exp expm1:call::expm1"),
    **_table(1, "log:Log log2:Log log10:Log log1p:call::log1p"),
    **_table(1, "sin:Sin cos:Cos tan:Tan cot:Tan arcsin:Asin arccos:Acos arctan:Atan erf:Erf"),
    **_table(1, "sinh:Sinh cosh:Cosh tanh:Tanh arcsinh:Asinh arccosh:Acosh arctanh:Atanh"),
    **_table(1, "sign:Sign floor:Floor ceil:Ceil rint:Round logical_not:Not off_zero:Max"),
    **_table(2, "add:Add subtract:Sub multiply:Mul divide:Div power:Pow maximum:Max minimum:Min"),
    **_table(2, "mod:Mod floor_divide:Div arctan2:Atan hypot:Sqrt logaddexp:Exp"),
    **_table(2, "less:Less less_equal:LessOrEqual greater:Greater greater_equal:GreaterOrEqual"),
    **_table(2, "equal:Equal not_equal:Equal logical_and:And logical_or:Or"),
    **_table(3, "where:Where clip:Clip"),
}
"""Each function by the name that it has in NumPy or `scipy.special`; relu, cot and exp10 are in neither.

`relu(x)` is max(x, 0), `cot(x)` is 1 / tan(x), `exp10(x)` is 10 ** x, and
`off_zero(x)` is max(x, the smallest positive number), a divisor by which 0 / 0 is 0.
"""

TRUTHS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not"}
)
"""The functions whose value is true or false."""

ALIASES: Mapping[str, str] = {
    "abs": "absolute",
    "abs2": "square",
    "max": "maximum",
    "min": "minimum",
    "fmax": "maximum",
    "fmin": "minimum",
    "pow": "power",
    "clamp": "clip",
    "round": "rint",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "sigmoid": "expit",
    "true_divide": "divide",
    "remainder": "mod",
    "select": "where",
    "ifelse": "where",
    "float": "identity",
}
"""Other names that they go by, in Python, in NumPy and among loop vectorizers."""

COMBINATIONS: Mapping[str, int] = {"identity": 1, "muladd": 3, "fma": 3, "fms": 3, "fnma": 3, "fnms": 3}
"""Functions that become several operations, with their numbers of arguments.

`identity` is x, `muladd` and `fma` are a * b + c, `fms` is a * b - c, `fnma` is c - a * b, and `fnms` is -a * b - c.
"""

REDUCTIONS: Mapping[str, str] = {"+": "add", "*": "multiply", "max": "maximum", "min": "minimum"}
"""The functions that a nest can reduce with over a loop, by their spelling."""


def cost(function: str) -> float:
    """The cost of computing one element; infinite for functions that are not in the table."""
    known = FUNCTIONS.get(function)
    return costs.cost(known.kind) if known is not None else costs.cost(function)


def near(name: str, names: "Mapping[str, object] | set[str]") -> str:
    """A question after the name that looks like this one, or "" where none does."""
    found = difflib.get_close_matches(name, list(names), 1)
    return f"Did you mean {found[0]}?" if found else ""
