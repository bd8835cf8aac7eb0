"""Rewrites control flow into plainer forms with the same meaning, whose branches may be joined.

```
def f(a):                       def f(a):
    if a > 0:                       if a > 0:
        return b                        result = b
    c                               else:
    return d                            c
                                        result = d
                                    return result
```
"""

import ast
import copy
import itertools
from collections.abc import Callable, Sequence, Set

from primsplit.frontends.python.converter.transformer import at

RESULT = "_joined_result"
"""The name that holds the result of a function whose branches return."""


def without_continues(function: ast.FunctionDef, asks: Callable[[ast.expr], bool]) -> None:
    """Rewrite the loops of a function: what follows an `if` that ends in `continue` moves into its `else`."""
    _WithoutContinue(asks).generic_visit(function)


def _without_continue(body: list[ast.stmt], skipped: str) -> list[ast.stmt]:
    """Return the body of a loop with what follows a `continue` in the `else` of its `if`.

    If a side may continue or not, it sets the name `skipped`, and a test of that name guards what follows.
    """
    for k, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return [*body[:k], at(node, ast.Pass())]
        if not isinstance(node, ast.If) or not _goes_on(node):
            continue
        rest, then, otherwise = body[k + 1 :], [*node.body], [*node.orelse]
        if isinstance(then[-1], ast.Continue):
            otherwise += rest
        elif otherwise and isinstance(otherwise[-1], ast.Continue):
            then += rest
        elif rest:
            marked = at(node, ast.If(node.test, _marked(then, skipped), _marked(otherwise, skipped)))
            test = ast.copy_location(ast.UnaryOp(ast.Not(), ast.Name(skipped, ast.Load())), node.test)
            behind = at(node.test, ast.If(test, _without_continue(rest, skipped), []))
            return [*body[:k], at(node, assignment(skipped, False)), marked, behind]
        sides = (_without_continue(side, skipped) for side in (then, otherwise))
        return [*body[:k], at(node, ast.If(node.test, *sides))]
    return body


def _marked(body: list[ast.stmt], skipped: str) -> list[ast.stmt]:
    """Return statements that set the name `skipped` in place of `continue`."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return [*body[:k], at(node, assignment(skipped, True))]
        if isinstance(node, ast.If) and _goes_on(node):
            first = at(node, ast.If(node.test, _marked(node.body, skipped), _marked(node.orelse, skipped)))
            test = ast.copy_location(ast.UnaryOp(ast.Not(), ast.Name(skipped, ast.Load())), node.test)
            rest = body[k + 1 :]
            behind = [at(node.test, ast.If(test, _marked(rest, skipped), []))] if rest else []
            return [*body[:k], first, *behind]
    return body


def assignment(name: str, value: bool) -> ast.stmt:
    """Return the statement that assigns True or False to a name."""
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def _goes_on(node: ast.AST) -> bool:
    """Whether a statement is a branch with a `continue`, inside of nothing but branches."""
    if isinstance(node, ast.If):
        return any(isinstance(n, ast.Continue) or _goes_on(n) for n in (*node.body, *node.orelse))
    return False


def with_names_before(function: ast.FunctionDef, asks: Callable[[ast.expr], bool]) -> None:
    """Move an assignment with which a test begins, as in `if (n := f(x)) > 1`, to a statement before the test.

    A `while` with such a test becomes an endless one with a `break`. `asks` is that of `with_one_return`.
    """
    if any(asks(n.test) for n in ast.walk(function) if isinstance(n, ast.If | ast.While)):
        _NamesBefore(asks).generic_visit(function)


def as_sum_of_choices(node: ast.Call, asks: Callable[[ast.expr], bool]) -> None:
    """Rewrite `sum(a for k in b if c)` to `sum(a if c else 0 for k in b)` if a test satisfies `asks`."""
    match node:
        case ast.Call(ast.Name("sum"), [ast.GeneratorExp() | ast.ListComp() as terms], []):
            last = terms.generators[-1]
            if any(map(asks, last.ifs)):
                test = last.ifs[0] if len(last.ifs) == 1 else ast.BoolOp(ast.And(), last.ifs)
                chosen = ast.IfExp(ast.copy_location(test, last.ifs[0]), terms.elt, ast.Constant(0))
                terms.elt, last.ifs = ast.fix_missing_locations(ast.copy_location(chosen, last.ifs[0])), []


def as_sum_of_ones(node: ast.Call, asks: Callable[[ast.expr], bool]) -> None:
    """Rewrite `len([k for k in b if c])` to `sum([1 for k in b if c])` if a test satisfies `asks`."""
    match node:
        case ast.Call(ast.Name("len") as function, [ast.ListComp(ast.Name(term)) as terms], []):
            last = terms.generators[-1]
            if isinstance(last.target, ast.Name) and last.target.id == term and any(map(asks, last.ifs)):
                function.id = "sum"
                terms.elt = ast.copy_location(ast.Constant(1), terms.elt)


def binds(tree: ast.AST, name: str) -> bool:
    """Whether a file may assign the name of a builtin somewhere."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(given, ast.Store() | ast.Del()) | ast.arg(given) if given == name:
                return True
            case ast.FunctionDef(given) | ast.AsyncFunctionDef(given) | ast.ClassDef(given) if given == name:
                return True
            case ast.alias(imported, given) if name in {imported, given} or imported == "*":
                return True
    return False


def as_choice(node: ast.expr) -> ast.expr:
    """Return `a or b` as `a if a else b`, and `a and b` as `b if a else a`, where `a` is a name.

    A call of `bool` and a `not` become conditional expressions of True and False.
    """
    match node:
        case ast.Call(ast.Name("bool"), [test], []):
            return _truth(test, node, then=True)
        case ast.UnaryOp(ast.Not(), test):
            return _truth(test, node, then=False)
    if not isinstance(node, ast.BoolOp) or not isinstance(node.values[0], ast.Name):
        return node
    first, *others = node.values
    other = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(node.op, others), node)
    sides = (other, first) if isinstance(node.op, ast.And) else (first, other)
    return ast.copy_location(ast.IfExp(first, *sides), node)


def _truth(test: ast.expr, node: ast.expr, *, then: bool) -> ast.expr:
    """Return a test as a conditional expression of the constants True and False."""
    chosen = ast.IfExp(test, ast.Constant(then), ast.Constant(not then))
    return ast.fix_missing_locations(ast.copy_location(chosen, node))


def with_one_return(function: ast.FunctionDef, asks: Callable[[ast.expr], bool]) -> bool:
    """Rewrite a function so that its branches assign the result, which its last statement returns.

    Return whether that was possible. `asks` tells whether a test is on a line where a traced condition was tested.
    """
    branches = [n for n in function.body if isinstance(n, ast.If) and _returns(n)]
    if not any(asks(n.test) for b in branches for n in ast.walk(b) if isinstance(n, ast.If)):
        return False
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function)):
        return False
    body = _with_result(function.body)
    if body is None:
        return False
    last = function.body[-1]
    function.body = [*body, at(last, ast.Return(ast.Name(RESULT, ast.Load())))]
    return True


def _with_result(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """Return statements that assign the result in place of `return`; None if a loop or another block returns."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Return):
            return [*body[:k], _result(node, node.value or ast.Constant(None))]
        if not _returns(node):
            continue
        if not isinstance(node, ast.If):
            return None
        then, otherwise = _sides(node, body[k + 1 :])
        if then is None or otherwise is None:
            return None
        return [*body[:k], at(node, ast.If(node.test, then, otherwise))]
    return [*body, _result(body[-1], ast.Constant(None))] if body else None


def _sides(node: ast.If, rest: Sequence[ast.stmt]) -> tuple[list[ast.stmt] | None, list[ast.stmt] | None]:
    """Return both sides of a branch, each followed by the `rest` unless it returns."""
    then, otherwise = [*node.body], [*node.orelse]
    if rest and _ends(then):
        otherwise += rest
    elif rest and _ends(otherwise):
        then += rest
    elif rest:
        return None, None
    return _with_result(then), _with_result(otherwise or [at(node, ast.Pass())])


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements always return."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.Return)


def _returns(node: ast.AST) -> bool:
    """Whether a statement may return from its function."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return any(map(_returns, ast.iter_child_nodes(node)))


def _result(node: ast.stmt, value: ast.expr) -> ast.stmt:
    return at(node, ast.Assign([ast.Name(RESULT, ast.Store())], value))


class OwnStatements(ast.NodeTransformer):
    """A rewrite of a function's statements that leaves the functions and classes inside of it unchanged.

    `asks` tells whether a test is on a line where a traced condition was tested; `numbers` make new names unique.
    """

    def __init__(self, asks: Callable[[ast.expr], bool]) -> None:
        self.asks = asks
        self.numbers = itertools.count()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


class _WithoutContinue(OwnStatements):
    def visit_For(self, node: ast.For) -> ast.AST:
        return self._written(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._written(node)

    def _written(self, node: ast.For | ast.While) -> ast.AST:
        node.body = _without_continue(node.body, f"_joined_skipped_{next(self.numbers)}")
        return self.generic_visit(node)


class _NamesBefore(OwnStatements):
    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        _part_terms(node)
        self.generic_visit(node)
        assignment, node.test = _taken_out(node.test)
        return [_assigned(assignment), node] if assignment else node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if node.orelse:
            return node
        assignment, test = _taken_out(node.test)
        if assignment:
            end = at(node.test, ast.If(ast.UnaryOp(ast.Not(), test), [at(node.test, ast.Break())], []))
            node.test = ast.copy_location(ast.Constant(True), node.test)
            node.body = [_assigned(assignment), end, *node.body]
        return node


def _part_terms(node: ast.If) -> None:
    """Rewrite `if a and (n := b): c` to nested branches, so that the assignment begins a test.

    `if a or (n := b): c` becomes two branches with the body `c`. The test stays as it is unless the part that is
    duplicated is short.
    """
    if not isinstance(node.test, ast.BoolOp):
        return
    terms, is_and = node.test.values, isinstance(node.test.op, ast.And)
    k = next((k for k, term in enumerate(terms) if k > 0 and _gives_names(term)), 0)
    twice = node.orelse if is_and else node.body
    if not k or not _may_be_copied(twice):
        return
    before, behind = (_all_of(node.test, part) for part in (terms[:k], terms[k:]))
    node.test, again = before, copy.deepcopy(twice)
    if is_and:
        node.body = [ast.copy_location(ast.If(behind, node.body, again), behind)]
    else:
        node.orelse = [ast.copy_location(ast.If(behind, again, node.orelse), behind)]


_SHORT = 256
"""The most syntax nodes that are duplicated: in a chain of such tests, each doubles what follows it."""


def _may_be_copied(body: Sequence[ast.stmt]) -> bool:
    nodes = [inner for part in body for inner in ast.walk(part)]
    return len(nodes) <= _SHORT and not any(isinstance(n, ast.FunctionDef | ast.Lambda | ast.ClassDef) for n in nodes)


def _gives_names(term: ast.expr) -> bool:
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(term))


def _all_of(test: ast.BoolOp, terms: list[ast.expr]) -> ast.expr:
    return terms[0] if len(terms) == 1 else ast.copy_location(ast.BoolOp(test.op, terms), test)


def _assigned(given: ast.NamedExpr) -> ast.stmt:
    return at(given, ast.Assign([ast.Name(given.target.id, ast.Store())], given.value))


def _taken_out(test: ast.expr) -> tuple[ast.NamedExpr | None, ast.expr]:
    """Return the assignment that a test evaluates first, or None, and the test with the name in its place."""
    assignment = None
    match test:
        case ast.NamedExpr():
            return test, ast.copy_location(ast.Name(test.target.id, ast.Load()), test)
        case ast.BoolOp():
            assignment, test.values[0] = _taken_out(test.values[0])
        case ast.Compare(ast.Constant()):
            assignment, test.comparators[0] = _taken_out(test.comparators[0])
        case ast.BinOp(ast.Constant()):
            assignment, test.right = _taken_out(test.right)
        case ast.Compare() | ast.BinOp():
            assignment, test.left = _taken_out(test.left)
        case ast.UnaryOp():
            assignment, test.operand = _taken_out(test.operand)
        case ast.Call(ast.Name(), [first, *others]):
            assignment, argument = _taken_out(first)
            test.args = [argument, *others]
    return assignment, test


def bound(names: Set[str]) -> ast.stmt:
    """Return a statement that makes names local to the function in which it stands, also if only sides assign them."""
    assignments: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in sorted(names)]
    return ast.If(ast.Constant(False), assignments, [])
