"""Describe an expression by a name: its operator and its operand.

```
exp(shifted) -> exp_shifted      x.reshape(2, 3) -> x_reshaped      hidden**2 -> hidden_squared
```
"""

import ast
from collections.abc import Mapping

LONGEST_NAME = 24
"""The most characters of a name that is put together."""
SHORT_NAME = 18
"""The most characters of a name that tells a part of what is done."""
ENDINGS = {
    "take": "taken",
    "take_along_axis": "picked",
    "scatter_nd": "scattered",
    "scatter_elements": "scattered",
    "scatter_add": "scattered",
    "concatenate": "joined",
    "transpose": "transposed",
    "reshape": "reshaped",
    "where": "chosen",
    "astype": "converted",
    "maximum": "clipped",
    "minimum": "clipped",
    "clip": "clipped",
    "full": "filled",
    "broadcast_to": "repeated",
}
"""The end of the name of a result, by the function that is applied to a value."""
WORDS: Mapping[type[ast.AST], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.MatMult: "by",
    ast.Mod: "modulo",
    ast.FloorDiv: "over",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
WITH_NUMBERS: Mapping[type[ast.AST], str] = {
    ast.Mult: "scaled",
    ast.Div: "scaled",
    ast.Add: "shifted",
    ast.Sub: "shifted",
    ast.BitAnd: "masked",
    ast.BitOr: "masked",
}
"""The end of the name of a result, by the operator that joins a value and a number."""
SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Gt: "is_positive",
    ast.Lt: "is_negative",
    ast.Eq: "is_0",
    ast.NotEq: "is_not_0",
}
"""The end of the name of a comparison with 0."""
COMPARED: Mapping[type[ast.cmpop], str] = {ast.Eq: "is", ast.NotEq: "is_not", ast.Gt: "above", ast.Lt: "below"}
"""The middle of the name of a comparison of two values."""
HEADS = frozenset({"(1, 0, 2)", "(0, 2, 1, 3)"})
"""The orders of axes in which the parts of rows, such as heads of attention, stand beside each other."""
SHIFTS = {"max": "shifted", "mean": "centered"}
"""The end of the name of a difference to a value's largest element or mean."""
POWERS = {2: "squared", 3: "cubed", 4: "to_the_4th"}


def root(value: ast.expr, of: Mapping[str, str]) -> str:
    """Return the name of the first value that an expression reads; of a choice the first that is chosen."""
    if isinstance(value, ast.Call):
        given = [*value.args[1:], value.args[0]] if ast.unparse(value.func) == "where" else [*value.args]
        of_array = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        return next((name for part in (*of_array, *given) if (name := root(part, of))), "")
    if isinstance(value, ast.Name):
        return of.get(value.id, "")
    parts = (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
    return next((name for part in parts if (name := root(part, of))), "")


def briefly(value: ast.expr, of: Mapping[str, str]) -> str:
    """Return a name made of the operator and the first value, `exp_rate` for `exp(-rate * years)`; "" without one.

    What is computed from a cotangent has its name alone only where there is no room for more: it is another value.
    """
    first, short = root(value, of), ""
    match value:
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="T"):
            short = briefly(inner, of)
            short = "" if short == first else short
        case ast.Call(func=ast.Name(id=function)):
            short = f"{first}_{ENDINGS[function]}" if function in ENDINGS else f"{function}_{first}"
        case ast.BinOp(op=ast.Pow()):
            short = f"{first}_power"
        case ast.BinOp(op=operator) if type(operator) in WORDS:
            short = f"{first}_{WORDS[type(operator)]}"
    most = LONGEST_NAME if first.startswith(("d_", "t_")) else SHORT_NAME
    return short if first and 0 < len(short) <= most else first


def described(value: ast.expr, of: Mapping[str, str]) -> str:
    """Return a name made of the operator and its operand, `exp_shifted`; "" where an operand has none."""
    match value:
        case ast.Name(id=own):
            return of.get(own, "")
        case ast.Attribute(value=inner, attr="T") | ast.Subscript(value=inner):
            return described(inner, of)
        case ast.UnaryOp(op=sign, operand=inner):
            return _joined("minus" if isinstance(sign, ast.USub) else "not", described(inner, of))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _of_test(described(left, of), operator, right, of)
        case ast.Call():
            return _of_call(value, of)
        case ast.BinOp():
            return _of_two(value, of)
    return ""


def _of_test(left: str, operator: ast.cmpop, right: ast.expr, of: Mapping[str, str]) -> str:
    """Return `x_is_largest` for `x == largest`, `x_is_positive` for `x > 0`."""
    is_zero = isinstance(right, ast.Constant) and right.value == 0
    if is_zero and type(operator) in SIGNS:
        return _joined(left, SIGNS[type(operator)])
    name = _joined(left, COMPARED[type(operator)], described(right, of)) if type(operator) in COMPARED else ""
    return name if 0 < len(name) <= LONGEST_NAME else _joined("test", left)


def _special(value: ast.Call, of: Mapping[str, str]) -> str:
    """Return `weights` for the softmax of products, `x_heads` for parts of rows beside each other; "" for others."""
    match value:
        case ast.Call(func=ast.Name(id="softmax"), args=[scores, *_]) if _is_scores(scores, of):
            return "weights"
        case ast.Call(func=ast.Name(id="transpose"), args=[ast.Call(func=ast.Attribute(attr="reshape") as f), order]):
            own = described(f.value, of)
            return _joined(own, "heads") if ast.unparse(order) in HEADS and len(own) <= SHORT_NAME else ""
    return ""


def _is_scores(value: ast.expr, of: Mapping[str, str]) -> bool:
    """Whether an expression is a product of matrices, perhaps scaled or with a mask added, or is called scores."""
    if isinstance(value, ast.Name):
        return of.get(value.id, "").endswith("scores")
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mult | ast.Div):
        return _is_scores(value.left, of) or _is_scores(value.right, of)
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult)


def _of_call(value: ast.Call, of: Mapping[str, str]) -> str:
    """Return `exp_shifted` for `exp(shifted)`, `x_reshaped` for `x.reshape(2, 3)`."""
    if special := _special(value, of):
        return special
    if isinstance(value.func, ast.Attribute):
        return _joined(described(value.func.value, of), ENDINGS.get(value.func.attr, value.func.attr))
    if not isinstance(value.func, ast.Name) or not value.args:
        return ""
    function, given = value.func.id, [*value.args]
    if function == "where":  # the value that takes fewest words to name
        given = [*sorted(given[1:], key=lambda part: len(described(part, of))), given[0]]
    parts = [part for each in given for part in (each.elts if isinstance(each, ast.Tuple | ast.List) else [each])]
    operand = next((name for part in parts if (name := described(part, of))), "")
    return _joined(operand, ENDINGS[function]) if function in ENDINGS else _joined(function, operand)


def _of_two(value: ast.BinOp, of: Mapping[str, str]) -> str:
    left, right = (described(_without_ending(part), of) for part in (value.left, value.right))
    if isinstance(value.op, ast.Pow):
        exponent = value.right.value if isinstance(value.right, ast.Constant) else None
        ending = POWERS.get(exponent, "power") if isinstance(exponent, int) else "power"
        return _joined(left, ending)
    shift = right.removesuffix(f"_{left}") if left and isinstance(value.right, ast.Call) else ""
    if isinstance(value.op, ast.Sub) and shift in SHIFTS:
        return f"{left}_{SHIFTS[shift]}"
    if isinstance(value.op, ast.Div) and not left:
        return _joined("inverse", right)
    if left and right:
        both = _joined(left, WORDS.get(type(value.op), "and"), right)
        return both if len(both) <= LONGEST_NAME else _joined(left, WORDS.get(type(value.op), "and"))
    return _joined(WITH_NUMBERS.get(type(value.op), ""), left or right)


def _without_ending(value: ast.expr) -> ast.expr:
    """Return `x` of `where(c, x, 1)`, which a name of what is computed from it need not tell."""
    is_choice = isinstance(value, ast.Call) and ast.unparse(value.func) == "where" and len(value.args) == 3
    return value.args[1] if isinstance(value, ast.Call) and is_choice else value


def _joined(*parts: str) -> str:
    return "_".join(parts) if all(parts) else ""
