"""Rewrites reads of names that joins assign: a name may be unassigned, or hold one of several things.

```
b = a + 1                       b = joins.read(a) + 1
if a is None:                   if joins.compared("Is", joins.told(a), None):
```
"""

import ast
import builtins
from collections.abc import Iterable, Set

from primsplit.frontends.python.conversion.either import COMPARED


class Reads(ast.NodeTransformer):
    """A rewrite of reads: as an `Either` if the code tests which thing it is, else as the one thing possible."""

    helper: str

    def __init__(self) -> None:
        self.uncertain: set[str] = set()
        """The names of the function that a join may leave unassigned, or that may hold an `Either`."""
        self.modules: Set[str] = frozenset()
        """The names of modules that the file imports."""
        self.told: set[ast.expr] = set()
        """The expressions that a name is assigned, whose value may be an `Either`."""
        self.attributes: Set[str] = frozenset()
        """The attributes that the file sets, which may hold an `Either` too."""
        self.holds_none = False
        """Whether the file stores None in lists or dictionaries, so that their elements may be an `Either`."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._called("read", node) if self._is_uncertain(node) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        kinds = ast.Name | ast.Attribute | ast.Subscript if self.holds_none else ast.Name | ast.Attribute
        if all(isinstance(target, kinds) for target in node.targets):
            self.told.add(node.value)
            node.value = self._told(node.value)
        else:
            node.value = self.visit(node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands, kind = [node.left, *node.comparators], type(node.ops[0]).__name__
        is_several = any(self._is_uncertain(each) or self._may_be_users(each) for each in operands)
        is_asked = kind in {"Is", "IsNot"} or (kind in COMPARED and is_several)
        if len(operands) > 2 or not is_asked:
            return self.generic_visit(node)
        return self._called("compared", node, ast.Constant(kind), *map(self._told, operands))

    def _told(self, node: ast.expr) -> ast.expr:
        """Return an expression whose value may be an `Either`, as the code tests which thing it is."""
        if self._is_uncertain(node):
            return self._called("told", node if isinstance(node, ast.Name) else self._of_place(node))
        visited: ast.expr = self.visit(node)
        if isinstance(visited, ast.Call) and self._may_be_users(node):
            visited.func = self._called("taken", visited.func)
        return visited

    def _of_class(self, node: ast.Call) -> ast.expr | None:
        """Return a call of `isinstance`, `hasattr` or `type` as one that accepts an `Either`; None for other calls."""
        match node:
            case ast.Call(ast.Name("isinstance" | "hasattr") as function, [value, what], []):
                node.func, node.args = self._called("telling", function), [self._told(value), self.visit(what)]
                return node
            case ast.Call(ast.Name("type") as function, [value], []):
                return self._called("class_of", node, function, self._told(value))
        return None

    def _given_by_places(self, function: ast.FunctionDef) -> set[str]:
        """Return the names that are assigned attributes or elements which may be an `Either`."""
        assigned = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and self._is_uncertain(n.value)]
        names = {t.id for n in assigned for t in n.targets if isinstance(t, ast.Name)}
        return names | (given_by_parts(function) if self.holds_none else set())

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None:
            self.told.add(node.value)
            is_several = self._is_uncertain(node.value) or isinstance(node.value, ast.IfExp | ast.Call)
            node.value = self._told(node.value)
            node.value = self._called("returned", node.value) if is_several else node.value
        return node

    def _may_be_users(self, node: ast.expr) -> bool:
        """Whether an expression is a call of a function that may be the user's, and may return an `Either`."""
        return may_be_users(node, self.modules)

    def _as_truth(self, node: ast.expr) -> ast.expr:
        """Return a visited test as a condition: the read of an uncertain name becomes a test of its truth value."""
        match node:
            case ast.Call(ast.Attribute(ast.Name(self.helper), "read"), [name]):
                return self._called("truth", node, self._called("told", name))
        return node

    def _of_place(self, node: ast.expr) -> ast.expr:
        """Return an attribute or element with its parts visited."""
        visited: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
        return visited

    def _is_uncertain(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(name, ast.Load()):
                return name in self.uncertain
            case ast.Attribute(_, name, ast.Load()):
                return name in self.attributes
            case ast.Subscript(_, index, ast.Load()):
                return self.holds_none and not isinstance(index, ast.Slice | ast.Tuple)
        return False

    def _called(self, method: str, node: ast.expr, *args: ast.expr) -> ast.expr:
        """Return a call of the helper's method at the lines of the expression, by default with the expression."""
        call = ast.Call(self._helper(method), [*(args or (node,))], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _helper(self, method: str) -> ast.Attribute:
        return ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load())


def may_be_users(node: ast.AST, modules: Set[str]) -> bool:
    """Whether a node is a call of a function that may be the user's; `modules` are names of modules."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Name):
        return not hasattr(builtins, called.id)
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id not in modules


def modules_of(tree: ast.AST) -> set[str]:
    """Return the names of modules that a file imports."""
    names = (name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names)
    return {name.asname or name.name.partition(".")[0] for name in names}


def given_by_calls(nodes: Iterable[ast.AST], modules: Set[str]) -> set[str]:
    """Return the names that are assigned the results of functions that may be the user's."""
    assigned = (n for n in nodes if isinstance(n, ast.Assign) and may_be_users(n.value, modules))
    return {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}


def given_by_parts(tree: ast.AST) -> set[str]:
    """Return the names that are assigned elements of lists and tuples: by loops, comprehensions and `a, b = c`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.For(target) | ast.comprehension(target) | ast.Assign([ast.Tuple() | ast.List() as target]):
                names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def with_copies(names: Set[str], nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names, and those that are assigned one of them by `a = b`."""
    pairs = [
        (node.value.id, target.id)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    all_names = {*names}
    while more := {target for name, target in pairs if name in all_names} - all_names:
        all_names |= more
    return all_names


def attributes_set(tree: ast.AST) -> set[str]:
    """Return the attributes that a file sets."""
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}


def holds_none(tree: ast.AST) -> bool:
    """Whether a file stores None in lists or dictionaries."""
    for node in ast.walk(tree):
        match node:
            case ast.List(parts) | ast.Dict(_, parts) if any(map(_is_none, parts)):
                return True
            case ast.Assign([ast.Subscript(), *_], value) if _is_none(value):
                return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
