"""Installs joined code in the functions of a file for one run, and their own code afterwards.

The new code calls the helper that its constants hold, so that nothing is written to the module. Another thread that
runs it meanwhile computes what the function computes: on plain values a join does what the statement does.
"""

import ast
import functools
import itertools
import linecache
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from primsplit.frontends.python.conversion.holders import HELPER, Helper, reached, seen
from primsplit.frontends.python.conversion.rewriting import SIDES, Facts, Join, Writer, lines_of
from primsplit.frontends.python.copies import Copying, functions_by_name, origin, own_code
from primsplit.frontends.python.copies import copied as copied_with
from primsplit.ir.caching.fingerprint import objects_met
from primsplit.ir.caching.limited import Recent
from primsplit.ir.dispatching import undispatched

_numbers = itertools.count()

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
    own = name if code.co_name in SIDES else code.co_name
    consts = (_named_like_their_function(c, own) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_name=own, co_consts=tuple(consts))


class _HelpersName(ast.NodeTransformer):
    """Reads the helper from the constants, where its name stands for it as a text."""

    def __init__(self, helper: str) -> None:
        self.helper = helper

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(node.id), node) if node.id == self.helper else node


def _with_helper(code: types.CodeType, name: str, helper: Helper) -> types.CodeType:
    """The code with the helper in place of the text that names it."""
    consts = (
        _with_helper(c, name, helper) if isinstance(c, types.CodeType) else helper if c == name else c
        for c in code.co_consts
    )
    return code.replace(co_consts=tuple(consts))


Helping = Callable[[Sequence[Join]], Helper]


@dataclass(frozen=True)
class _Written:
    """The functions of a file as they are and with their joins.

    `refused` tells why what was asked about at some lines is no join.
    """

    joins: Sequence[Join] = ()
    refused: Mapping[int, str] = field(default_factory=dict)
    before: Codes = field(default_factory=dict)
    after: Codes = field(default_factory=dict)
    looks_up: bool = False


@dataclass(frozen=True)
class _Unasked:
    """A file in which nothing is asked: what is known of it, and its functions, which note what they set."""

    facts: Facts
    codes: Codes
    looks_up: bool


@functools.lru_cache(maxsize=64)
def _unasked(filename: str, text: str) -> _Unasked:
    """A file's functions that no join is in. Writing them takes longer than all else, and is done once."""
    file = ast.parse(text, filename)
    facts = Facts.of(file)
    writer = Writer(filename, facts, frozenset(), frozenset(), frozenset(), UNASKED)
    return _Unasked(facts, _compiled(filename, writer.written(file), UNASKED), writer.looks_up)


UNASKED = f"{HELPER}unasked"
"""The name of the helper in functions that no join is in."""


def _compiled(filename: str, tree: ast.Module, helper: str) -> Codes:
    """The code of the functions of a written file, in which a text stands for the helper of that name."""
    whole = compile(_HelpersName(helper).visit(tree), filename, "exec", dont_inherit=True)
    return _functions_of(_named_like_their_function(whole))


def _write(
    filename: str, text: str, asked: Set[int], left_out: Set[int], growing: Set[int], notes: bool, helping: Helping
) -> _Written:
    """The file with what was asked at these lines joined; without codes where nothing is, unless it `notes` all."""
    name = f"{HELPER}{next(_numbers)}"
    try:
        before, others = _as_written(filename, text), _unasked(filename, text)
    except (SyntaxError, ValueError):
        return _Written()
    writer = Writer(filename, others.facts, asked, left_out, growing, name)
    file, lines = ast.parse(text, filename), asked | left_out | growing
    here = {line for s in file.body if not lines.isdisjoint(own := lines_of(s)) for line in own}
    tree = writer.written(file, here)
    looks_up = writer.looks_up or others.looks_up
    if not (writer.joins or looks_up or notes):
        return _Written(refused=writer.refused)
    helper = helping(writer.joins)
    joined = {
        key: _with_helper(c, name, helper) for key, c in _compiled(filename, tree, name).items() if key[1] in here
    }
    plain = {key: _with_helper(c, UNASKED, helper) for key, c in others.codes.items() if key[1] not in here}
    return _Written(writer.joins, writer.refused, before, plain | joined, looks_up)


Asked = tuple[str, str, frozenset[int], frozenset[int], frozenset[int], bool, Helping]


class _Known:
    """Files that were written: writing one takes as long as it has lines."""

    lock = threading.Lock()
    written: ClassVar[Recent[Asked, _Written]] = Recent(32)


class Rewriting:
    """Functions of one file, each with the code that it is to have: what their tests ask at some lines is joined.

    `functions` are those that may be of this file. `helping` makes of its joins what the new code calls. Where
    something is joined, or the file `notes` it, functions note what they set.
    """

    def __init__(
        self,
        functions: Sequence[types.FunctionType],
        helping: Helping,
        filename: str,
        asked: Set[int] = frozenset(),
        left_out: Set[int] = frozenset(),
        growing: Set[int] = frozenset(),
        *,
        notes: bool = False,
    ) -> None:
        text = "".join(linecache.getlines(filename))
        key: Asked = (filename, text, frozenset(asked), frozenset(left_out), frozenset(growing), notes, helping)
        with _Known.lock:
            known = _Known.written.used(key)
        self.written = known or _write(*key)
        with _Known.lock:
            _Known.written[key] = self.written
        self.joins = self.written.joins
        found = [f for f in functions if f.__code__.co_filename == filename] if self.written.after else ()
        codes = ((function, self._code_of(function)) for function in found)
        self.served = {function: code for function, code in codes if code is not None}
        """The functions of the file, each with its new code, or its own where nothing of it changes."""
        self.codes = [(function, code) for function, code in self.served.items() if code != original(function)]

    def _code_of(self, function: types.FunctionType) -> types.CodeType | None:
        """The code that a function is to have; None for one that is not as the file has it."""
        key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        old, new = self.written.before.get(key), self.written.after.get(key)
        if old is None or new is None or original(function) != old:
            return None
        return new if new.co_freevars == old.co_freevars else None


def functions_of_files(run: Callable[..., Any], filenames: Iterable[str]) -> list[types.FunctionType]:
    """The functions that `run` reads, and those that the modules of these files hold."""
    wanted = {*filenames}
    modules = (m for m in [*sys.modules.values()] if isinstance(m, types.ModuleType))
    theirs = [m for m in modules if vars(m).get("__file__") in wanted]
    return functions_reached([*objects_met(run), *theirs], _seen_or_wrapped)


def functions_reached(values: Iterable[Any], holds: Callable[[Any], list[Any]]) -> list[types.FunctionType]:
    """The functions that are reached from these values."""
    return [f for v in reached(values, holds) if isinstance(f := undispatched(v), types.FunctionType)]


_WRAPPER = type(functools.lru_cache(lambda: None))


def _seen_or_wrapped(value: Any) -> list[Any]:
    """What `seen` tells, and the function that a decorator such as `functools.lru_cache` hides."""
    wrapped = getattr(value, "__wrapped__", None) if isinstance(value, _WRAPPER) else None
    return [*seen(value), *([] if wrapped is None else [wrapped])]


def without_modules(value: Any) -> list[Any]:
    """The same of all but modules, whose other functions are not called."""
    return [] if isinstance(value, types.ModuleType) else _seen_or_wrapped(value)


class _Installed:
    """Which codes each function has been given, over its own."""

    lock = threading.Lock()
    codes: ClassVar[dict[types.FunctionType, list[types.CodeType]]] = {}


def original(function: types.FunctionType) -> types.CodeType:
    """The function's own code, or that of the function which it is a copy of."""
    copied = own_code(function)
    installed = _Installed.codes.get(function)
    return copied if copied is not None else function.__code__ if installed is None else installed[0]


def copies_with(run: Any, rewritten: Sequence[Rewriting]) -> AbstractContextManager[Callable[..., Any]] | None:
    """A copy of `run` that calls copies with the new code; None where that would not reach all that it calls."""
    run, copying = origin(run)
    if copying is None and type(run) is types.FunctionType:
        functions = functions_by_name(run)
        copying = None if functions is None else Copying(functions)
    if copying is None:
        return None
    codes = {function: code for each in rewritten for function, code in each.served.items()}
    copied = {id(f) for f in copying.functions}
    called = {id(f) for f in functions_reached(objects_met(run), without_modules)}
    if any(id(f) in called and id(f) not in copied for f in codes):
        return None
    return copied_with(run, copying, codes)


@contextmanager
def installed(rewriting: Rewriting) -> Iterator[None]:
    """Functions have their new code inside."""
    with _Installed.lock:
        for function, code in rewriting.codes:
            _Installed.codes.setdefault(function, [function.__code__]).append(code)
            function.__code__ = code
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
