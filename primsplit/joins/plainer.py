"""Statements with less ways through them: what follows an `if` that ends in `return` or `continue` is in its `else`.

What is written so does the same, statement by statement, and its branches may be joined.
"""

import ast
import itertools
from collections.abc import Callable, Sequence

RESULT = "_joined_result"
"""The name of what a function returns, where its branches return."""


def without_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop, with what follows an `if` that ends in `continue` in its `else` instead."""
    for k, node in enumerate(body):
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Continue):
            rest = without_continue(body[k + 1 :]) or [ast.Pass()]
            made = ast.If(node.test, node.body[:-1] or [ast.Pass()], rest)
            return [*body[:k], at(node, made)]
    return body


def as_choice(node: ast.expr) -> ast.expr:
    """`a or b` as `a if a else b`, and `a and b` as `b if a else a`, where `a` is a name."""
    if not isinstance(node, ast.BoolOp) or not isinstance(node.values[0], ast.Name):
        return node
    first, *others = node.values
    other = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(node.op, others), node)
    sides = (other, first) if isinstance(node.op, ast.And) else (first, other)
    return ast.copy_location(ast.IfExp(first, *sides), node)


def with_one_return(function: ast.FunctionDef, asks: Callable[[ast.expr], bool]) -> bool:
    """Let the branches of a function give its result a name, which it returns at its end; False where they do not.

    `asks` tells of a test whether it is one of those that are many.
    """
    branches = [n for n in function.body if isinstance(n, ast.If) and _returns(n)]
    if not any(asks(n.test) for b in branches for n in ast.walk(b) if isinstance(n, ast.If)):
        return False
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function)):
        return False
    body = _with_result(function.body)
    if body is None:
        return False
    last = function.body[-1]
    function.body = [*body, at(last, ast.Return(ast.Name(RESULT, ast.Load())))]
    return True


def _with_result(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """Statements that give the result its name where these return; None where a loop or another block returns."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Return):
            return [*body[:k], _result(node, node.value or ast.Constant(None))]
        if not _returns(node):
            continue
        if not isinstance(node, ast.If):
            return None
        then, otherwise = _sides(node, body[k + 1 :])
        if then is None or otherwise is None:
            return None
        return [*body[:k], at(node, ast.If(node.test, then, otherwise))]
    return [*body, _result(body[-1], ast.Constant(None))] if body else None


def _sides(node: ast.If, rest: Sequence[ast.stmt]) -> tuple[list[ast.stmt] | None, list[ast.stmt] | None]:
    """Both sides of a branch, each with what follows it where it does not return."""
    then, otherwise = [*node.body], [*node.orelse]
    if rest and _ends(then):
        otherwise += rest
    elif rest and _ends(otherwise):
        then += rest
    elif rest:
        return None, None
    return _with_result(then), _with_result(otherwise or [at(node, ast.Pass())])


def _ends(body: Sequence[ast.stmt]) -> bool:
    """True for statements after which nothing of the function is run."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.Return)


def _returns(node: ast.AST) -> bool:
    """True for a statement that returns from the function that it is in."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return any(map(_returns, ast.iter_child_nodes(node)))


def _result(node: ast.stmt, value: ast.expr) -> ast.stmt:
    return at(node, ast.Assign([ast.Name(RESULT, ast.Store())], value))


class OwnStatements(ast.NodeTransformer):
    """Writes a function's own statements anew, and leaves the functions and classes inside of it as they are.

    `asks` tells of a test whether it is one of those that are many; `numbers` are for the names that are made.
    """

    def __init__(self, asks: Callable[[ast.expr], bool]) -> None:
        self.asks = asks
        self.numbers = itertools.count()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def at(node: ast.AST, made: ast.stmt) -> ast.stmt:
    """The statement, at the lines of another node."""
    return ast.fix_missing_locations(ast.copy_location(made, node))
