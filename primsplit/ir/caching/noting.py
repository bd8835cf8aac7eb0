"""Find the variables that a function only appends to or counts up, as in `calls += 1`, and never reads.

They are read in its source. Where that cannot be read, or was changed, every variable counts as read.
"""

import ast
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from primsplit.ir.definitions import by_code, definition_in
from primsplit.ir.recompiled import compiles_to

_KINDS = frozenset({list, dict, defaultdict, Counter, int, float})


def is_note(value: Any) -> bool:
    """Whether appending to the value, or counting with it, can do nothing else."""
    return type(value) in _KINDS


@by_code
def only_noted(code: types.CodeType) -> frozenset[str]:
    """Return the outer names that the code, and the functions inside it, use only to append to or to count with."""
    definition = definition_in(code)
    if definition is None:
        return frozenset()
    nodes = [*ast.walk(definition.node)]
    noted = [name for node in nodes if (name := _noted(node)) is not None]
    added = {id(name) for name in noted}
    read = {name.id for node in nodes for name in _read(node) if id(name) not in added}
    found = frozenset(name.id for name in noted) - read
    return found if found and compiles_to(definition, code) else frozenset()


def _noted(node: ast.AST) -> ast.Name | None:
    """Return the name that a node appends to or adds a constant to."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="append")):
            return name
        case ast.AugAssign(target=ast.Name() as name, op=ast.Add(), value=ast.Constant()):
            return name
        case ast.AugAssign(
            target=ast.Subscript(value=ast.Name() as name, slice=ast.Constant()), op=ast.Add(), value=ast.Constant()
        ):
            return name
        case ast.Assign(
            targets=[ast.Name() as target], value=ast.BinOp(left=ast.Name() as name, op=ast.Add(), right=ast.Constant())
        ) if target.id == name.id:
            return name
    return None


def _read(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the name that a node reads: one that it is, or the one that it changes in place."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        yield node
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target
