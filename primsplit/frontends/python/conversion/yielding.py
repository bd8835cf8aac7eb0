"""Rewrites branches of a generator that all end in a `yield` so that one `yield` follows them.

```
if c:                   if c:
    yield a                 given = a
else:                   else:
    yield b                 given = b
                        yield given
```
"""

import ast
from collections.abc import Sequence

from primsplit.frontends.python.conversion.exits import Asks
from primsplit.frontends.python.conversion.plainer import OwnStatements
from primsplit.frontends.python.converter.transformer import at


def with_yields_behind(function: ast.FunctionDef, asks: Asks) -> None:
    """Rewrite the branches of a generator whose tests satisfy `asks`."""
    if any(isinstance(n, ast.Yield) for n in ast.walk(function)):
        _Yields(asks).generic_visit(function)


class _Yields(OwnStatements):
    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        then, otherwise = _yielded(node.body), _yielded(node.orelse)
        if then is None or otherwise is None or not self.asks(node.test):
            return node
        name = f"_joined_given_{next(self.numbers)}"
        for body, value in ((node.body, then), (node.orelse, otherwise)):
            body[-1] = at(body[-1], ast.Assign([ast.Name(name, ast.Store())], value))
        return [node, at(node, ast.Expr(ast.Yield(ast.Name(name, ast.Load()))))]


def _yielded(body: Sequence[ast.stmt]) -> ast.expr | None:
    """Return the value that statements yield at their end; None if they do not."""
    match body:
        case [*_, ast.Expr(ast.Yield(value))]:
            return value
    return None
