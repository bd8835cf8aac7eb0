"""Reads names that joins assign in a rewritten file: some may have no value, or be one of several things."""

import ast
import builtins
from collections.abc import Iterable, Set

from primsplit.frontends.python.conversion.either import COMPARED


class Reads(ast.NodeTransformer):
    """Writes reads of names: as told apart where that is asked, and otherwise as what they surely are."""

    helper: str

    def __init__(self) -> None:
        self.uncertain: set[str] = set()
        """The names of the function that a join may leave without a value, which is asked at each read of them."""
        self.modules: Set[str] = frozenset()
        """The names that the file's imports give modules."""
        self.told: set[ast.expr] = set()
        """The expressions whose value may be one of several things, which a name is given."""
        self.attributes: Set[str] = frozenset()
        """The attributes that the file sets, which may be one of several things too."""
        self.holds_none = False
        """Whether lists or dictionaries of the file are given None, so that their elements may be."""

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
        """An expression whose value may be one of several things; of a name, without asking which."""
        if self._is_uncertain(node):
            return self._called("told", node if isinstance(node, ast.Name) else self._of_place(node))
        found: ast.expr = self.visit(node)
        if isinstance(found, ast.Call) and self._may_be_users(node):
            found.func = self._called("taken", found.func)
        return found

    def _of_class(self, node: ast.Call) -> ast.expr | None:
        """A call of `isinstance`, `hasattr` or `type`, which ask for the class of something; None for another."""
        match node:
            case ast.Call(ast.Name("isinstance" | "hasattr") as function, [value, what], []):
                node.func, node.args = self._called("telling", function), [self._told(value), self.visit(what)]
                return node
            case ast.Call(ast.Name("type") as function, [value], []):
                return self._called("class_of", node, function, self._told(value))
        return None

    def _given_by_places(self, function: ast.FunctionDef) -> set[str]:
        """The names that are given attributes or elements which may be one of several things."""
        assigned = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and self._is_uncertain(n.value)]
        found = {t.id for n in assigned for t in n.targets if isinstance(t, ast.Name)}
        return found | (given_by_parts(function) if self.holds_none else set())

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None:
            self.told.add(node.value)
            is_several = self._is_uncertain(node.value) or isinstance(node.value, ast.IfExp | ast.Call)
            node.value = self._told(node.value)
            node.value = self._called("returned", node.value) if is_several else node.value
        return node

    def _may_be_users(self, node: ast.expr) -> bool:
        """True for a call of what may be a function of the user's, which may return one of several things."""
        return may_be_users(node, self.modules)

    def _as_truth(self, node: ast.expr) -> ast.expr:
        """A test that is visited, as a condition: of a name that may be several things, which of them are true."""
        match node:
            case ast.Call(ast.Attribute(ast.Name(self.helper), "read"), [name]):
                return self._called("truth", node, self._called("told", name))
        return node

    def _of_place(self, node: ast.expr) -> ast.expr:
        """An attribute or element whose parts are visited."""
        found: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
        return found

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
        """A call of the helper, of an expression or, in its place, of what is given."""
        made = ast.Call(self._helper(method), [*(args or (node,))], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _helper(self, method: str) -> ast.Attribute:
        return ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load())


def may_be_users(node: ast.AST, modules: Set[str]) -> bool:
    """True for a call of what may be a function of the user's; `modules` are names of modules."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Name):
        return not hasattr(builtins, called.id)
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id not in modules


def modules_of(tree: ast.AST) -> set[str]:
    """The names that imports of a file give modules."""
    names = (name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names)
    return {name.asname or name.name.partition(".")[0] for name in names}


def given_by_calls(nodes: Iterable[ast.AST], modules: Set[str]) -> set[str]:
    """The names that are given what functions of the user's may return."""
    assigned = (n for n in nodes if isinstance(n, ast.Assign) and may_be_users(n.value, modules))
    return {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}


def given_by_parts(tree: ast.AST) -> set[str]:
    """The names that are given elements of lists and tuples: by loops, comprehensions and `a, b = c`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.For(target) | ast.comprehension(target) | ast.Assign([ast.Tuple() | ast.List() as target]):
                found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return found


def with_copies(names: Set[str], nodes: Iterable[ast.AST]) -> set[str]:
    """The names, and those that are given what one of these holds, by `a = b`."""
    pairs = [
        (node.value.id, target.id)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    found = {*names}
    while more := {target for name, target in pairs if name in found} - found:
        found |= more
    return found


def attributes_set(tree: ast.AST) -> set[str]:
    """The attributes that a file sets."""
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}


def holds_none(tree: ast.AST) -> bool:
    """True for a file that puts None into lists or dictionaries."""
    for node in ast.walk(tree):
        match node:
            case ast.List(parts) | ast.Dict(_, parts) if any(map(_is_none, parts)):
                return True
            case ast.Assign([ast.Subscript(), *_], value) if _is_none(value):
                return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
