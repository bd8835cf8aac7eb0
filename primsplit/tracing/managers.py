"""Know which context managers a frame is inside of, and whether one may suppress an error.

    with contextlib.suppress(ZeroDivisionError):    # entered(frame, manager)
        y = 1.0 / x                                 # suppresses(frame, ZeroDivisionError) is True
    ...                                             # left(manager)

An error that is suppressed takes a path of its own, as one that a handler catches.
"""

import ast
import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, FunctionType, GeneratorType
from typing import Any, cast

from primsplit.ir.definitions import definition_in
from primsplit.ir.scoped import Scoped
from primsplit.tracing.places import is_users_own

HasHandler = Callable[[FrameType, type[Exception]], bool]

_inside = Scoped[list[tuple[FrameType, Any]]](list)


def entered(frame: FrameType, manager: Any) -> None:
    """Note that a `with` statement of the frame entered a context manager."""
    _inside.value.append((frame, manager))


def left(manager: Any) -> None:
    """Note that the last `with` statement of a context manager ended."""
    inside = _inside.value
    last = next((k for k in reversed(range(len(inside))) if inside[k][1] is manager), None)
    if last is not None:
        del inside[last]


def suppresses(frame: FrameType, error: type[Exception], has_handler: HasHandler) -> bool:
    """Whether a context manager that the frame is inside of may suppress such an error.

    `has_handler` tells whether a frame's instruction is in a `try` with a handler for the error.
    """
    return any(_may_suppress(manager, error, has_handler) for at, manager in _inside.value if at is frame)


def _may_suppress(manager: Any, error: type[Exception], has_handler: HasHandler) -> bool:
    if isinstance(manager, contextlib.suppress):
        return issubclass(error, vars(manager)["_exceptions"])
    if isinstance(manager, contextlib._GeneratorContextManager):
        suspended = cast("GeneratorType[Any, Any, Any]", manager.gen).gi_frame
        return suspended is not None and (has_handler(suspended, error) or suppresses(suspended, error, has_handler))
    if isinstance(manager, contextlib.ExitStack):
        return any(_may_suppress(callback, error, has_handler) for callback in _callbacks(manager))
    leave = manager if isinstance(manager, FunctionType) else getattr(type(manager), "__exit__", None)
    return isinstance(leave, FunctionType) and is_users_own(leave.__code__.co_filename) and _may_return_true(leave)


def _callbacks(stack: contextlib.ExitStack) -> Iterator[Any]:
    """Yield the context managers of a stack, and the functions that `push` added to it."""
    for _, callback in vars(stack)["_exit_callbacks"]:
        if not hasattr(callback, "__wrapped__"):  # which is a function of `callback`, whose result is not read
            yield getattr(callback, "__self__", callback)


def _may_return_true(function: FunctionType) -> bool:
    """Whether a function may return anything but a constant None or False."""
    definition = definition_in(function.__code__)
    if definition is None or isinstance(definition.node, ast.Lambda):
        return True
    return any(not (r.value is None or _is_false(r.value)) for r in _returns(definition.node.body))


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _returns(nodes: Iterable[ast.AST]) -> Iterator[ast.Return]:
    """Yield the `return` statements among nodes, but not those of functions inside."""
    for node in nodes:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _returns(ast.iter_child_nodes(node))
