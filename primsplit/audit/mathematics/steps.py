"""Write what a step of a loop reads of a value of all steps: `(1 - hs**2)[t]` as `1 - hs[t]**2`.

An index goes to the operands of an elementwise expression: to those that have the axis of steps, and to no other.
"""

import ast
from collections.abc import Callable

from primsplit.audit.mathematics.axes import transposed
from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.trees import call, literal
from primsplit.ir import dims

ELEMENTWISE = frozenset(
    {"abs", "arctan", "clip", "cos", "cosh", "erf", "exp", "floor", "isnan", "log", "log1p", "maximum", "minimum"}
    | {"relu", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "where"}
)
"""Functions of NumPy whose result has an element for each element of what they are given."""
Shapes = Callable[[str], Shape | None]


def at_step(value: ast.expr, step: ast.expr, shape: Shape, shapes: Shapes) -> ast.expr | None:
    """Return the part of an elementwise expression of this shape at an index of the first axis; None for another one.

    `shapes` returns the shape of a variable, or None where it is not known.
    """
    return _before_end(value, step) or _part(value, step, shape, shapes)


def _before_end(value: ast.expr, step: ast.expr) -> ast.expr | None:
    """Return `cos(a[t])` for `cos(a[:-1])`: a loop takes each of the parts before an end."""
    match value:
        case ast.Subscript(value=ast.expr() as array, slice=ast.Slice(lower=None, upper=ast.expr(), step=None)):
            return _subscript(array, [step])
        case ast.UnaryOp(op=sign, operand=inner) if (part := _before_end(inner, step)) is not None:
            return ast.UnaryOp(sign, part)
        case ast.Call(func=ast.Name(id=function), args=[inner], keywords=[]) if function in ELEMENTWISE:
            part = _before_end(inner, step)
            return None if part is None else ast.Call(value.func, [part], [])
    return None


def _part(value: ast.expr, step: ast.expr, shape: Shape, shapes: Shapes) -> ast.expr | None:
    """Return the part of a value, or of an operand that NumPy repeats to the shape."""
    match value:
        case ast.Constant():
            return value
        case ast.Name(id=own) if (known := shapes(own)) is not None:
            return _of_variable(value, step, known, shape)
        case ast.Subscript(value=ast.Name(id=own) as array, slice=ast.Tuple(elts=[ast.Slice() as first, *rest])):
            known = shapes(own)
            is_whole = first.lower is None and first.upper is None and first.step is None
            is_long = known is not None and bool(known) and dims.same(known[0], shape[0])
            return _subscript(array, [step, *rest]) if is_whole and is_long and len(known or ()) > 0 else None
        case ast.UnaryOp(op=sign, operand=inner) if (part := _part(inner, step, shape, shapes)) is not None:
            return ast.UnaryOp(sign, part)
        case ast.BinOp(left=left, op=operator, right=right) if not isinstance(operator, ast.MatMult):
            both = [_part(part, step, shape, shapes) for part in (left, right)]
            return None if both[0] is None or both[1] is None else ast.BinOp(both[0], operator, both[1])
        case ast.Compare(left=left, ops=operators, comparators=[right]):
            both = [_part(part, step, shape, shapes) for part in (left, right)]
            return None if both[0] is None or both[1] is None else ast.Compare(both[0], operators, [both[1]])
        case ast.Call():
            return _of_call(value, step, shape, shapes)
    return None


def _of_call(value: ast.Call, step: ast.expr, shape: Shape, shapes: Shapes) -> ast.expr | None:
    """Return the part of the result of a function."""
    match value:
        case ast.Call(func=ast.Name(id="transpose"), args=[inner, _]):
            return _transposed(value, _part(inner, step, shape, shapes))
        case ast.Call(func=ast.Name(id="take"), args=[inner, places], keywords=[ast.keyword(value=axis)]):
            found = _part(inner, step, shape, shapes)
            at = axis.value if isinstance(axis, ast.Constant) else None
            if found is None or not isinstance(at, int) or at < 1:
                return None
            return call("take", found, places, axis=literal(at - 1))
        case ast.Call(func=ast.Name(id=function), args=given, keywords=[]) if function in ELEMENTWISE:
            parts = [_part(part, step, shape, shapes) for part in given]
            known = [part for part in parts if part is not None]
            return ast.Call(value.func, known, []) if len(known) == len(parts) else None
    return None


def _transposed(value: ast.expr, part: ast.expr | None) -> ast.expr | None:
    """Return the transpose of a part, where the axis of steps stays the first."""
    found = transposed(value)
    if found is None or part is None or found[1][0] != 0:
        return None
    return call("transpose", part, literal(tuple(axis - 1 for axis in found[1][1:])))


def _of_variable(value: ast.Name, step: ast.expr, known: Shape, shape: Shape) -> ast.expr | None:
    """Return the part of a variable that has the axis of steps, or the variable that is the same in each step."""
    if len(known) < len(shape):
        return value
    is_long = len(known) == len(shape) and dims.same(known[0], shape[0]) and not dims.is_one(shape[0])
    return _subscript(value, [step]) if is_long else None


def _subscript(array: ast.expr, index: list[ast.expr]) -> ast.expr:
    return ast.Subscript(array, index[0] if len(index) == 1 else ast.Tuple(index, ast.Load()), ast.Load())
