"""Finds the `if` statements that may be joined: their sides only assign to names and elements.

Both sides of such a statement can be run one after the other, and an If selects from their results.

    if c:                           Effects(read={"b", "np"}, assigned={"a"}, bound={"a"}, calls={("np", "sin")})
        a = np.sin(b)
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from primsplit.frontends.python.conversion.exits import Part, Steps
from primsplit.frontends.python.conversion.holders import HELPER

Callee = tuple[str, ...]
"""The called expression as names: ("np", "sin"). RESULT stands for the result of a call: ("ps", "grad", "()")."""
RESULT = "()"


@dataclass
class Effects:
    """The effects of statements or expressions: the names that they read and assign, and what they call.

    Of the assigned names, `bound` are assigned by `=`. `written` are the names whose array may be written to, `inner`
    those that a comprehension assigns to elements, and `attributes` the attribute chains that are read without a call:
    ("self", "mass"). `fills` tells whether a method that changes lists or dictionaries is called.
    """

    read: set[str] = field(default_factory=set)
    attributes: set[Callee] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    calls: set[Callee] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    fills: bool = False


FILLING = frozenset({
    "append", "clear", "extend", "fill", "insert", "partition", "pop", "popitem", "put", "remove", "reverse",
    "setdefault", "sort", "update",
})  # fmt: skip
"""The methods that change a list, a dictionary or an array."""
_WRITING = ("overwrite", "file")
"""Prefixes of keywords with which a function writes, where the write is not noted."""


_CONTEXTS = frozenset({"errstate", "printoptions", "catch_warnings", "nullcontext"})
"""The context managers of NumPy and Python that a `with` may enter."""


class Refused(Exception):
    """The statement does more than assign to names and elements; `why` states the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


REASONS: dict[type[ast.AST], str] = {
    ast.Raise: "it raises an error: give a name a flag instead, and test that",
    ast.Assert: "it asserts",
    ast.Return: "it returns from inside of another statement",
    ast.Break: "it leaves a loop from inside of another statement",
    ast.Continue: "it goes on with a loop from inside of another statement",
    ast.FunctionDef: "it defines a function",
    ast.ClassDef: "it defines a class",
    ast.Delete: "it deletes a name",
    ast.Global: "it gives values to names of its module",
    ast.Nonlocal: "it gives values to names of the function around it",
    ast.Import: "it imports",
    ast.ImportFrom: "it imports",
    ast.Yield: "it yields",
    ast.YieldFrom: "it yields",
    ast.NamedExpr: "it gives a name a value with :=",
}


def _refusal(node: ast.AST) -> Refused:
    """Return the error for a statement or expression of this kind."""
    return Refused(REASONS.get(type(node), f"it has a {type(node).__name__} in it"))


def effects(nodes: Iterable[ast.AST], *, returns: bool = False, is_noted: bool = True) -> Effects:
    """Return the effects of statements or expressions. Raises Refused for one that may have others.

    `returns` allows `return`, as in the body of a function. If `is_noted`, writes are noted by the code and allowed.
    """
    reader = _Reader(returns, is_noted)
    for node in nodes:
        reader.visit(node)
    return reader.found


def names_of_others(function: ast.FunctionDef) -> set[str]:
    """Return the names of a function that other scopes see: its module, enclosing and inner functions."""
    names: set[str] = set()
    for node in _of_scope(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        elif isinstance(node, _SCOPES):
            names |= _free(node)
    return names


_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function; of the functions in it, only their own node."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _of_scope(child)


def _free(function: ast.AST) -> set[str]:
    """Return the names that a function may read or assign which are not local to it."""
    parts = [*_of_scope(function)]
    used = {n.id for n in parts if isinstance(n, ast.Name)}.union(*(_free(n) for n in parts if isinstance(n, _SCOPES)))
    declared = {name for n in parts if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    own = {a.arg for a in parts if isinstance(a, ast.arg)}
    if not any(isinstance(n, ast.ClassDef | ast.comprehension) for n in parts):  # these have scopes of their own
        own |= {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (used | declared) - (own - declared)


def declared(function: ast.FunctionDef, kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    """Return the names that a function declares `global` or `nonlocal`, by `kind`."""
    return {name for node in _of_scope(function) if isinstance(node, kind) for name in node.names}


def stored(node: ast.AST) -> set[str]:
    """Return the names that are assigned somewhere in a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def own_names(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function assigns, and its parameters."""
    return stored(function) | {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}


def always_assigned(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that are assigned after the statements, on every path through them."""
    names: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.If):
            names |= always_assigned(statement.body) & always_assigned(statement.orelse)
        elif isinstance(statement, ast.Try):
            ways = [[*statement.body, *statement.orelse], *(h.body for h in statement.handlers)]
            names |= set.intersection(*map(always_assigned, ways)) | always_assigned(statement.finalbody)
        elif not isinstance(statement, ast.For | ast.While | Steps):
            names |= stored(statement)
    return names


_HARMLESS = (
    ast.If, ast.Pass, ast.Expr, ast.Assign, ast.AnnAssign, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop,
    ast.boolop, ast.Constant, ast.Load, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List,
    ast.Starred, ast.Dict, ast.keyword, ast.Slice, ast.JoinedStr, ast.FormattedValue, ast.ListComp, ast.GeneratorExp,
)  # fmt: skip
"""The kinds of nodes without effects beyond those of their parts."""


class _Reader(ast.NodeVisitor):
    """Collects effects, and raises Refused at a node that may have others."""

    def __init__(self, returns: bool, is_noted: bool) -> None:
        self.found = Effects()
        self.returns, self.is_noted = returns, is_noted
        self.loops = 0
        """The number of loops around the visited node."""

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, _HARMLESS):
            raise _refusal(node)
        super().generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if not self.returns:
            raise _refusal(node)
        super().generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        """Visit the body: `np.errstate(...)` and the like do not affect what is traced."""
        calls = [item.context_expr for item in node.items if item.optional_vars is None]
        names = [_names_of(call.func) for call in calls if isinstance(call, ast.Call)]
        if not all(name and name[-1] in _CONTEXTS for name in names) or len(names) < len(node.items):
            raise Refused("it enters a context")
        for part in (*calls, *node.body):
            self.visit(part)

    def visit_Try(self, node: ast.Try) -> None:
        """Visit all parts: a caught error depends on known values, or its `raise` is a branch of its own."""
        if any(handler.name is not None for handler in node.handlers):
            raise Refused("it gives the error that it catches a name")  # Python deletes that name afterwards
        types = [handler.type for handler in node.handlers if handler.type is not None]
        handled = [statement for handler in node.handlers for statement in handler.body]
        for part in (*node.body, *types, *handled, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        if not (self.returns and self.is_noted):
            raise _refusal(node)

    def visit_For(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise Refused("it has a loop with an else")
        self._visit_loop(node)

    def visit_While(self, node: ast.While) -> None:
        self.visit_For(node)

    def visit_Steps(self, node: Steps) -> None:
        self._visit_loop(node)

    def visit_Part(self, node: Part) -> None:
        super().generic_visit(node)

    def _visit_loop(self, node: ast.AST) -> None:
        self.loops += 1
        super().generic_visit(node)
        self.loops -= 1

    def visit_Break(self, node: ast.Break | ast.Continue) -> None:
        if not self.loops:
            raise _refusal(node)
        super().generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.visit_Break(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit the body, as if the function were called where it is defined."""
        self.found.inner.update(a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg))
        for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None), node.body):
            self.visit(part)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        names = [n for n in ast.walk(node.target) if not isinstance(n, ast.Tuple | ast.List | ast.expr_context)]
        if not all(isinstance(name, ast.Name) for name in names) or node.is_async:
            raise Refused("it has a comprehension that gives values to more than names")
        self.found.inner.update(name.id for name in names if isinstance(name, ast.Name))
        for part in (node.iter, *node.ifs):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id.startswith(HELPER):
            return
        if isinstance(node.ctx, ast.Store):
            self.found.assigned.add(node.id)
            self.found.bound.add(node.id)
        else:
            self.found.read.add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Count `a += b` as an assignment of the name, and as a write to its array."""
        if isinstance(node.target, ast.Name):
            self.found.assigned.add(node.target.id)
            self.found.written.add(node.target.id)
        else:
            self.visit(node.target)
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            self.found.written.add(node.value.id)
        elif not isinstance(node.ctx, ast.Load) and (isinstance(node.ctx, ast.Del) or not self.is_noted):
            raise Refused("it deletes or sets elements")
        self.visit(node.value)
        self.visit(node.slice)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Del) or (isinstance(node.ctx, ast.Store) and not self.is_noted):
            raise Refused("it deletes or sets attributes")
        if isinstance(node.ctx, ast.Load) and (chain := _names_of(node)) is not None:
            self.found.attributes.update([] if chain[0].startswith(HELPER) else [chain])
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        names = [keyword.arg or "out" for keyword in node.keywords]
        if any(n.startswith(_WRITING) or (n.startswith("out") and not self.is_noted) for n in names):
            raise Refused("it calls with keywords that may have it write")
        if self.is_noted and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING:
            self.found.fills = True
        elif not _is_helpers(node.func):
            self.found.calls.add(_written_as(node.func))
        self.visit(node.func.value if isinstance(node.func, ast.Attribute) else node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)


def _is_helpers(called: ast.expr) -> bool:
    """Whether an expression is a call of the helper of a rewritten file."""
    return (_names_of(called) or ("",))[0].startswith(HELPER)


def _names_of(node: ast.expr) -> Callee | None:
    """Return `np.linalg.norm` as its names; None for an expression that does not begin with a name."""
    if isinstance(node, ast.Name):
        return (node.id,)
    owner = _names_of(node.value) if isinstance(node, ast.Attribute) else None
    return (*owner, node.attr) if owner is not None and isinstance(node, ast.Attribute) else None


def _written_as(node: ast.expr) -> Callee:
    """Return the names of a called expression; of a method of an expression, an empty name and the method's."""
    if isinstance(node, ast.Call) and (made_by := _names_of(node.func)) is not None:
        return (*made_by, RESULT)
    names = _names_of(node)
    if names is None and not isinstance(node, ast.Attribute):
        raise Refused("it calls what an expression gives")
    return ("", node.attr) if names is None and isinstance(node, ast.Attribute) else names or ()
