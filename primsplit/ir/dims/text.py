"""Parse a size from its text: the inverse of `str`."""

import ast
import functools
import operator
import re
import unicodedata
from collections.abc import Callable

from primsplit.ir.dims.size import Dim, floor_divide, remainder, symbol
from primsplit.ir.dims.substitution import REBUILD
from primsplit.ir.errors import ParseError
from primsplit.ir.parsing import parsed_text


def parse(text: str) -> Dim:
    """Return the dim that prints as `text`. A text that is no expression is one symbol of that name.

    So is one that Python's parser would read as another text: it normalizes the letters of names.
    """
    if not _EXPRESSION.fullmatch(text) or unicodedata.normalize("NFKC", text) != text:
        return symbol(text)
    try:
        return _build(parsed_text(text, mode="eval").body)
    except (SyntaxError, ParseError):
        return symbol(text)


_EXPRESSION = re.compile(r"[\w\s+*/%(),-]+")
_OPERATORS: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: floor_divide,
    ast.Mod: remainder,
}


def _build(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_build(operand)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](_build(left), _build(right))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in REBUILD and len(arguments) > 1:
            return functools.reduce(REBUILD[name], map(_build, arguments))
    raise ParseError(f"not a size: {ast.unparse(node)}")
