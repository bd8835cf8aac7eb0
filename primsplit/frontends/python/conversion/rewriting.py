"""Rewrites a user's file so that both sides of each statement that may be joined are functions.

    if test:                    def true(v):
        v = a                       v = a
    else:                           return v,
        v = b                   def false(v):
                                    v = b
                                    return v,
                                v, = joins.statement(0, test, true, false)

A write as in `a[i] = b` or `a.v = b` reads its owner as `joins.changing(a)`, which notes it: see `journal`. Other
functions of the file do so too, as a side may call them.
"""

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from primsplit.frontends.python.conversion.caught import without_raising
from primsplit.frontends.python.conversion.exits import Steps, deciding, made_here, with_item, with_steps
from primsplit.frontends.python.conversion.lists import with_growing
from primsplit.frontends.python.conversion.ordering import ORDERING
from primsplit.frontends.python.conversion.patterns import without_matches
from primsplit.frontends.python.conversion.plainer import (
    RESULT,
    as_choice,
    as_sum_of_choices,
    as_sum_of_ones,
    binds,
    bound,
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
from primsplit.frontends.python.converter.transformer import at, later

_TRUE, _FALSE, _STEP = "_true_side", "_false_side", "_step"
SIDES = frozenset({_TRUE, _FALSE, _STEP})
"""The names of the functions that hold a side."""


@dataclass(frozen=True)
class Join:
    """A statement or expression that may be joined: its place, its effects, the names that it assigns.

    `always` are the names that both sides assign on every path. The name `ended`, of a loop's steps, is true once the
    loop has ended. `unread` are the names that nothing reads after it, `deciding` those that decide when a loop
    ends.
    """

    at: tuple[str, int]
    effects: Effects
    names: tuple[str, ...]
    always: frozenset[str]
    ended: str = ""
    unread: frozenset[str] = frozenset()
    deciding: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Facts:
    """Facts about a whole file. `sums` tells whether `sum` and `len` are Python's own in it."""

    modules: frozenset[str]
    attributes: frozenset[str]
    holds_none: bool
    sums: bool

    @classmethod
    def of(cls, file: ast.Module) -> "Facts":
        sums = not binds(file, "sum") and not binds(file, "len")
        return cls(frozenset(modules_of(file)), frozenset(attributes_set(file)), holds_none(file), sums)


def lines_of(statement: ast.stmt) -> range:
    """Return the lines of a statement, with those of its decorators."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return range(first, (statement.end_lineno or statement.lineno) + 1)


class Writer(Stores):
    """Rewrites the joins of a file: statements whose test is on a line in `asked` and not in `left_out`."""

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
        """The reasons, by line, why a statement that was asked for cannot be joined."""
        self.own: set[str] | None = None
        """The names of the function that no other function sees; None outside of functions."""
        self.shared: set[str] = set()
        """The names of the function that functions inside or around it see too."""
        self.joined = 0
        """The number of joins around the visited node."""
        self.followed: set[str] = set()
        """The `ended` names of loops that are not joined: a branch that sets one is recorded path by path."""
        self.loads = Counter[str]()
        """The number of reads of each name in the function."""

    def written(self, file: ast.Module, lines: Set[int] | None = None) -> ast.Module:
        """Return the file with its joins; with `lines`, only its top-level statements that have one of these lines.

        The rewritten form of a top-level statement depends on no other, except by `facts` and by imports from
        `__future__`.
        """
        body: list[ast.stmt] = []
        for statement in file.body:
            is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if lines is None or is_future or not lines.isdisjoint(lines_of(statement)):
                visited = self.visit(statement)
                body += visited if isinstance(visited, list) else [visited]
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
        assigned = {name for n in joined for name in stored(n)}
        chosen = (n for n in ast.walk(node) if isinstance(n, ast.Assign) and _is_choice(n.value, self._asks))
        assigned.update(name for n in chosen for name in stored(n))
        assigned |= given_by_calls(ast.walk(node), self.modules) | self._given_by_places(node)
        uncertain = with_copies(assigned & own, ast.walk(node)) & own
        outer, self.loads = self.loads, _loads(node)
        self._visit_scope(node, own, uncertain, shared)
        self.loads = outer
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
        sides = [self._side(_TRUE, join, node.body)]
        otherwise: ast.expr = self._helper("unchanged")  # which has no line that a debugger would stop at
        if node.orelse:
            sides.append(self._side(_FALSE, join, node.orelse))
            otherwise = ast.Name(_FALSE, ast.Load())
        call = self._call("statement", join, node.test, [ast.Name(_TRUE, ast.Load()), otherwise])
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
        """Return the join of a loop's parts; None if they do more than assign to names and elements."""
        try:
            loop_effects = effects(itertools.chain.from_iterable(with_item(node)))
        except Refused as error:
            self.refused[node.lineno] = error.why
            return None
        names = self._given(loop_effects)
        if node.lineno in self.left_out or not self._is_own(names):
            return None
        loop_effects.read.discard(node.item)
        at, none = (self.filename, node.lineno), frozenset[str]()
        return Join(at, loop_effects, names, none, node.ended, self._unread(node), deciding(node))

    def _unread(self, node: Steps) -> frozenset[str]:
        """Return the names of the items of a loop that only the loop reads."""
        read = _loads(node)
        targets = stored(node.target) if node.target is not None else set()
        return frozenset(name for name in targets if read[name] == self.loads[name])

    def _loop(
        self, node: Steps, target: ast.expr | None, items: ast.expr | None, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Return a `for` over the items, or an endless `while` if there are none."""
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
        call = self._call(method, join, node.test, [later(node.body), later(node.orelse)])
        return ast.fix_missing_locations(ast.copy_location(call, node))

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
        """Return an attribute or element with its parts visited."""
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
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not is_asked or any(isinstance(p, ast.Slice) for p in parts) or isinstance(node.slice, ast.Constant):
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
            owner = ast.Call(self._helper("filling"), [node.func.value, ast.Constant(node.func.attr)], [])
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
        """Return an attribute or element with its parts visited; if it is set, its owner is noted before."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            owner = ast.Call(self._helper("changing"), [node.value, *attribute], [*keywords])
            node.value = ast.fix_missing_locations(ast.copy_location(owner, node.value))
        return node

    def _sharing(self, name: str) -> ast.stmt:
        return ast.Expr(ast.Call(self._helper("sharing"), [later(ast.Name(name, ast.Load()))], []))

    def _given(self, found: Effects) -> tuple[str, ...]:
        """Return the names that a join assigns; names that other functions see are noted instead."""
        return tuple(sorted((found.assigned | found.written) - self.shared))

    def _join(self, node: ast.If | ast.IfExp, sides: Sequence[ast.AST], always: frozenset[str]) -> Join | None:
        """Return the join of a branch; None if no line asked for it, or if it cannot be joined.

        All branches on a side count as asked for.
        """
        is_asked = self.joined > 0 or self._asks(node.test)
        if self.own is None or not is_asked or node.lineno in self.left_out:
            return None
        try:
            of_test, of_sides = effects([node.test]), effects(sides)
        except Refused as error:
            self.refused[node.lineno] = error.why
            return None
        names = self._given(of_sides)
        if (
            of_test.assigned
            or of_test.written
            or of_test.fills
            or not self._is_own(names)
            or not self.followed.isdisjoint(names)
        ):
            return None
        of_sides.read |= of_test.read
        of_sides.attributes |= of_test.attributes
        of_sides.calls |= of_test.calls
        of_sides.inner |= of_test.inner
        return Join((self.filename, node.lineno), of_sides, names, always)

    def _is_own(self, names: Sequence[str]) -> bool:
        """Whether only the function sees the names. Names that begin with `__` are excluded: a class mangles them."""
        return self.own is not None and self.own.issuperset(names) and not any(n.startswith("__") for n in names)

    def _asks(self, test: ast.expr) -> bool:
        """Whether a test is on a line where a traced condition was tested."""
        return not self.asked.isdisjoint(range(test.lineno, (test.end_lineno or test.lineno) + 1))

    def _side(self, name: str, join: Join, body: Sequence[ast.stmt]) -> ast.FunctionDef:
        params = ast.arguments([], [ast.arg(n) for n in join.names], None, [], [], None, [])
        end = _without_line(ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in join.names], ast.Load())))
        definition = ast.parse(f"def {name}(): pass").body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError(definition)
        shared = sorted(self.shared.intersection(*map(stored, [ast.Module([*body], [])])))
        noted = [ast.Nonlocal(shared), *map(self._sharing, shared)] if shared else []
        definition.args, definition.body = params, [*noted, *body, end]
        return definition

    def _call(self, method: str, join: Join, test: ast.expr, sides: Sequence[ast.expr]) -> ast.Call:
        self.joins.append(join)
        number = ast.Constant(len(self.joins) - 1)
        return ast.Call(self._helper(method), [number, self._test(test, number), *sides], [])

    def _calls(self, nodes: Sequence[ast.expr]) -> bool:
        """Whether expressions call something, which must be called only once."""
        calls = (inner.func for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Call))
        return any(ast.dump(called) not in map(ast.dump, map(self._helper, ("read", "told"))) for called in calls)

    def _test(self, node: ast.expr, number: ast.Constant) -> ast.expr:
        """Return the test of a join as one truth value, with `and`, `or`, `not` and chained comparisons as calls."""
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


def _loads(node: ast.AST) -> Counter[str]:
    """Return how often each name is read in a node."""
    return Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _without_line(made: ast.stmt) -> ast.stmt:
    """Return a statement that belongs to no line, so that a debugger does not stop at it."""
    for node in ast.walk(made):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = node.col_offset = node.end_col_offset = -1
    return made


def _is_choice(node: ast.expr, asks: Callable[[ast.expr], bool]) -> bool:
    """Whether an expression is `a if c else b`, or an equivalent, with a test that satisfies `asks`."""
    chosen = as_choice(node)
    return isinstance(chosen, ast.IfExp) and asks(chosen.test)
