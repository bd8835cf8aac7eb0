"""Collects facts from the syntax of a function before it is read as a nest."""

import ast
from collections.abc import Iterable, Iterator

from primsplit.frontends.loops.expressions import BINARY, letters_of
from primsplit.frontends.loops.functions import ALIASES
from primsplit.frontends.loops.scopes import IDENTITIES


def called(node: ast.Call) -> str:
    """The name of what is called, without its module."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def ranks(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The arrays that are indexed, and by how many indices."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield node.value.id, len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1


def combination(target: ast.expr, value: ast.expr) -> tuple[str, ast.expr] | None:
    """`t = t + x`, `t = x * t`, `t = t - x` or `t = max(t, x)`: the function, and what it adds to t."""
    match value:
        case ast.BinOp(left=left, op=ast.Sub(), right=right) if ast.unparse(left) == ast.unparse(target):
            return "add", negated(right)
        case ast.BinOp(left=left, right=right, op=operator):
            function, sides = BINARY.get(type(operator), ""), [left, right]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[left, right]):
            function, sides = ALIASES.get(name, name), [left, right]
        case _:
            return None
    same = [ast.unparse(side) == ast.unparse(target) for side in sides]
    if function not in IDENTITIES or sum(same) != 1:
        return None
    return function, sides[same.index(False)]


def negated(node: ast.expr) -> ast.expr:
    """The expression with a minus."""
    return ast.copy_location(ast.UnaryOp(ast.USub(), node), node)


def changed(body: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements assign, and those that they combine with something."""
    assigned: set[str] = set()
    combined: set[str] = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            kind = assigned if combination(target, node.value) is None else combined
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            kind.update(part.id for part in parts if isinstance(part, ast.Name))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            combined.add(node.target.id)
    return assigned, combined


def whole_numbers(tree: ast.AST) -> set[str]:
    """The names in ranges, indices and shapes of new arrays, and the names from which these are computed."""
    found: set[str] = set()
    assigned: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            found.update(name.id for name in letters_of(node.slice))
        elif isinstance(node, ast.Call) and called(node) in {"range", "zeros", "empty"}:
            found.update(name.id for argument in node.args for name in letters_of(argument))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned[node.targets[0].id] = node.value
    while made := found & set(assigned):
        for name in made:
            found.update(letter.id for letter in letters_of(assigned.pop(name)))
    return found
