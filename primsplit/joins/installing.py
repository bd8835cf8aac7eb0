"""The functions of a file with the code in which their statements are joined, for one run; afterwards their own."""

import ast
import functools
import gc
import itertools
import linecache
import threading
import types
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any, ClassVar

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


class Rewriting:
    """Functions of one file, each with the code that it is to have: what their tests ask at some lines is joined."""

    def __init__(self, filename: str, asked: Set[int], left_out: Set[int]) -> None:
        self.helper = f"{HELPER}{next(_numbers)}"
        self.joins: list[Join] = []
        self.codes: list[tuple[types.FunctionType, types.CodeType]] = []
        text = "".join(linecache.getlines(filename))
        try:
            before = _as_written(filename, text)
        except (SyntaxError, ValueError):
            return
        writer = Writer(filename, asked, left_out, self.helper)
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
