"""Reads and parses Python source, in any thread.

Before Python 3.11.8 and 3.12.2, `ast.parse` raises SystemError where two threads build syntax trees at the same time
(python/cpython#106905). Threads that trace take turns, and a tree that a thread of the user's disturbed is built again.
`linecache` raises KeyError where another thread takes a file out of its cache; what it returns is asked for again.
"""

import ast
import threading
from collections.abc import Callable
from typing import Literal, TypeVar, overload

T = TypeVar("T")
_TURN = threading.RLock()
_TRIES = 20


@overload
def parsed_text(text: str | bytes, filename: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parsed_text(text: str | bytes, filename: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parsed_text(text: str | bytes, filename: str = "<unknown>", mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """Return the syntax tree of a text. Raises what `ast.parse` raises for text that is not Python."""
    for _ in range(_TRIES):
        try:
            with _TURN:
                return ast.parse(text, filename, mode)
        except SystemError:
            continue
    return ast.parse(text, filename, mode)


def undisturbed(read: Callable[[], T]) -> T:
    """Return what `read` returns of `linecache` or `inspect`, whatever other threads do to the cache of lines."""
    for _ in range(_TRIES):
        try:
            return read()
        except KeyError:
            continue
    return read()
