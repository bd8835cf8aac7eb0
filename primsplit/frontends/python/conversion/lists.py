"""Rewrites the uses of a list that grows on one side of a branch, and that only one name holds, as calls.

```
seen = []                       seen = joins.grown([])
seen.append(a)                  seen = joins.appended(seen, a)
for b in seen:                  for k in joins.places(seen):
    c                               if joins.is_behind(seen, k):
                                        break
                                    b = joins.element(seen, k)
                                    c
```
"""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import TypeGuard

from primsplit.frontends.python.conversion.exits import Asks
from primsplit.frontends.python.conversion.plainer import OwnStatements
from primsplit.frontends.python.converter.transformer import at


def with_growing(function: ast.FunctionDef, own: Set[str], helper: str, asks: Asks, *, grows: bool) -> set[int]:
    """Rewrite the growing lists of a function, among its `own` names; return the lines of the loops over them.

    A list grows in a comprehension with a test that satisfies `asks` and, if the function `grows` lists, where it is
    appended to. `helper` is the name of the object whose methods are called. A list with any unsupported use is left
    unchanged.
    """
    uses = _Uses(asks)
    uses.generic_visit(function)
    names = {n for n in uses.chosen | (uses.appended & uses.made if grows else set()) if uses.served[n] == uses.all[n]}
    if not names & own:
        return set()
    writer = _Lists(names & own, helper, asks)
    writer.generic_visit(function)
    return writer.lines


class _Uses(OwnStatements):
    """Counts all uses of each name, and the uses that the rewrite supports.

    `made` are the names that are assigned a new list, `appended` those whose list is appended to, and `chosen` those
    that are assigned a comprehension with a traced test.
    """

    def __init__(self, asks: Asks) -> None:
        super().__init__(asks)
        self.all: Counter[str] = Counter()
        self.served: Counter[str] = Counter()
        self.made: set[str] = set()
        self.chosen: set[str] = set()
        self.appended: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.all[node.id] += 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in _served(node):
            self.served[name] += 1
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_new_list(node.value):
            self.made.update(_served(node))
        if isinstance(node, ast.Assign) and _is_chosen(node.value, self.asks):
            self.chosen.update(_names(node.targets))
            self.served.update(_names(node.targets))
        if isinstance(node, ast.Expr):
            self.appended.update(_served(node))
        return super().generic_visit(node)


def _served(node: ast.AST) -> list[str]:
    """Return the names of the lists that a statement or expression uses in a supported way."""
    match node:
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if _is_new_list(value):
            return [name]
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [_], [])):
            return [name]
        case ast.Call(ast.Name("len" | "sum" | "max" | "min"), [ast.Name(name)], []):
            return [name]
        case ast.Call(ast.Attribute(ast.Name("np" | "numpy")), [ast.Name(name)], _):
            return [name]
        case ast.Subscript(ast.Name(name), index, ast.Load()) if _is_known(index):
            return [name]
        case ast.For(_, ast.Name(name), body, []) if not any(_changes(n, name) for b in body for n in ast.walk(b)):
            return [name]
        case ast.If(test) | ast.IfExp(test) | ast.While(test):
            return [term.id for term in _truths(test)]
    return []


def _changes(node: ast.AST, name: str) -> bool:
    """Whether a node appends to the list with this name, or assigns the name."""
    match node:
        case ast.Name(given, ast.Store()) | ast.Attribute(ast.Name(given), "append"):
            return given == name
    return False


def _is_new_list(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List) and not any(isinstance(e, ast.Starred) for e in value.elts)


def _is_known(index: ast.expr) -> bool:
    match index:
        case ast.Constant(int()) | ast.UnaryOp(ast.USub(), ast.Constant(int())):
            return True
    return False


def _truths(test: ast.expr) -> list[ast.Name]:
    """Return the names in a test whose truth value is tested."""
    match test:
        case ast.Name():
            return [test]
        case ast.UnaryOp(ast.Not(), term):
            return _truths(term)
        case ast.BoolOp(_, terms):
            return [name for term in terms for name in _truths(term)]
    return []


def _is_chosen(value: ast.expr, asks: Asks) -> TypeGuard[ast.ListComp]:
    """Whether a value is a list comprehension over one iterable, with a test that `asks`, and without inner scopes."""
    match value:
        case ast.ListComp(_, [ast.comprehension(_, _, [_, *_] as tests, 0)]):
            return any(map(asks, tests)) and not any(isinstance(n, _SCOPES) for n in ast.walk(value) if n is not value)
    return False


_SCOPES = ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp | ast.NamedExpr


def _names(targets: Sequence[ast.expr]) -> list[str]:
    """Return the name that a statement assigns, in a list; an empty list for other targets."""
    return [t.id for t in targets if isinstance(t, ast.Name)] if len(targets) == 1 else []


class _Renamed(ast.NodeVisitor):
    """Renames variables in place."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self.names.get(node.id, node.id)


class _Lists(OwnStatements):
    """Rewrites the uses of lists as calls."""

    def __init__(self, names: Set[str], helper: str, asks: Asks) -> None:
        super().__init__(asks)
        self.names, self.helper = names, helper
        self.lines: set[int] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if _is_chosen(node.value, self.asks) and not self.names.isdisjoint(_names(node.targets)):
            return self._gone_through(node, node.value)
        return self._made(node)

    def _gone_through(self, node: ast.Assign, chosen: ast.ListComp) -> list[ast.stmt]:
        """Return a comprehension as a loop; its target is renamed, as a comprehension has its own scope."""
        (terms,) = chosen.generators
        own = {n.id: f"_joined_{n.id}_{next(self.numbers)}" for n in ast.walk(terms.target) if isinstance(n, ast.Name)}
        for part in (terms.target, chosen.elt, *terms.ifs):
            _Renamed(own).visit(part)
        name = _names(node.targets)[0]
        test = (
            terms.ifs[0] if len(terms.ifs) == 1 else ast.copy_location(ast.BoolOp(ast.And(), terms.ifs), terms.ifs[0])
        )
        grown = ast.Assign([ast.Name(name, ast.Store())], self._call(node, "grown", ast.List([], ast.Load())))
        longer = self._call(node, "appended", ast.Name(name, ast.Load()), chosen.elt)
        more = ast.If(test, [ast.Assign([ast.Name(name, ast.Store())], longer)], [])
        return [at(node, grown), at(node, ast.For(terms.target, terms.iter, [at(terms.ifs[0], more)], []))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self._made(node)

    def _made(self, node: ast.Assign | ast.AnnAssign) -> ast.AST:
        is_list = self._is_served(node)
        self.generic_visit(node)
        if is_list and node.value is not None:
            node.value = self._call(node.value, "grown", node.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        is_append = self._is_served(node)
        self.generic_visit(node)
        match node.value:
            case ast.Call(ast.Attribute(ast.Name(name) as held), [element]) if is_append:
                return at(node, ast.Assign([ast.Name(name, ast.Store())], self._call(node, "appended", held, element)))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_served = self._is_served(node)
        self.generic_visit(node)
        match node.func:
            case ast.Name("len" | "sum" as name) if is_served:
                return self._call(node, {"len": "length", "sum": "total"}[name], node.args[0])
            case ast.Name("max" | "min" as name) if is_served:
                return self._call(node, "extreme", ast.Constant(name), node.func, node.args[0])
            case ast.Attribute(ast.Name()) if is_served:
                node.args[0] = self._call(node, "whole", node.args[0])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, "element", node.value, node.slice) if self._is_served(node) else node

    def visit_For(self, node: ast.For) -> ast.AST:
        is_served = self._is_served(node)
        self.generic_visit(node)
        if not is_served:
            return node
        self.lines.add(node.iter.lineno)
        place: ast.expr = ast.Name(f"_joined_place_{next(self.numbers)}", ast.Load())
        first = at(node.iter, ast.If(self._call(node.iter, "is_behind", node.iter, place), [ast.Break()], []))
        assigned = at(node.iter, ast.Assign([node.target], self._call(node.iter, "element", node.iter, place)))
        target = ast.Name(place.id, ast.Store()) if isinstance(place, ast.Name) else place
        return at(node, ast.For(target, self._call(node.iter, "places", node.iter), [first, assigned, *node.body], []))

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._tested(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._tested(node)

    def _tested(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        node.test = self._as_counts(node.test)
        self.generic_visit(node)
        return node

    def _as_counts(self, test: ast.expr) -> ast.expr:
        """Return a test in which a list is true if it has elements."""
        match test:
            case ast.Name(name) if name in self.names:
                some = ast.Compare(self._call(test, "length", test), [ast.Gt()], [ast.Constant(0)])
                return ast.fix_missing_locations(ast.copy_location(some, test))
            case ast.UnaryOp(ast.Not()):
                test.operand = self._as_counts(test.operand)
            case ast.BoolOp():
                test.values = [*map(self._as_counts, test.values)]
        return test

    def _is_served(self, node: ast.AST) -> bool:
        return not self.names.isdisjoint(_served(node))

    def _call(self, node: ast.AST, method: str, *args: ast.expr) -> ast.Call:
        helper = ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Call(helper, [*args], []), node))
