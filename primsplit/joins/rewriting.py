"""A user's file with the statements that may be joined written so that both of their sides are run.

    if test:                    def true(v):
        v = a                       v = a
    else:                           return v,
        v = b                   def false(v):
                                    v = b
                                    return v,
                                v, = joins.statement(0, test, true, false)

Its functions have this code while a function is run again, and their own afterwards.
"""

import ast
import functools
import gc
import itertools
import linecache
import threading
import types
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from primsplit.joins.exits import Steps, with_steps
from primsplit.joins.plainer import RESULT, as_choice, at, with_one_return, without_continue
from primsplit.joins.statements import Effects, Refused, always_assigned, effects, names_of_others, own_names

_TRUE, _FALSE, _STEP = "_true_side", "_false_side", "_step"
_numbers = itertools.count()


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


class _Writer(ast.NodeTransformer):
    """Writes the joins of a file, where a line of the test was asked about and is not left out."""

    def __init__(self, filename: str, asked: Set[int], left_out: Set[int], helper: str) -> None:
        self.filename, self.asked, self.left_out, self.helper = filename, asked, left_out, helper
        self.joins: list[Join] = []
        self.own: set[str] | None = None
        """The names of the function that are seen nowhere else; None outside of functions."""
        self.followed: set[str] = set()
        """The names that tell the ends of loops that are not joined: what gives them a value is followed both ways."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        with_steps(node, self._asks)
        own = own_names(node) - names_of_others(node)
        if RESULT not in own and with_one_return(node, self._asks):
            own.add(RESULT)
        return self._visit_scope(node, own)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._visit_scope(node, None)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._visit_scope(node, None)

    def _visit_scope(self, node: ast.AST, own: set[str] | None) -> ast.AST:
        outer, self.own = self.own, own
        self.generic_visit(node)
        self.own = outer
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body = without_continue(node.body)
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.body = without_continue(node.body)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = as_choice(node.value)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        always = always_assigned(node.body) & always_assigned(node.orelse)
        join = self._join(node, [*node.body, *node.orelse], frozenset(always))
        self.generic_visit(node)
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
        self.generic_visit(node)
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
        for part in _with_item(node):
            body += [
                self._side(_STEP, join, part),
                given("done", ast.Name(_STEP, ast.Load())),
                ast.If(asked("is_over"), [ast.Break()], []),
            ]
        made = ast.Call(self._helper("loop"), [ast.Constant(number)], [])
        items = node.iter and ast.Call(asked("items"), [node.iter], [_made_here(node.iter)])
        return [
            *self._at(node, [ast.Assign([ast.Name(f"_loop_{number}", ast.Store())], made)]),
            *self._loop(node, node.target and ast.Name(node.item, ast.Store()), items, body),
            *self._at(node, [given("after")]),
        ]

    def _join_steps(self, node: Steps) -> Join | None:
        """The parts of a loop as what to join; None where they do more than to give values to names and elements."""
        try:
            found = effects(itertools.chain.from_iterable(_with_item(node)))
        except Refused:
            return None
        names = tuple(sorted(found.assigned | found.written))
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
        self.generic_visit(node)
        if join is None or join.names:
            return node
        made = self._call("choice", join, node.test, [_later(node.body), _later(node.orelse)])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _join(self, node: ast.If | ast.IfExp, sides: Sequence[ast.AST], always: frozenset[str]) -> Join | None:
        """What to join; None for what is not asked about, or may not be."""
        if self.own is None or not self._asks(node.test) or node.lineno in self.left_out:
            return None
        try:
            of_test, found = effects([node.test]), effects(sides)
        except Refused:
            return None
        names = tuple(sorted(found.assigned | found.written))
        if of_test.assigned or of_test.written or not self._is_own(names) or not self.followed.isdisjoint(names):
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

    @staticmethod
    def _side(name: str, join: Join, body: Sequence[ast.stmt]) -> ast.FunctionDef:
        params = ast.arguments([], [ast.arg(n) for n in join.names], None, [], [], None, [])
        end = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in join.names], ast.Load()))
        made = ast.parse(f"def {name}(): pass").body[0]
        if not isinstance(made, ast.FunctionDef):
            raise TypeError(made)
        made.args, made.body = params, [*body, end]
        return made

    def _call(self, method: str, join: Join, test: ast.expr, sides: Sequence[ast.expr]) -> ast.Call:
        self.joins.append(join)
        number = ast.Constant(len(self.joins) - 1)
        return ast.Call(self._helper(method), [number, self._test(test), *sides], [])

    def _helper(self, method: str) -> ast.Attribute:
        return ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load())

    def _test(self, node: ast.expr) -> ast.expr:
        """The test as one truth value, whatever `and`, `or`, `not` and chains of comparisons it is made of."""
        if isinstance(node, ast.BoolOp):
            method = "all_of" if isinstance(node.op, ast.And) else "any_of"
            return ast.Call(self._helper(method), [_later(self._test(v)) for v in node.values], [])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.Call(self._helper("none_of"), [_later(self._test(node.operand))], [])
        if isinstance(node, ast.Compare) and len(node.ops) > 1 and not _calls(node.comparators[:-1]):
            terms = itertools.pairwise([node.left, *node.comparators])
            pairs = [ast.Compare(a, [o], [b]) for o, (a, b) in zip(node.ops, terms, strict=True)]
            return ast.Call(self._helper("all_of"), [_later(p) for p in pairs], [])
        return node


def _with_item(node: Steps) -> list[list[ast.stmt]]:
    """The parts of a loop, of which the first gives its target what the loop goes through."""
    first: list[ast.stmt] = []
    if node.target is not None:
        first = [ast.copy_location(ast.Assign([node.target], ast.Name(node.item, ast.Load())), node)]
    return [(first if k == 0 else []) + part.body for k, part in enumerate(node.parts)]


def _made_here(items: ast.expr) -> ast.keyword:
    """Whether what a loop goes through is an `enumerate` or `zip` that nothing else has seen."""
    is_call = isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id in {"enumerate", "zip"}
    return ast.keyword("is_made_here", ast.Constant(is_call))


def _calls(nodes: Sequence[ast.expr]) -> bool:
    """True for expressions that call something, which is to be called once."""
    return any(isinstance(inner, ast.Call) for node in nodes for inner in ast.walk(node))


def _later(node: ast.expr) -> ast.Lambda:
    """The expression as a function of nothing."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)


Codes = dict[tuple[str, int], types.CodeType]


def _functions_of(code: types.CodeType) -> Codes:
    """The code of the functions in a module's code, by qualified name and first line."""
    found: Codes = {}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found[const.co_qualname, const.co_firstlineno] = const
            found |= _functions_of(const)
    return found


@functools.lru_cache(maxsize=64)
def _as_written(filename: str, text: str) -> Codes:
    """The code of a file's functions. Raises SyntaxError or ValueError for what is no Python."""
    return _functions_of(compile(text, filename, "exec", dont_inherit=True))


def _named_like_their_function(code: types.CodeType, name: str = "") -> types.CodeType:
    """The code, with the sides of joins named like the functions that they are in."""
    own = name if code.co_name in {_TRUE, _FALSE, _STEP} else code.co_name
    consts = (_named_like_their_function(c, own) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_name=own, co_consts=tuple(consts))


class Rewriting:
    """Functions of one file, each with the code that it is to have: what their tests ask at some lines is joined."""

    def __init__(self, filename: str, asked: Set[int], left_out: Set[int]) -> None:
        self.helper = f"_joins_{next(_numbers)}"
        self.joins: list[Join] = []
        self.codes: list[tuple[types.FunctionType, types.CodeType]] = []
        text = "".join(linecache.getlines(filename))
        try:
            before = _as_written(filename, text)
        except (SyntaxError, ValueError):
            return
        writer = _Writer(filename, asked, left_out, self.helper)
        tree = writer.visit(ast.parse(text, filename))
        if not writer.joins:
            return
        self.joins = writer.joins
        after = _functions_of(_named_like_their_function(compile(tree, filename, "exec", dont_inherit=True)))
        for function in _functions_in(filename):
            key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
            old, new = before.get(key), after.get(key)
            if old is None or new is None or new == old or original(function) != old:
                continue
            if new.co_freevars == old.co_freevars:
                self.codes.append((function, new))


def _functions_in(filename: str) -> list[types.FunctionType]:
    """The functions that a file has defined."""
    functions = [v for v in gc.get_objects() if type(v) is types.FunctionType]
    return [f for f in functions if f.__code__.co_filename == filename]


class _Installed:
    """Which codes each function has been given, over its own."""

    lock = threading.Lock()
    codes: ClassVar[dict[types.FunctionType, list[types.CodeType]]] = {}


def original(function: types.FunctionType) -> types.CodeType:
    """The function's own code."""
    return _Installed.codes.get(function, [function.__code__])[0]


@contextmanager
def installed(rewriting: Rewriting, helper: Any) -> Iterator[None]:
    """Functions have their new code inside, and find the helper that it calls."""
    names = [f.__globals__ for f, _ in rewriting.codes]
    with _Installed.lock:
        for function, code in rewriting.codes:
            _Installed.codes.setdefault(function, [function.__code__]).append(code)
            function.__code__ = code
        for held in names:
            held[rewriting.helper] = helper
    try:
        yield
    finally:
        with _Installed.lock:
            for function, code in rewriting.codes:
                codes = _Installed.codes[function]
                codes.remove(code)
                function.__code__ = codes[-1]
                if len(codes) == 1:
                    del _Installed.codes[function]
            for held in names:
                held.pop(rewriting.helper, None)
