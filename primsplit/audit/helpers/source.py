"""Return the texts of helper functions, as they stand in a written module.

```
def softmax(x: AnyArray, axis: int) -> AnyArray:   ->   def _softmax(x, axis):
```
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from primsplit.audit.helpers import (
    arithmetic,
    indexing,
    layout,
    normalization,
    ordering,
    quantization,
    recurrent,
    resizing,
    sequences,
    spectra,
    windows,
)
from primsplit.audit.trees import names_in
from primsplit.ir.parsing import parsed_text

MODULES: tuple[ModuleType, ...] = (
    arithmetic,
    layout,
    indexing,
    ordering,
    normalization,
    windows,
    resizing,
    recurrent,
    quantization,
    sequences,
    spectra,
)


@functools.cache
def helpers() -> dict[str, Callable[..., Any]]:
    """Return the helper functions by the names that they have in written modules."""
    return {
        f"_{name}": value
        for module in MODULES
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }


def needed(names: Iterable[str]) -> list[str]:
    """Return the helpers among some names and those that these call, in the order of their modules."""
    found: set[str] = set()
    waiting = [name for name in names if name in helpers()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [n for n in names_in(_tree(name)) if n in helpers()]
    return [name for name in helpers() if name in found]


def helper_source(name: str) -> str:
    """Return the text of a helper function."""
    return ast.unparse(_tree(name))


@functools.cache
def _tree(name: str) -> ast.AST:
    text = textwrap.dedent(inspect.getsource(helpers()[name]))
    found = _Written().visit(parsed_text(text).body[0])
    assert isinstance(found, ast.AST)
    return found


class _Written(ast.NodeTransformer):
    """Renames helpers, and leaves annotations out."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = f"_{node.name}"
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if argument is not None:
                argument.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"_{node.id}", node.ctx) if f"_{node.id}" in helpers() else node
