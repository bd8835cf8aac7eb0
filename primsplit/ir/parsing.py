"""Parses Python source, in any thread.

Before Python 3.11.8 and 3.12.2, `ast.parse` raises SystemError where two threads build syntax trees at the same time
(python/cpython#106905). Threads that trace take turns, and a tree that a thread of the user's disturbed is built again.
"""

import ast
import threading
from typing import Literal, overload

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
