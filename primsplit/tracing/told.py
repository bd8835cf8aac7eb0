"""What the user's source does with what it asks for: a text that is printed, an error that is caught."""

import ast
import functools
import itertools
import linecache
import sys
from types import FrameType

from primsplit.tracing.places import is_users_own

_TELLING = frozenset({
    "print", "pprint", "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "write",
})  # fmt: skip
"""The names of functions and methods that show a text to people."""


def is_told(frame: FrameType) -> bool:
    """True where the expression that the frame evaluates is printed, logged, or the message of an error.

    False where the source cannot be read.
    """
    nodes = _nodes_around(frame)
    return any(_tells(node, inner) for node, inner in zip(nodes, [*nodes[1:], None], strict=True))


def is_decided_by(frame: FrameType) -> bool:
    """True where the text that the frame puts together is compared, or is a key."""
    nodes = _nodes_around(frame)
    return any(_is_text(inner) and _decides(node, inner) for node, inner in itertools.pairwise(nodes))


def is_caught(error: type[Exception], outside: str) -> bool:
    """True where the user's code that led here would catch such an error, as far as the names of its handlers tell.

    `outside` is the file of what called the function that is traced: what is around that is not asked.
    """
    names = {c.__name__ for c in error.__mro__}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != outside:
        if is_users_own(frame):
            nodes = _own(_nodes_around(frame))
            if any(_catches(node, inner, names) for node, inner in itertools.pairwise(nodes)):
                return True
        frame = frame.f_back
    return False


def _own(nodes: list[ast.AST]) -> list[ast.AST]:
    """Those of the function that the instruction is in: what is around its definition is not around its calls."""
    defined = [k for k, n in enumerate(nodes) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return nodes[defined[-1] :] if defined else nodes


def _catches(node: ast.AST, inner: ast.AST, names: set[str]) -> bool:
    """True for a `try` with `inner` in its body and a handler for one of these names."""
    if not isinstance(node, ast.Try) or inner not in node.body:
        return False
    kinds = [h.type.elts if isinstance(h.type, ast.Tuple) else [h.type] for h in node.handlers]
    return any(k is None or _last_name(k) in names for each in kinds for k in each)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_attribute_asked(frame: FrameType) -> bool:
    """True where the frame asks by a name's text whether an object has an attribute."""
    calls = [n for n in _nodes_around(frame) if isinstance(n, ast.Call)]
    return bool(calls) and isinstance(calls[-1].func, ast.Name) and calls[-1].func.id in {"hasattr", "getattr"}


def _nodes_around(frame: FrameType) -> list[ast.AST]:
    """The nodes of the source that hold the instruction of the frame, the outermost first."""
    tree = _parsed("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    line, _, column, _ = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    found: list[ast.AST] = []
    node: ast.AST | None = tree
    while node is not None and line is not None and column is not None:
        found.append(node)
        node = next((n for n in ast.iter_child_nodes(node) if _covers(n, (line, column))), None)
    return found


@functools.lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _covers(node: ast.AST, place: tuple[int, int]) -> bool:
    """True for a node that the line and the column are in."""
    if isinstance(node, ast.stmt | ast.expr):
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return (node.lineno, node.col_offset) <= place < end
    return isinstance(node, ast.ExceptHandler | ast.match_case | ast.keyword) and any(
        _covers(n, place) for n in ast.iter_child_nodes(node)
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))


def _decides(node: ast.AST, inner: ast.AST) -> bool:
    """True for a node that asks what its part `inner` is."""
    if isinstance(node, ast.Subscript):
        return inner is node.slice
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Match) and inner is node.subject)


def _tells(node: ast.AST, inner: ast.AST | None) -> bool:
    if isinstance(node, ast.Assert):
        return inner is node.msg
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _last_name(node.value.func) in _TELLING
    return False
