"""Read in the user's source how an expression is used: whether its text is printed or compared, its error caught."""

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from primsplit.ir.errors import TraceError
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.managers import suppresses
from primsplit.tracing.places import is_users_own, user_place
from primsplit.tracing.source_nodes import nodes_around, nodes_of_line
from primsplit.tracing.stack import current, levels

_TELLING = frozenset({
    "print", "pprint", "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "write",
})  # fmt: skip
"""The names of functions and methods that show a text to people."""


def is_told(frame: FrameType) -> bool:
    """Whether the expression that the frame evaluates is printed, logged, or the message of an error.

    Also if it is first assigned to a name that the function reads for nothing else. False if the source cannot be read.
    """
    nodes = nodes_around(frame)
    return _are_told(nodes) or _is_told_by_name(nodes)


def is_decided_by(frame: FrameType) -> bool:
    """Whether the text that the frame puts together is compared, or is a key."""
    nodes = nodes_around(frame)
    return any(_is_text(inner) and _decides(node, inner) for node, inner in itertools.pairwise(nodes))


def is_caught(error: type[Exception], *, in_sides: bool = False) -> bool:
    """Whether the function that is recorded would catch such an error, if its handlers are names.

    False if a rule is running, whoever needs it; with `in_sides`, also the sides of joined branches count. Raises
    TraceError if the error would be caught around the call of a function that is recorded on its own, such as a side of
    ps.cond: it does not leave that.
    """
    paths = (level.path for level in (levels() if in_sides else [current()]) if level.path is not None)
    path = next(paths, None)
    if path is None:
        return False
    catching = False
    frame: FrameType | None = frame_out(1)
    while frame is not None and frame.f_code.co_filename != path.caller:
        catching = catching or _has_handler(frame, error)
        frame = frame.f_back
    if not catching and _is_caught_around(frame, path.caller, error):
        raise TraceError(
            f"{error.__name__} may be raised here, in a function that is recorded on its own, and be caught around it",
            place=user_place(),
            cure="Catch it in the function itself, or choose with a condition before it is raised.",
        )
    return catching


def _is_caught_around(frame: FrameType | None, caller: str, error: type[Exception]) -> bool:
    """Whether a function that is recorded would catch it, around the innermost of those: not what calls them all."""
    caught = False
    pending = False
    while frame is not None:
        if frame.f_code.co_filename == caller:
            caught, pending = caught or pending, False
        else:
            pending = pending or _has_handler(frame, error)
        frame = frame.f_back
    return caught


def _has_handler(frame: FrameType, error: type[Exception]) -> bool:
    """Whether the frame's instruction is in a `try` or a `with` of the user's source that may end the error."""
    return _is_tried(frame, error) or suppresses(frame, error, _is_tried)


def _is_tried(frame: FrameType, error: type[Exception]) -> bool:
    """Whether the user's source has the frame's instruction in a `try` with a handler for the error."""
    if not frame.f_code.co_exceptiontable or not is_users_own(frame.f_code.co_filename):
        return False
    nodes = nodes_around(frame)
    return any(_catches(node, inner, error, frame) for node, inner in itertools.pairwise(nodes))


def _catches(node: ast.AST, inner: ast.AST, error: type[Exception], frame: FrameType) -> bool:
    """Whether the node is a `try` that ends the error: with `inner` in its body a handler does, or `finally` leaves."""
    if not isinstance(node, ast.Try):
        return False
    if inner not in node.finalbody and any(isinstance(n, _LEAVING) for s in node.finalbody for n in ast.walk(s)):
        return True
    if inner not in node.body:
        return False
    return any(h.type is None or _may_be(error, _meant(h.type, frame)) for h in node.handlers)


_LEAVING = ast.Return | ast.Break | ast.Continue
"""The statements that forget an error where `finally` has one."""


def _may_be(error: type[Exception], handled: Any) -> bool:
    if isinstance(handled, tuple):
        return any(_may_be(error, each) for each in handled)
    return isinstance(handled, type) and issubclass(error, handled)


def _meant(named: ast.expr, frame: FrameType) -> Any:
    """Return what the names of an expression mean in the frame; None for what is more than names."""
    if isinstance(named, ast.Tuple):
        return tuple(_meant(each, frame) for each in named.elts)
    if isinstance(named, ast.Attribute):
        return getattr(_meant(named.value, frame), named.attr, None)
    if not isinstance(named, ast.Name):
        return None
    spaces: tuple[Mapping[str, Any], ...] = (frame.f_locals, frame.f_globals, frame.f_builtins)
    return next((space[named.id] for space in spaces if named.id in space), None)


def last_name(node: ast.expr) -> str:
    """Return `c` of an expression `a.b.c`, `a` of a name, "" of others."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_attribute_asked(frame: FrameType) -> bool:
    """Whether the frame tests by the text of a name whether an object has an attribute."""
    call = next(iter(nodes_around(frame)[-1:]), None)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"hasattr", "getattr"}


def is_shown_alone(filename: str, line: int, column: int) -> bool:
    """Whether the value of an expression is printed, logged or kept in a list, by a name or a difference too."""
    return _is_shown(nodes_of_line(filename, line, column), frozenset())


def is_computed_with(filename: str, line: int, column: int) -> bool:
    """Whether the value of a call takes part in arithmetic there, or is what a number or a generator is made of.

    A key of a dictionary, an element of a set and what is compared are not computed with.
    """
    nodes = nodes_of_line(filename, line, column)
    own = max((i for i, n in enumerate(nodes) if isinstance(n, ast.Call) and _starts_at(n, line, column)), default=0)
    for inner, node in zip(nodes[own:0:-1], nodes[own - 1 :: -1], strict=False):
        if isinstance(node, ast.stmt) or (isinstance(node, ast.Subscript) and inner is node.slice):
            return False
        if isinstance(node, ast.BinOp):
            return not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str))
        if isinstance(node, ast.Call) and inner is not node.func and last_name(node.func) != "abs":
            return last_name(node.func) in _MADE_OF_NUMBERS
    return False


_MADE_OF_NUMBERS = frozenset({
    "float", "int", "float32", "float64", "array", "asarray", "full", "default_rng", "seed", "Random", "RandomState",
    "SeedSequence", "PRNGKey",
})  # fmt: skip


def _starts_at(node: ast.Call, line: int, column: int) -> bool:
    return (node.lineno, node.col_offset) == (line, column)


def _is_shown(nodes: Sequence[ast.AST], known: frozenset[str]) -> bool:
    if any(isinstance(n, ast.Expr) for n in nodes) and any(_is_call_that_shows(n) for n in nodes):
        return True
    assigned = next((n for n in reversed(nodes) if isinstance(n, ast.Assign | ast.AugAssign)), None)
    scope = next((n for n in reversed(nodes) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)
    if assigned is None or scope is None:
        return False
    targets = assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]
    if all(isinstance(t, ast.Attribute | ast.Subscript) for t in targets):
        return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in nodes)  # a time that was taken
    names = {t.id if isinstance(t, ast.Name) else "" for t in targets}
    reads = (read for name in names - known for read in _reads(scope, name))
    return "" not in names and all(_is_shown(read, known | names) for read in reads)


def _is_call_that_shows(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _TELLING | {"append"}


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))


def _decides(node: ast.AST, inner: ast.AST) -> bool:
    """Whether the node's result depends on the value of its part `inner`."""
    if isinstance(node, ast.Subscript):
        return inner is node.slice
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Match) and inner is node.subject)


def _are_told(nodes: Sequence[ast.AST]) -> bool:
    """Whether one of these nodes, each inside of the one before, shows the next."""
    return any(_tells(node, inner) for node, inner in zip(nodes, [*nodes[1:], None], strict=True))


def _is_told_by_name(nodes: Sequence[ast.AST]) -> bool:
    """Whether a text's name in the function is read only where it is shown, and decides nothing there."""
    places = [k for k, n in enumerate(nodes) if isinstance(n, ast.stmt)]
    scopes = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = nodes[places[-1]] if places else None
    if not (scopes and isinstance(assigned, ast.Assign) and all(map(_makes_text, nodes[places[-1] + 1 :]))):
        return False
    names = {target.id if isinstance(target, ast.Name) else "" for target in assigned.targets}
    outside = {name for n in ast.walk(scopes[-1]) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    reads = [read for name in names for read in _reads(scopes[-1], name)]
    return "" not in names and not names & outside and all(_are_told(r) and not _is_asked_of(r) for r in reads)


def _makes_text(node: ast.AST) -> bool:
    """Whether the node is part of putting a text together."""
    if isinstance(node, ast.Call):
        return _makes_text(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr == "format"
    return isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.BinOp | ast.Constant)


def _reads(node: ast.AST, name: str, around: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.AST, ...]]:
    """Yield, for each read of a name, the nodes that contain it, the outermost first."""
    around = (*around, node)
    if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
        yield around
    for child in ast.iter_child_nodes(node):
        yield from _reads(child, name, around)


def _is_asked_of(nodes: Sequence[ast.AST]) -> bool:
    """Whether a choice or a comparison is among the nodes of the last statement."""
    asking = ast.Compare | ast.Subscript | ast.BoolOp | ast.IfExp | ast.Match
    places = [k for k, n in enumerate(nodes) if isinstance(n, ast.stmt)]
    return any(isinstance(n, asking) for n in nodes[places[-1] :])


def _tells(node: ast.AST, inner: ast.AST | None) -> bool:
    if isinstance(node, ast.Assert):
        return inner is node.msg
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return last_name(node.value.func) in _TELLING
    return False
