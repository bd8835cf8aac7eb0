"""Build Python expressions as trees of `ast`, from texts with holes.

```
tree("np.where(c, a, b)", c=test, a=x, b=tree("-x", x=y))   ->   np.where(test, x, -y)
```

Parentheses are never written by hand: `ast.unparse` puts them where precedence asks for them.
"""

import ast
import copy
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from primsplit.ir.parsing import parsed_text


def tree(template: str, **holes: ast.expr) -> ast.expr:
    """Return the expression of a text, with an expression in the place of each name that is a hole."""
    return fill(_parsed(template), holes)


def fill(expression: ast.expr, holes: Mapping[str, ast.expr]) -> ast.expr:
    """Return a copy of an expression, with other expressions in the place of some names."""
    found = _Filling(holes).visit(copy.deepcopy(expression))
    assert isinstance(found, ast.expr)
    return found


@functools.cache
def _parsed(template: str) -> ast.expr:
    return parsed_text(template, mode="eval").body


class OfVariables(ast.NodeTransformer):
    """Visits names of variables. A function keeps its name, though a variable of the file may have the same."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node


class _Filling(OfVariables):
    """Fills holes."""

    def __init__(self, holes: Mapping[str, ast.expr]) -> None:
        self.holes = holes
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:  # the name that NodeTransformer asks for
        found = self.holes.get(node.id, node)
        if node.id not in self.used:
            self.used.add(node.id)
            return found
        return copy.deepcopy(found)  # `ast.unparse` keeps parentheses by node


def name(identifier: str) -> ast.expr:
    """Return the expression that reads a variable."""
    return ast.Name(identifier, ast.Load())


def literal(value: Any) -> ast.expr:
    """Return the expression of a number, a text, None, or a tuple or list of them."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, tuple | list):
        kind = ast.Tuple if isinstance(value, tuple) else ast.List
        return kind([literal(v) for v in value], ast.Load())
    if isinstance(value, float) and not math.isfinite(value):
        return tree("np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf")
    if isinstance(value, int | float) and math.copysign(1, value) < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def call(function: str, *arguments: ast.expr, **named: ast.expr) -> ast.expr:
    """Return the call of a function, such as `np.sum`, with these arguments."""
    keywords = [ast.keyword(key, value) for key, value in named.items()]
    return ast.Call(_parsed(function), [*arguments], keywords)


def tuple_of(items: Iterable[ast.expr]) -> ast.expr:
    """Return the tuple of some expressions."""
    return ast.Tuple([*items], ast.Load())


def names_in(expression: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def variables_in(expression: ast.AST) -> set[str]:
    """Return the variables that an expression reads; the names of functions are none."""
    return {node.id for node in variable_nodes(expression)}


def variable_nodes(expression: ast.AST) -> Iterator[ast.Name]:
    """Yield the nodes of an expression that read a variable."""
    functions = {id(node.func) for node in ast.walk(expression) if isinstance(node, ast.Call)}
    yield from (n for n in ast.walk(expression) if isinstance(n, ast.Name) and id(n) not in functions)


def calls_deep(value: ast.AST) -> int:
    """Return how many calls are around the innermost part of an expression."""
    inner = max((calls_deep(part) for part in ast.iter_child_nodes(value)), default=0)
    return inner + isinstance(value, ast.Call)


def bound_by(head: str) -> tuple[str, ...]:
    """Return the variables that the head of a loop sets: `x_t` of `for x_t in xs:`. None of another head."""
    if not (head.startswith("for ") and head.endswith(":")):
        return ()
    return tuple(sorted(names_in(parsed_text(head.partition(" in ")[0].removeprefix("for ")))))
