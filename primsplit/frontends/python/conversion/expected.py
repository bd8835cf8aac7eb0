"""Finds the conditions that a function is expected to ask traced values for, before it runs.

A function with such conditions is run at once with both sides of each recorded. A condition that is missing here costs
one more run; one too many is asked for a known value, and its statement runs as in Python. So this reads the source of
the functions that a run reaches, and needs no proof.

    def f(x, n=3, *, scaled=True):
        total = np.sum(x)
        if scaled:                  # a flag: not expected
            total = total / len(x)
        if total > 0: ...           # expected
"""

import ast
import functools
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from primsplit.frontends.python.converter.copies import current
from primsplit.frontends.python.converter.source import SourceError, definition_of
from primsplit.ir.caching.fingerprint import is_library, names_read
from primsplit.ir.caching.held import attribute_of, content, function_in, is_written_by_python
from primsplit.ir.errors import Place
from primsplit.tracing import is_library as is_librarys_file
from primsplit.tracing.hooks import HOOKS


def expected_conditions(run: Callable[..., Any]) -> frozenset[Place]:
    """Return the places of conditions that `run` is expected to ask; none inside of a run whose branches are joined."""
    around = current()
    if around is not None and around.options.rewritten:
        return frozenset()
    return frozenset(place for function in _functions_read(run) for place in _conditions_of(function))


HOOKS.expected_conditions = expected_conditions


def _functions_read(run: Any) -> Iterator[types.FunctionType]:
    """Yield the user's functions that `run` reads, by their names, cells, classes and attributes."""
    seen: dict[int, Any] = {}
    pending = [run]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            is_users = not is_librarys_file(value.__code__.co_filename) and not is_library(value.__module__ or "")
            if is_users and not is_written_by_python(value.__code__):
                yield value
            pending += _read_by(value, is_users=is_users)
        else:
            pending += _parts_of(value)


def _read_by(function: types.FunctionType, *, is_users: bool) -> Iterator[Any]:
    yield from map(content, function.__closure__ or ())
    yield from vars(function).copy().values()
    if not is_users:
        return
    yield from function.__defaults__ or ()
    names = names_read(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, types.ModuleType):
            yield from () if is_library(value.__name__) else (vars(value).get(n) for n in names)
        else:
            yield value


MOST = 64
"""The most parts of one container that are looked at."""


def _parts_of(value: Any) -> Iterable[Any]:
    """Return the parts of an object that may lead to functions."""
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, list | tuple | dict | types.MappingProxyType):
        parts: Iterable[Any] = value if isinstance(value, list | tuple) else value.values()
        return [*parts] if len(value) <= MOST else ()
    if isinstance(value, type):
        if is_library(value.__module__):
            return ()
        return (*map(function_in, vars(value).copy().values()), *value.__bases__)
    if hasattr(type(value), "depends_on"):
        return [*value.depends_on()]
    wrapped = attribute_of(value, "__wrapped__")
    if wrapped is not None:
        return (wrapped,)
    kind = type(value)
    if is_library(kind.__module__):
        return ()
    held = getattr(value, "__dict__", {})
    return kind, *(held.values() if len(held) <= MOST else ())


_known: dict[int, tuple[weakref.ref[types.CodeType], tuple[Place, ...]]] = {}
"""The places of conditions, by the `id` of a code object."""


def _conditions_of(function: types.FunctionType) -> tuple[Place, ...]:
    code = function.__code__
    found = _known.get(id(code))
    if found is not None and found[0]() is code:
        return found[1]
    try:
        node: ast.AST | None = definition_of(function).node
    except SourceError:
        node = None
    places = () if node is None else _places(node, code)
    key = id(code)
    _known[key] = weakref.ref(code, lambda _: _known.pop(key, None)), places
    return places


def _places(node: ast.AST, code: types.CodeType) -> tuple[Place, ...]:
    tests = [*_tests(node)]
    if not tests:
        return ()
    traced = _Traced(node)
    return tuple(Place(code.co_filename, test.lineno, code.co_name) for test in tests if traced.may_be(test))


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    for each in ast.walk(node):
        match each:
            case ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.Assert(test):
                yield test
            case ast.comprehension():
                yield from each.ifs
            case ast.Match(subject):
                for case in each.cases:
                    yield ast.copy_location(ast.Tuple([subject, *filter(None, [case.guard])]), case.pattern)
            case ast.BoolOp() | ast.UnaryOp(ast.Not()) | ast.Call(ast.Name("bool")):
                yield each


_COUNTING = frozenset({
    "bytes", "callable", "dir", "hasattr", "hash", "id", "isinstance", "issubclass", "len", "range", "repr", "str",
    "type",
})  # fmt: skip
"""Functions of Python whose results are known."""
_OF_TYPES = frozenset({"__class__", "__name__", "dtype", "ndim", "shape"})
"""Attributes of arrays and functions whose values are known."""
_KNOWN_CLASSES = frozenset({"bool", "int", "str"})
"""Annotations of parameters that are known."""


class _Traced:
    """The names of a function, and of those inside, that may hold traced values: what parameters lead to."""

    def __init__(self, node: ast.AST) -> None:
        self.names: set[str] = set()
        given: list[tuple[ast.expr, ast.expr]] = []
        for each in ast.walk(node):
            match each:
                case ast.arguments():
                    self.names |= {*_traced_parameters(each)}
                case ast.Assign(targets, value):
                    given += [(target, value) for target in targets]
                case ast.AugAssign(target, _, value) | ast.NamedExpr(target, value) | ast.For(target, value):
                    given.append((target, value))
                case ast.comprehension(target, value):
                    given.append((target, value))
                case ast.AnnAssign(target, _, ast.expr() as value) | ast.withitem(value, ast.expr() as target):
                    given.append((target, value))
            if isinstance(each, ast.FunctionDef) and each is not node:
                self.names.add(each.name)
        while more := {name for target, value in given if self.may_be(value) for name in _names(target)} - self.names:
            self.names |= more

    def may_be(self, node: ast.AST) -> bool:
        """Whether an expression may be traced."""
        match node:
            case ast.Name(name):
                return name in self.names
            case ast.Constant() | ast.JoinedStr() | ast.Lambda():
                return False
            case ast.Attribute(_, name) if name in _OF_TYPES:
                return False
            case ast.Call(ast.Name(name)) if name in _COUNTING:
                return False
            case ast.Compare(left, ops, others):
                if any(isinstance(op, ast.Is | ast.IsNot) for op in ops) or any(map(_is_text, (left, *others))):
                    return False
                return self.may_be(left) or (
                    not isinstance(ops[0], ast.In | ast.NotIn) and any(map(self.may_be, others))
                )
        return any(map(self.may_be, ast.iter_child_nodes(node)))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that an assignment to a target sets, or whose elements or attributes it sets."""
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _traced_parameters(arguments: ast.arguments) -> Iterator[str]:
    """Yield the parameters that may be traced: not whole numbers, and none whose default is a flag or a text."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    for arg, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
        is_flag = isinstance(default, ast.Constant) and isinstance(default.value, bool | str | None)
        is_whole = isinstance(arg.annotation, ast.Name) and arg.annotation.id in _KNOWN_CLASSES
        if not is_flag and not is_whole:
            yield arg.arg
    yield from (arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None)
