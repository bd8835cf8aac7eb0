"""The functions of a file with the code in which their statements are joined, for one run; afterwards their own."""

import ast
import functools
import gc
import itertools
import linecache
import threading
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from primsplit.caching.limited import Recent
from primsplit.joins.holders import HELPER
from primsplit.joins.rewriting import SIDES, Join, Writer

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


@dataclass(frozen=True)
class _Written:
    """The functions of a file as they are and with their joins, which call the helper by this name.

    `refused` tells why what was asked about at some lines is no join.
    """

    helper: str
    joins: Sequence[Join] = ()
    refused: Mapping[int, str] = field(default_factory=dict)
    before: Codes = field(default_factory=dict)
    after: Codes = field(default_factory=dict)
    looks_up: bool = False


def _write(filename: str, text: str, asked: Set[int], left_out: Set[int], growing: Set[int], notes: bool) -> _Written:
    """The file with what was asked at these lines joined; without codes where nothing is, unless it `notes` all."""
    helper = f"{HELPER}{next(_numbers)}"
    try:
        before = _as_written(filename, text)
    except (SyntaxError, ValueError):
        return _Written(helper)
    writer = Writer(filename, asked, left_out, growing, helper)
    tree = writer.visit(ast.parse(text, filename))
    if not (writer.joins or writer.looks_up or notes):
        return _Written(helper, refused=writer.refused)
    after = _functions_of(_named_like_their_function(compile(tree, filename, "exec", dont_inherit=True)))
    return _Written(helper, writer.joins, writer.refused, before, after, writer.looks_up)


Asked = tuple[str, str, frozenset[int], frozenset[int], frozenset[int], bool]


class _Spare:
    """Files that were written and that no run uses: writing one takes as long as it has lines."""

    lock = threading.Lock()
    written: ClassVar[Recent[Asked, list[_Written]]] = Recent(32)


class Rewriting:
    """Functions of one file, each with the code that it is to have: what their tests ask at some lines is joined.

    Where something is, or the file `notes` it, functions note what they set.
    """

    def __init__(
        self, filename: str, asked: Set[int], left_out: Set[int], growing: Set[int], *, notes: bool = False
    ) -> None:
        text = "".join(linecache.getlines(filename))
        self.asked: Asked = (filename, text, frozenset(asked), frozenset(left_out), frozenset(growing), notes)
        with _Spare.lock:
            spare = _Spare.written.used(self.asked)
            written = spare.pop() if spare else None
        self.written = written or _write(*self.asked)
        self.helper, self.joins = self.written.helper, self.written.joins
        found = _functions_in(filename) if self.written.after else ()
        codes = ((function, self._code_of(function)) for function in found)
        self.served = {function: code for function, code in codes if code is not None}
        """The functions that were found in the file, each with its new code, or its own where nothing of it changes."""
        self.codes = [(function, code) for function, code in self.served.items() if code != original(function)]
        if not self.codes:
            self.done()

    def _code_of(self, function: types.FunctionType) -> types.CodeType | None:
        """The code that a function is to have; None for one that is not as the file has it."""
        key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        old, new = self.written.before.get(key), self.written.after.get(key)
        if old is None or new is None or original(function) != old:
            return None
        return new if new.co_freevars == old.co_freevars else None

    def done(self) -> None:
        """Let another run have what was written."""
        with _Spare.lock:
            _Spare.written.setdefault(self.asked, []).append(self.written)


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
        rewriting.done()
