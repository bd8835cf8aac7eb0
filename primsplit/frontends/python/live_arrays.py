"""Runs a function so that names of arrays mean traced arrays for the time of the run.

```
f = lambda w: np.sum(X @ w)    ->    run with X traced: np.sum(MatMul(X, w)), where X is an input
```

It refuses a function that may reach an array in another way than by a name (through a container or attribute, by text,
by an import, or in a library), that tests classes, which a traced array has others of, or that may pass an array out of
the run.
"""

import ast
import types
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from primsplit.frontends.python.views import copied, functions_by_name
from primsplit.ir.caching.fingerprint import is_library, names_read
from primsplit.ir.caching.past_names import met_past_names
from primsplit.ir.definitions import definition_in
from primsplit.ir.recompiled import compiles_to
from primsplit.tracing.hooks import HOOKS

ASKING = frozenset({
    "__class__", "__import__", "callable", "getattr", "hasattr", "id", "isinstance", "issubclass", "type",
})  # fmt: skip
"""Names in code that may tell a traced array from another."""


KEEPING = frozenset({
    "add", "append", "appendleft", "extend", "insert", "open", "print", "put", "setattr", "setdefault", "update",
    "warn",
})  # fmt: skip
"""Names in code that may pass a value out of the run."""


def with_live_arrays(
    run: Callable[..., Any], arrays: Sequence[Any]
) -> Callable[[Sequence[Any]], AbstractContextManager[Callable[..., Any]]] | None:
    """Return a function from traced arrays to the run with them in place of `arrays`; None if that is not certain."""
    ids = [id(a) for a in arrays]
    if type(run) is not types.FunctionType or met_past_names(run, frozenset(ids)):
        return None
    functions = functions_by_name(run, lambda value: object() if id(value) in ids else value)
    if functions is None or not all(_is_plain(f) for f in functions if not is_library(f.__module__ or "")):
        return None

    def reading(handles: Sequence[Any]) -> AbstractContextManager[Callable[..., Any]]:
        by_id = dict(zip(ids, handles, strict=True))
        return copied(run, functions, lambda value: by_id.get(id(value), value))

    return reading


HOOKS.with_live_arrays = with_live_arrays


def _is_plain(function: types.FunctionType) -> bool:
    """Whether a function imports nothing, tests no classes, and writes to nothing but its own variables.

    One whose source cannot be read, or was changed, is not.
    """
    code = function.__code__
    if not (ASKING | KEEPING).isdisjoint(names_read(code)):
        return False
    definition = definition_in(code)
    if definition is None or not all(map(_is_plain_node, ast.walk(definition.node))):
        return False
    return compiles_to(definition, code)


_ODD = (
    ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.MatchClass, ast.MatchSequence, ast.MatchMapping,
)  # fmt: skip


def _is_plain_node(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Compare):
        return not any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops) or _asks_for_none(node)
    return not isinstance(node, _ODD)


def _asks_for_none(node: ast.Compare) -> bool:
    return len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
