"""Rewrites a user's file so that both sides of each statement that may be joined are functions.

    if test:                    def true(v):
        v = a                       v = a
    else:                           return v,
        v = b                   def false(v):
                                    v = b
                                    return v,
                                v, = joins.statement(0, test, true, false)

What a side writes to, as in `a[i] = b` or `a.v = b`, it asks for as `joins.changing(a)`: see `journal`. So does every
function of the file, which a side may call.
"""

import ast
import itertools
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from primsplit.frontends.python.conversion.caught import without_raising
from primsplit.frontends.python.conversion.exits import Steps, made_here, with_item, with_steps
from primsplit.frontends.python.conversion.lists import with_growing
from primsplit.frontends.python.conversion.ordering import ORDERING
from primsplit.frontends.python.conversion.patterns import without_matches
from primsplit.frontends.python.conversion.plainer import (
    RESULT,
    as_choice,
    as_sum_of_choices,
    as_sum_of_ones,
    at,
    binds,
    bound,
    later,
    with_names_before,
    with_one_return,
    without_continues,
)
from primsplit.frontends.python.conversion.reading import (
    attributes_set,
    given_by_calls,
    holds_none,
    modules_of,
    with_copies,
)
from primsplit.frontends.python.conversion.statements import (
    FILLING,
    Effects,
    Refused,
    always_assigned,
    declared,
    effects,
    names_of_others,
    own_names,
    stored,
)
from primsplit.frontends.python.conversion.storing import Stores
from primsplit.frontends.python.conversion.yielding import with_yields_behind

_TRUE, _FALSE, _STEP = "_true_side", "_false_side", "_step"
SIDES = frozenset({_TRUE, _FALSE, _STEP})
"""What the functions are called that a side is written as."""


@dataclass(frozen=True)
class Join:
    """A statement or expression that may be joined: where it is, what its sides do, and what both always assign.

    Of the steps of a loop, `ended` is the name that tells that it has.
    """

    at: tuple[str, int]
    effects: Effects
    names: tuple[str, ...]
    always: frozenset[str]
    ended: str = ""


@dataclass(frozen=True)
class Facts:
    """What is known of a whole file. `sums` tells whether `sum` and `len` are Python's own in it."""

    modules: frozenset[str]
    attributes: frozenset[str]
    holds_none: bool
    sums: bool

    @classmethod
    def of(cls, file: ast.Module) -> "Facts":
        sums = not binds(file, "sum") and not binds(file, "len")
        return cls(frozenset(modules_of(file)), frozenset(attributes_set(file)), holds_none(file), sums)


def lines_of(statement: ast.stmt) -> range:
    """The lines of a statement, with those of its decorators."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return range(first, (statement.end_lineno or statement.lineno) + 1)


class Writer(Stores):
    """Writes the joins of a file, where a line of the test was asked about and is not left out."""

    def __init__(
        self, filename: str, facts: Facts, asked: Set[int], left_out: Set[int], growing: Set[int], helper: str
    ) -> None:
        super().__init__()
        self.modules, self.attributes, self.holds_none = facts.modules, facts.attributes, facts.holds_none
        self.sums = facts.sums
        self.filename, self.asked, self.left_out, self.helper = filename, {*asked}, left_out, helper
        self.growing = growing
        self.joins: list[Join] = []
        self.refused: dict[int, str] = {}
        """Why what was asked about at some lines is no join."""
        self.own: set[str] | None = None
        """The names of the function that are seen nowhere else; None outside of functions."""
        self.shared: set[str] = set()
        """The names of the function that functions in it, or around it, see too."""
        self.joined = 0
        """How many joins are around what is visited."""
        self.followed: set[str] = set()
        """The names that tell the ends of loops that are not joined: what gives them a value is followed both ways."""

    def written(self, file: ast.Module, lines: Set[int] | None = None) -> ast.Module:
        """The file with its joins; with `lines`, only its statements that have one of these lines.

        A statement is a function, a class, or what else stands at the top of the file. What is written of it depends on
        no other, but for `facts` and on what a file imports from `__future__`.
        """
        body: list[ast.stmt] = []
        for statement in file.body:
            is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if lines is None or is_future or not lines.isdisjoint(lines_of(statement)):
                found = self.visit(statement)
                body += found if isinstance(found, list) else [found]
        return ast.Module(body, file.type_ignores)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        without_matches(node, self.helper)
        grows = not self.growing.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        alone = stored(node) - names_of_others(node) - {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.asked |= with_growing(node, alone, self.helper, self._asks, grows=grows)
        without_raising(node, self._asks)
        with_names_before(node, self._asks)
        with_yields_behind(node, self._asks)
        with_steps(node, self._asks)
        without_continues(node, self._asks)
        others = names_of_others(node)
        shared = (own_names(node) & others) - declared(node, ast.Global)
        own = own_names(node) - others
        if RESULT not in own and with_one_return(node, self._asks):
            own.add(RESULT)
        joined = (n for n in ast.walk(node) if isinstance(n, Steps) or (isinstance(n, ast.If) and self._asks(n.test)))
        given = {name for n in joined for name in stored(n)}
        chosen = (n for n in ast.walk(node) if isinstance(n, ast.Assign) and _is_choice(n.value, self._asks))
        given.update(name for n in chosen for name in stored(n))
        given |= given_by_calls(ast.walk(node), self.modules) | self._given_by_places(node)
        self._visit_scope(node, own, with_copies(given & own, ast.walk(node)) & own, shared)
        if own_cells := shared - declared(node, ast.Nonlocal):
            node.body = [*self._at(node.body[0], [bound(own_cells)]), *node.body]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> list[ast.stmt]:
        return [node, *self._at(node, [self._sharing(name) for name in node.names])]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self.generic_visit(node) if self.own is not None else self._visit_scope(node, set())

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._visit_scope(node, None)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._visit_scope(node, None)

    def _visit_scope(
        self, node: ast.AST, own: set[str] | None, uncertain: Set[str] = frozenset(), shared: Set[str] = frozenset()
    ) -> ast.AST:
        outer = self.own, self.uncertain, self.shared
        self.own, self.uncertain, self.shared = own, {*uncertain}, {*shared}
        self.generic_visit(node)
        self.own, self.uncertain, self.shared = outer
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = as_choice(node.value)
        return super().visit_Assign(node)

    def visit_If(self, node: ast.If) -> Any:
        always = always_assigned(node.body) & always_assigned(node.orelse)
        join = self._join(node, [*node.body, *node.orelse], frozenset(always))
        self._visit_inside(node, join)
        if join is None:
            return node
        sides = [self._side(_TRUE, join, node.body), self._side(_FALSE, join, node.orelse or [ast.Pass()])]
        call = self._call("statement", join, node.test, [ast.Name(_TRUE, ast.Load()), ast.Name(_FALSE, ast.Load())])
        last: ast.stmt = ast.Expr(call)
        if join.names:
            targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in join.names]
            last = ast.Assign([ast.Tuple(targets, ast.Store())], call)
        return self._at(node, [*sides, last])

    def visit_Steps(self, node: Steps) -> list[ast.stmt]:
        join = self._join_steps(node)
        if join is None:
            self.followed.add(node.ended)
        self._visit_inside(node, join)
        if join is None:
            is_over: ast.expr = ast.Name(node.ended, ast.Load())
            body = [s for part in node.parts for s in (*part.body, ast.If(is_over, [ast.Break()], []))]
            return self._loop(node, node.target, node.iter, body)
        self.joins.append(join)
        number = len(self.joins) - 1
        names: list[ast.expr] = [ast.Name(n, ast.Store()) for n in join.names]

        def asked(what: str) -> ast.Attribute:
            return ast.Attribute(ast.Name(f"_loop_{number}", ast.Load()), what, ast.Load())

        def given(call: str, *args: ast.expr) -> ast.stmt:
            return ast.Assign([ast.Tuple(names, ast.Store())], ast.Call(asked(call), [*args], []))

        body = []
        for part in with_item(node):
            body += [
                self._side(_STEP, join, part),
                given("done", ast.Name(_STEP, ast.Load())),
                ast.If(asked("is_over"), [ast.Break()], []),
            ]
        made = ast.Call(self._helper("loop"), [ast.Constant(number)], [])
        items = node.iter and ast.Call(asked("items"), [node.iter], [made_here(node.iter)])
        return [
            *self._at(node, [ast.Assign([ast.Name(f"_loop_{number}", ast.Store())], made)]),
            *self._loop(node, node.target and ast.Name(node.item, ast.Store()), items, body),
            *self._at(node, [given("after")]),
        ]

    def _join_steps(self, node: Steps) -> Join | None:
        """The parts of a loop as what to join; None where they do more than to give values to names and elements."""
        try:
            found = effects(itertools.chain.from_iterable(with_item(node)))
        except Refused as error:
            self.refused[node.lineno] = error.why
            return None
        names = self._given(found)
        if node.lineno in self.left_out or not self._is_own(names):
            return None
        found.read.discard(node.item)
        return Join((self.filename, node.lineno), found, names, frozenset(), node.ended)

    def _loop(
        self, node: Steps, target: ast.expr | None, items: ast.expr | None, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A `for` where there is something to go through, or a `while` without an end of its own."""
        if target is None or items is None:
            return self._at(node, [ast.While(ast.Constant(True), body, [])])
        return self._at(node, [ast.For(target, items, body, [])])

    @staticmethod
    def _at(node: ast.AST, made: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [at(node, m) for m in made]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        join = self._join(node, [node.body, node.orelse], frozenset())
        is_told = node in self.told
        self.told.update((node.body, node.orelse) if is_told else ())
        self.joined += join is not None
        node.test = self.visit(node.test)
        node.body, node.orelse = map(self._told if is_told else self.visit, (node.body, node.orelse))
        self.joined -= join is not None
        if join is None or join.names:
            return node
        method = "choice" if is_told else "read_choice"
        made = self._call(method, join, node.test, [later(node.body), later(node.orelse)])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _visit_inside(self, node: ast.AST, join: Join | None) -> None:
        self.joined += join is not None
        self.generic_visit(node)
        self.joined -= join is not None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if node.attr == "__class__" and isinstance(node.ctx, ast.Load):
            return self._called("class_of", node, ast.Name("type", ast.Load()), self.visit(node.value))
        return self._called("read", self._of_place(node)) if self._is_uncertain(node) else self._of_place(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self._called("read", self._of_place(node)) if self._is_uncertain(node) else self._of_place(node)

    def _of_place(self, node: ast.expr) -> Any:
        """An attribute or element whose parts are visited."""
        if isinstance(node, ast.Attribute):
            return self._noted(node, ast.Constant(node.attr))
        return self._of_element(node) if isinstance(node, ast.Subscript) else self.visit(node)

    def _of_element(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and (self._is_uncertain(node.slice) or _is_choice(node.slice, self._asks)):
            self.looks_up = True
            self.told.add(node.slice)
            return self._called("item", node, self.visit(node.value), self._told(node.slice))
        is_asked = isinstance(node.ctx, ast.Load) and self._asks(node)
        self._noted(node)
        if not is_asked or isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant):
            return node
        self.looks_up = True
        return self._called("item", node, node.value, node.slice)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Subscript) and self._is_of_the_run(node.target):
            return self._changed(node, node.target)
        in_place = ast.keyword("in_place", ast.Constant(True))
        node.value = self.visit(as_choice(node.value))
        if isinstance(node.target, ast.Name):
            name = ast.Name(node.target.id, ast.Load())
            changed = ast.Call(self._helper("changing"), [self.visit_Name(name)], [])
            is_told = self._is_uncertain(name)
            first = ast.Assign([ast.Name(node.target.id, ast.Store())], changed) if is_told else ast.Expr(changed)
            return [*self._at(node, [first]), node]
        attribute = [ast.Constant(node.target.attr)] if isinstance(node.target, ast.Attribute) else []
        node.target = self._noted(node.target, *attribute, keywords=[in_place])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in FILLING:
            owner = ast.Call(self._helper("filling"), [node.func.value], [])
            node.func.value = ast.fix_missing_locations(ast.copy_location(owner, node.func.value))
        if (asked := self._of_class(node)) is not None:
            return asked
        if self.sums:
            as_sum_of_ones(node, self._asks)
            as_sum_of_choices(node, self._asks)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ORDERING:
            node.func = self._called("ordering", node.func)
        if "replace" in {getattr(node.func, "id", ""), getattr(node.func, "attr", "")}:
            node.func = self._called("replacing", node.func)
        return node

    def _noted(self, node: Any, *attribute: ast.expr, keywords: Sequence[ast.keyword] = ()) -> Any:
        """An attribute or element that is set, of an owner that is noted before."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            owner = ast.Call(self._helper("changing"), [node.value, *attribute], [*keywords])
            node.value = ast.fix_missing_locations(ast.copy_location(owner, node.value))
        return node

    def _sharing(self, name: str) -> ast.stmt:
        return ast.Expr(ast.Call(self._helper("sharing"), [later(ast.Name(name, ast.Load()))], []))

    def _given(self, found: Effects) -> tuple[str, ...]:
        """The names to which a join gives values; those that are shared are noted instead."""
        return tuple(sorted((found.assigned | found.written) - self.shared))

    def _join(self, node: ast.If | ast.IfExp, sides: Sequence[ast.AST], always: frozenset[str]) -> Join | None:
        """What to join; None for what is not asked about, or may not be. In a side any branch may be asked about."""
        is_asked = self.joined > 0 or self._asks(node.test)
        if self.own is None or not is_asked or node.lineno in self.left_out:
            return None
        try:
            of_test, found = effects([node.test]), effects(sides)
        except Refused as error:
            self.refused[node.lineno] = error.why
            return None
        names = self._given(found)
        if (
            of_test.assigned
            or of_test.written
            or of_test.fills
            or not self._is_own(names)
            or not self.followed.isdisjoint(names)
        ):
            return None
        found.read |= of_test.read
        found.attributes |= of_test.attributes
        found.calls |= of_test.calls
        found.inner |= of_test.inner
        return Join((self.filename, node.lineno), found, names, always)

    def _is_own(self, names: Sequence[str]) -> bool:
        """True for names of the function that nothing else sees; Python gives `__name` another name in a class."""
        return self.own is not None and self.own.issuperset(names) and not any(n.startswith("__") for n in names)

    def _asks(self, test: ast.expr) -> bool:
        """True for a test with a line where a condition was asked."""
        return not self.asked.isdisjoint(range(test.lineno, (test.end_lineno or test.lineno) + 1))

    def _side(self, name: str, join: Join, body: Sequence[ast.stmt]) -> ast.FunctionDef:
        params = ast.arguments([], [ast.arg(n) for n in join.names], None, [], [], None, [])
        end = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in join.names], ast.Load()))
        made = ast.parse(f"def {name}(): pass").body[0]
        if not isinstance(made, ast.FunctionDef):
            raise TypeError(made)
        shared = sorted(self.shared.intersection(*map(stored, [ast.Module([*body], [])])))
        noted = [ast.Nonlocal(shared), *map(self._sharing, shared)] if shared else []
        made.args, made.body = params, [*noted, *body, end]
        return made

    def _call(self, method: str, join: Join, test: ast.expr, sides: Sequence[ast.expr]) -> ast.Call:
        self.joins.append(join)
        number = ast.Constant(len(self.joins) - 1)
        return ast.Call(self._helper(method), [number, self._test(test, number), *sides], [])

    def _calls(self, nodes: Sequence[ast.expr]) -> bool:
        """True for expressions that call something, which is to be called once."""
        calls = (inner.func for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Call))
        return any(ast.dump(called) not in map(ast.dump, map(self._helper, ("read", "told"))) for called in calls)

    def _test(self, node: ast.expr, number: ast.Constant) -> ast.expr:
        """The test of a join as one truth value, whatever `and`, `or`, `not` and chains of comparisons make it."""
        if isinstance(node, ast.BoolOp):
            method = "all_of" if isinstance(node.op, ast.And) else "any_of"
            return ast.Call(self._helper(method), [number, *(later(self._test(v, number)) for v in node.values)], [])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.Call(self._helper("none_of"), [later(self._test(node.operand, number))], [])
        if isinstance(node, ast.Compare) and len(node.ops) > 1 and not self._calls(node.comparators[:-1]):
            terms = itertools.pairwise([node.left, *node.comparators])
            pairs = [ast.Compare(a, [o], [b]) for o, (a, b) in zip(node.ops, terms, strict=True)]
            return ast.Call(self._helper("all_of"), [number, *map(later, pairs)], [])
        return self._as_truth(node)


def _is_choice(node: ast.expr, asks: Callable[[ast.expr], bool]) -> bool:
    """True for `a if c else b`, or what is written so, where the test asks."""
    chosen = as_choice(node)
    return isinstance(chosen, ast.IfExp) and asks(chosen.test)
