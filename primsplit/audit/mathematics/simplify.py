"""Write an expression as people do: `x**2` for `x * x`, `1` for `np.float32(1.0)`, `sqrt(8)` for 2.828427.

The value stays the same but for rounding; numbers are recognized only where they are equal in their dtype.
"""

import ast
import copy
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from primsplit.audit.mathematics.axes import (
    convolved,
    is_swap,
    product_of_transposed,
    reduced,
    transposed,
    without_turns,
)
from primsplit.audit.mathematics.terms import (
    added,
    is_number,
    is_quotient,
    opposite,
    power,
    product,
    scaled_product,
    subtracted,
)
from primsplit.audit.trees import call, literal, tree

TAKE_FUNCTIONS = {"_cumulated": "", "_last_place": "last_"}
"""Helpers that are given a function of NumPy, and what the name of it gets before it."""
FEW = 5
"""Fewer integers are listed one by one."""
LONGEST_NUMBER = 7
"""The most characters of a number that is written with its digits, even where it is a quotient."""
DIGITS = 8
"""The bits of a number that its quotient leaves unused: so many make it unlikely that the two are equal by chance."""
MODULES = frozenset({"np", "special"})
KNOWN = {
    "pi": math.pi,
    "2 * pi": 2 * math.pi,
    "1 / sqrt(2 * pi)": 1 / math.sqrt(2 * math.pi),
    "1 / sqrt(2)": 1 / math.sqrt(2),
    "2 / sqrt(pi)": 2 / math.sqrt(math.pi),
}
"""Numbers by what people write for them."""
SCALARS = frozenset({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool_"})


def simplified(expression: ast.expr) -> ast.expr:
    """Return the expression without modules' names, dtypes of numbers, and what people do not write."""
    found = _Simplifying().visit(expression)
    assert isinstance(found, ast.expr)
    return found


def text_of(expression: ast.expr) -> str:
    """Return the text of an expression, with `x**2` set close and `x.mT` for a transpose of the last two axes."""
    text = ast.unparse(expression)
    if "transpose(" in text:
        text = ast.unparse(_Matrices().visit(copy.deepcopy(expression)))
    return text.replace(" ** ", "**")


class _Matrices(ast.NodeTransformer):
    """Writes `x.mT` for `transpose(x, (0, 2, 1))`, and `transpose(x, (1, 0, 2)).mT` for `transpose(x, (1, 2, 0))`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        found = transposed(node)
        return ast.Attribute(found[0], "mT", ast.Load()) if found is not None and is_swap(found[1]) else node


def renamed(expression: ast.expr, names: Mapping[str, str]) -> ast.expr:
    """Return an expression with other names of variables; those of functions stay."""
    found = _Renaming(names).visit(copy.deepcopy(expression))
    assert isinstance(found, ast.expr)
    return found


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return ast.Call(func, [self.visit(a) for a in node.args], keywords)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def number_tree(number: float, dtype: type[np.generic] = np.float64) -> ast.expr:
    """Return a number as a person writes it: an integer without a point, `sqrt(8)`, `pi`."""
    if not math.isfinite(number):
        return literal(number)
    if abs(number) < 1e15 and number == round(number):
        return literal(int(number)) if number or math.copysign(1, number) > 0 else literal(-0.0)
    for name, value in KNOWN.items() if isinstance(number, float) else ():
        if _is_same(value, abs(number), dtype):
            return tree(name) if number > 0 else tree(f"-{name}")
    root = round(number * number) if abs(number) < 100 else 0
    if 2 <= root <= 4096 and _is_same(math.sqrt(root), abs(number), dtype):
        found = call("sqrt", literal(root))
        return found if number > 0 else ast.UnaryOp(ast.USub(), found)
    parts = _quotient(number, dtype) if len(repr(number)) > LONGEST_NUMBER else None
    if parts is not None and parts[1] in {10, 100, 1000}:
        return literal(parts[0] / parts[1])
    if parts is not None:
        return tree("p / q", p=literal(parts[0]), q=literal(parts[1]))
    return literal(_shortest(number) if dtype is np.float32 else number)


def _shortest(number: float) -> float:
    """Return a number of 32 bits as that with the fewest digits, others as they are."""
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return float(str(single)) if float(single) == number else number


def _quotient(number: float, dtype: type[np.generic]) -> tuple[int, int] | None:
    """Return two integers with a number as their quotient; None where that may be by chance."""
    found = Fraction(number).limit_denominator(10**6)
    p, q = found.numerator, found.denominator
    most = 2 ** (np.finfo(dtype).nmant - DIGITS) if issubclass(dtype, np.floating) else 0
    is_small = q > 1 and abs(p) * q <= most and len(f"{p} / {q}") < len(repr(number))
    return (p, q) if p and is_small and _is_same(p / q, number, dtype) else None


def _is_same(number: float, other: float, dtype: type[np.generic]) -> bool:
    with np.errstate(over="ignore"):  # a float32 is infinite where both are beyond it
        return bool(dtype(number) == dtype(other))


class _Simplifying(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr in {"T", "mT"} and isinstance(node.value, ast.Attribute) and node.value.attr == node.attr:
            return node.value.value
        if node.attr == "T" and (row := _only_row(node.value)) is not None:
            return ast.Subscript(row, ast.Tuple([ast.Slice(), literal(None)], ast.Load()), ast.Load())
        if node.attr == "T" and isinstance(node.value, ast.Subscript):
            return _row_of_transposed(node, node.value)
        if node.attr == "T" and (turned := _turned_products(node.value)) is not None:
            return turned
        if isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.Name(node.attr, ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(_without_function(node))
        if not isinstance(node.func, ast.Name):
            return node
        node.func.id = node.func.id.removeprefix("_")
        if node.func.id in SCALARS and len(node.args) == 1:
            return _number(node.args[0], getattr(np, node.func.id))
        if node.func.id in {"full", "zeros"} and isinstance(node.args[0], ast.Tuple) and len(node.args[0].elts) == 1:
            node.args[0] = node.args[0].elts[0]
        if node.func.id == "full":
            node.args, dtype = node.args[:2], [*node.args[2:], *(k.value for k in node.keywords)]
            if is_number(node.args[1], 0):
                return call("zeros", node.args[0], *_integer(dtype))
        if node.func.id == "zeros":
            node.args = [node.args[0], *_integer(node.args[1:])]
        if node.func.id == "array" and isinstance(node.args[0], ast.List) and node.args[0].elts:
            return _ranges(node.args[0]) or call("array", node.args[0])
        return _of_arrays(reduced(convolved(node)))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Tuple) and isinstance(at, int) and at < len(node.value.elts):
            return node.value.elts[at]
        match node:  # one size of an array, which only the run knows
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Name(id="array"),
                    args=[ast.Subscript(value=ast.Attribute(attr="shape") as sizes, slice=part)],
                    keywords=[],
                ),
                slice=ast.Constant(value=0),
            ) if (first := _only(part)) is not None:
                return call("array", ast.Subscript(sizes, ast.Constant(first), ast.Load()))
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return number_tree(node.value, np.float32) if isinstance(node.value, float) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert) and (opposed := _not_equal(node.operand)) is not None:
            return opposed
        return opposite(node.operand) if isinstance(node.op, ast.USub) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        return _number_behind(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        moved = product_of_transposed(node)
        if not isinstance(moved, ast.BinOp):
            return moved
        match node.op:
            case ast.Mult():
                return product(node)
            case ast.Add():
                return added(node)
            case ast.Sub():
                return subtracted(node)
            case ast.MatMult():
                return scaled_product(node)
            case ast.Pow():
                return power(node)
        return node


MIRRORED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
"""The comparison of two operands in the other order."""


def _number_behind(node: ast.Compare) -> ast.expr:
    """Return `x < 0` for `0 > x`."""
    kind = type(node.ops[0])
    node.comparators = [literal(0) if is_number(c, 0) else c for c in node.comparators]
    if len(node.ops) > 1 or not is_quotient(node.left) or is_quotient(node.comparators[0]) or kind not in MIRRORED:
        return node
    return ast.Compare(node.comparators[0], [MIRRORED[kind]()], [node.left])


def _not_equal(node: ast.expr) -> ast.expr | None:
    """Return `x != y` for `x == y`; None for another expression, which may be false for a NaN either way."""
    is_equal = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
    if not isinstance(node, ast.Compare) or not is_equal:
        return None
    return ast.Compare(node.left, [ast.NotEq()], node.comparators)


def _of_arrays(node: ast.Call) -> ast.expr:
    """Return a call of a function of arrays as people write it."""
    name = ast.unparse(node.func)
    if name == "sum" and (count := _count_of(node)) is not None:
        return count
    if name == "where" and len(node.args) == 3:
        return _chosen(node)
    if name == "take":
        node.args = [_list_of(a) for a in node.args]
    if name == "transpose":
        return without_turns(node)
    return _scattered(node) if name in {"scatter_nd", "scatter_elements"} else node


def _integer(dtype: Sequence[ast.expr]) -> list[ast.expr]:
    """Return the type `int` for the dtype of integers, which an index needs; nothing for others."""
    is_integer = any("int" in ast.unparse(part) for part in dtype)
    return [ast.Name("int", ast.Load())] if is_integer else []


def _only_row(node: ast.expr) -> ast.expr | None:
    """Return `u` of `scatter_add(zeros((1, N)), array([0]), u)`, a vector in the only row of a matrix."""
    is_scatter = isinstance(node, ast.Call) and ast.unparse(node.func) in {"scatter_add", "scatter_nd"}
    if not isinstance(node, ast.Call) or not is_scatter or len(node.args) != 3 or node.keywords:
        return None
    array, places, row = node.args
    shape = array.args[0] if isinstance(array, ast.Call) and ast.unparse(array.func) == "zeros" else None
    is_row = isinstance(shape, ast.Tuple) and len(shape.elts) == 2 and is_number(shape.elts[0], 1)
    return row if is_row and ast.unparse(places) == "array([0])" else None


def _row_of_transposed(node: ast.Attribute, inner: ast.Subscript) -> ast.expr:
    """Return `x[:, ::-1]` for `x.T[::-1].T`."""
    array = inner.value
    if not isinstance(inner.slice, ast.Slice) or not isinstance(array, ast.Attribute) or array.attr != "T":
        return node
    return ast.Subscript(array.value, ast.Tuple([ast.Slice(), inner.slice], ast.Load()), ast.Load())


def _turned_products(node: ast.expr) -> ast.expr | None:
    """Return `b.T @ a` for the transpose of `a.T @ b`, term by term of a sum; None for another expression."""
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Add | ast.Sub):
        left, right = _turned_products(node.left), _turned_products(node.right)
        return None if left is None or right is None else ast.BinOp(left, node.op, right)
    is_turned = isinstance(node.left, ast.Attribute) and node.left.attr == "T"
    if not isinstance(node.op, ast.MatMult) or not isinstance(node.left, ast.Attribute) or not is_turned:
        return None
    is_both = isinstance(node.right, ast.Attribute) and node.right.attr == "T"
    right_turned = (
        node.right.value
        if isinstance(node.right, ast.Attribute) and is_both
        else ast.Attribute(node.right, "T", ast.Load())
    )
    return ast.BinOp(right_turned, ast.MatMult(), node.left.value)


def _ranges(items: ast.List) -> ast.expr | None:
    """Return `r_[1:12, 11]` for a list of integers of which most follow one another; None for another list."""
    return ranges([i.value if isinstance(i, ast.Constant) and type(i.value) is int else None for i in items.elts])


def ranges(numbers: Sequence[int | None]) -> ast.expr | None:
    """Return `r_[1:12, 11]` for integers of which most follow one another; None for others."""
    runs: list[list[int]] = []
    for number in numbers:
        if number is None:
            return None
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(numbers) < FEW or len(runs) > len(numbers) // 3:
        return None
    if len(runs) == 1 and numbers[0] == 0:
        return call("arange", literal(len(numbers)))
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}:{run[-1] + 1}" for run in runs]
    return tree(f"r_[{', '.join(parts)}]")


def _without_function(node: ast.Call) -> ast.Call:
    """Return `cumsum(x, axis=0, reverse=True)` for `_cumulated(np.cumsum, x, 0, reverse=True)`."""
    called = node.func.id if isinstance(node.func, ast.Name) else ""
    if called in TAKE_FUNCTIONS and len(node.args) > 2:
        function = ast.unparse(node.args[0]).rpartition(".")[2]
        node.func = ast.Name(TAKE_FUNCTIONS[called] + function, ast.Load())
        node.keywords.insert(0, ast.keyword("axis", node.args[2]))
        node.args = [node.args[1]]
    return node


def _list_of(value: ast.expr) -> ast.expr:
    """Return the list of `array([1, 2])`."""
    is_array = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "array"
    return value.args[0] if is_array and isinstance(value, ast.Call) else value


def _scattered(node: ast.Call) -> ast.expr:
    """Return `scatter_add(...)` for `scatter_elements(..., reduction="add")`."""
    how = next((k.value for k in node.keywords if k.arg == "reduction"), None)
    if isinstance(how, ast.Constant) and how.value == "add":
        keywords = [k for k in node.keywords if k.arg != "reduction"]
        return ast.Call(ast.Name("scatter_add", ast.Load()), node.args, keywords)
    return node


def _count_of(node: ast.Call) -> ast.expr | None:
    """Return `N * x` for `sum(full(N, x), axis=0)`."""
    full = node.args[0] if node.args else node
    is_full = isinstance(full, ast.Call) and ast.unparse(full.func) == "full" and len(full.args) == 2
    is_first = [(k.arg, ast.unparse(k.value)) for k in node.keywords] in ([("axis", "0")], [])
    if not isinstance(full, ast.Call) or not is_full or not is_first or len(node.args) > 1:
        return None
    size, value = full.args
    if not isinstance(size, ast.Constant | ast.Name) or not is_quotient(value):
        return None
    return size if is_number(value, 1) else product(ast.BinOp(size, ast.Mult(), value))


def _chosen(node: ast.Call) -> ast.Call:
    """Return `where(c, a * x, 0)` for `where(c, a * where(c, x, y), 0)`. A divisor keeps the choice that guards it."""
    test = ast.dump(node.args[0])
    node.args = [node.args[0], _without_choice(node.args[1], test), node.args[2]]
    return node


def _without_choice(node: ast.expr, test: str) -> ast.expr:
    """Return an elementwise expression where a test holds."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "where" and ast.dump(node.args[0]) == test:
        return node.args[1]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ast.UnaryOp(node.op, _without_choice(node.operand, test))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        right = node.right if isinstance(node.op, ast.Div) else _without_choice(node.right, test)
        return ast.BinOp(_without_choice(node.left, test), node.op, right)
    return node


def _number(node: ast.expr, dtype: type[np.generic]) -> ast.expr:
    """Return the number of `np.float32(0.5)`."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return node
    return number_tree(value, dtype) if isinstance(value, float) else literal(value)


def _only(part: ast.expr) -> int | None:
    """Return the position of the only element that a slice such as `1:2` takes; None for another one."""
    match part:
        case ast.Slice(lower=None, upper=ast.Constant(value=1), step=None):
            return 0
        case ast.Slice(lower=ast.Constant(value=int() as start), upper=ast.Constant(value=int() as end), step=None):
            return start if start == end - 1 and start >= 0 else None
    return None
