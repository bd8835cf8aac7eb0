"""Rewrites `match` statements as branches: each `case` becomes an `elif` with the test of its pattern.

```
match a:                        if a == 1:
    case 1:                         b
        b                       elif a is None or a == "up":
    case None | "up":               c
        c                       elif n > 2:
    case n if n > 2:                n = a
        d                           d
```
"""

import ast
import copy
from collections.abc import Sequence
from typing import Any

from primsplit.frontends.python.conversion.plainer import OwnStatements
from primsplit.frontends.python.converter.transformer import at


class _NotPlain(Exception):
    """A pattern has no equivalent expression."""


def without_matches(function: ast.FunctionDef, helper: str) -> None:
    """Rewrite the `match` statements of a function as branches.

    A `match` with other patterns stays, and passes its subject to `matched` of the object named `helper`.
    """
    _Matches(function, helper).generic_visit(function)


class _Matches(OwnStatements):
    def __init__(self, function: ast.FunctionDef, helper: str) -> None:
        super().__init__(lambda _: True)
        self.function, self.helper = function, helper

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        names = _Names(self.function, node)
        first: list[ast.stmt] = []
        subjects: list[ast.expr] = []
        for part in node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]:
            name = f"_joined_subject_{next(self.numbers)}"
            first.append(at(node, ast.Assign([ast.Name(name, ast.Store())], part)))
            subjects.append(ast.Name(name, ast.Load()))
        is_tuple = isinstance(node.subject, ast.Tuple)
        try:
            cases = [_Case(case, subjects if is_tuple else subjects[0], names, self.helper) for case in node.cases]
        except _NotPlain:
            checked = ast.Call(
                ast.Attribute(ast.Name(self.helper, ast.Load()), "matched", ast.Load()), [node.subject], []
            )
            node.subject = ast.fix_missing_locations(ast.copy_location(checked, node.subject))
            return self.generic_visit(node)
        rest: list[ast.stmt] = []
        for case in reversed(cases):
            rest = [*case.given, *case.body] if case.test is None else [case.branch(rest)]
        for statement in rest:
            self.visit(statement)
        return [*first, *rest]


class _Names:
    """The names that patterns with guards assign, which keep these values if the guard is false."""

    def __init__(self, function: ast.FunctionDef, match: ast.Match) -> None:
        inside = {id(n) for n in ast.walk(match)}
        self.outside = {_name_of(n) for n in ast.walk(function) if id(n) not in inside}
        self.of_cases = [({_name_of(n) for n in ast.walk(c)}, _captured(c.pattern)) for c in match.cases]

    def are_seen_later(self, names: set[str]) -> bool:
        """Whether any of the names is read outside of the cases that assign it."""
        return not names.isdisjoint(self.outside) or any(used & names - own for used, own in self.of_cases)


def _name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _captured(pattern: ast.pattern) -> set[str]:
    return {n.name for n in ast.walk(pattern) if isinstance(n, ast.MatchAs | ast.MatchStar) and n.name}


class _Case:
    """A case as a branch: its `test`, or None if it always matches, and the assignments of its names."""

    def __init__(
        self, case: ast.match_case, subject: ast.expr | Sequence[ast.expr], names: _Names, helper: str
    ) -> None:
        self.pattern, self.body, self.helper = case.pattern, case.body, helper
        self.values: dict[str, ast.expr] = {}
        self.test = self._asked(case.pattern, subject)
        if case.guard is not None:
            if names.are_seen_later({*self.values}) or any(isinstance(n, _SCOPES) for n in ast.walk(case.guard)):
                raise _NotPlain
            guard = _WithValues(self.values).visit(copy.deepcopy(case.guard))
            self.test = guard if self.test is None else _all([self.test, guard])
            ast.copy_location(self.test, case.pattern)
            self.test.end_lineno = case.guard.end_lineno
        self.given = [
            at(case.pattern, ast.Assign([ast.Name(n, ast.Store())], copy.deepcopy(v))) for n, v in self.values.items()
        ]

    def branch(self, rest: list[ast.stmt]) -> ast.stmt:
        """Return the case as an `if`, with `rest` as its `else`."""
        test: Any = self.test
        statement = ast.If(ast.copy_location(test, self.pattern), [*self.given, *self.body], rest)
        end = test.end_lineno
        statement = ast.copy_location(statement, self.pattern)
        statement.end_lineno = end
        return ast.fix_missing_locations(statement)

    def _asked(self, pattern: ast.pattern, subject: ast.expr | Sequence[ast.expr]) -> ast.expr | None:
        """Return the test of a pattern for the subject, or for its parts; None for a pattern that always matches."""
        match pattern:
            case ast.MatchAs(None, None):
                return None
            case ast.MatchOr(patterns):
                return self._any(patterns, subject)
            case ast.MatchSequence(patterns) if not isinstance(subject, ast.expr) and len(patterns) == len(subject):
                tests = [self._asked(p, s) for p, s in zip(patterns, subject, strict=True)]
                asked = [test for test in tests if test is not None]
                return _all(asked) if asked else None
        if not isinstance(subject, ast.expr):
            raise _NotPlain
        return self._asked_of_one(pattern, copy.deepcopy(subject))

    def _asked_of_one(self, pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
        match pattern:
            case ast.MatchSequence(patterns) if not any(isinstance(p, ast.MatchStar) for p in patterns):
                parts = [ast.Subscript(subject, ast.Constant(k), ast.Load()) for k in range(len(patterns))]
                first = self._call("is_sequence", subject, ast.Constant(len(patterns)))
                return self._asked_of_parts(first, patterns, parts)
            case ast.MatchClass(kind, by_place, names, by_name):
                placed = [self._call("part", subject, kind, ast.Constant(k)) for k in range(len(by_place))]
                named = [ast.Attribute(subject, name, ast.Load()) for name in names]
                first = ast.Call(ast.Name("isinstance", ast.Load()), [subject, kind], [])
                return self._asked_of_parts(first, [*by_place, *by_name], [*placed, *named])
            case ast.MatchAs(inner, str(name)):
                test = None if inner is None else self._asked(inner, subject)
                self.values[name] = subject
                return test
            case ast.MatchValue(value):
                return ast.Compare(subject, [ast.Eq()], [value])
            case ast.MatchSingleton(value):
                return ast.Compare(subject, [ast.Is()], [ast.Constant(value)])
        raise _NotPlain

    def _asked_of_parts(self, first: ast.expr, patterns: Sequence[ast.pattern], parts: Sequence[ast.expr]) -> ast.expr:
        asked = (self._asked(p, part) for p, part in zip(patterns, parts, strict=True))
        return _all([first, *(test for test in asked if test is not None)])

    def _call(self, method: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load()), [*args], [])

    def _any(self, patterns: Sequence[ast.pattern], subject: ast.expr | Sequence[ast.expr]) -> ast.expr | None:
        before = len(self.values)
        tests = [self._asked(pattern, subject) for pattern in patterns]
        if len(self.values) > before:
            raise _NotPlain
        asked = [test for test in tests if test is not None]
        return ast.BoolOp(ast.Or(), asked) if len(asked) == len(tests) else None


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


_SCOPES = ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp | ast.NamedExpr


class _WithValues(ast.NodeTransformer):
    """Replaces names by the expressions that a pattern assigns to them."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.values[node.id]) if node.id in self.values else node
