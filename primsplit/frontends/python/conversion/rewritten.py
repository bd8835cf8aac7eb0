"""Rewrites files so that functions record both sides of some statements, and compiles these function by function.

A file is rewritten once for each set of lines with traced conditions. Definitions without such a line are rewritten
once.
"""

import functools
import itertools
import threading
import types
from collections.abc import Callable, Mapping, Sequence, Set
from typing import ClassVar, NamedTuple

from primsplit.frontends.python.conversion.holders import HELPER, JoinsHelper
from primsplit.frontends.python.conversion.rewriting import SIDES, Facts, Join, Writer, lines_of
from primsplit.frontends.python.converter.copies import Code, Function, compiled, current_definition, origin
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.source import SourceError, like
from primsplit.frontends.python.converter.transformer import OPERATORS as OPERATORS_NAME
from primsplit.frontends.python.converter.transformer import Transformer
from primsplit.ir.caching.fingerprint import package_of
from primsplit.ir.caching.limited import Recent
from primsplit.ir.definitions import Definition, Index, copied, index_of, text_of
from primsplit.ir.parsing import parsed_text

_numbers = itertools.count()
Helping = Callable[[Sequence[Join]], JoinsHelper]

UNASKED = f"{HELPER}unasked"
"""The name of the helper in functions without joins."""


class _Unasked(NamedTuple):
    """A file without traced conditions: its definitions, which note what they set."""

    definitions: Index
    looks_up: bool


@functools.lru_cache(maxsize=64)
def _facts(filename: str, text: str) -> Facts:
    """Return the facts about a file. Raises SyntaxError or ValueError if it is not Python."""
    return Facts.of(parsed_text(text, filename))


@functools.lru_cache(maxsize=64)
def _unasked(filename: str, text: str) -> _Unasked:
    """Return the definitions of a file without joins."""
    writer = Writer(filename, _facts(filename, text), frozenset(), frozenset(), frozenset(), UNASKED)
    return _Unasked(index_of(writer.written(parsed_text(text, filename))), writer.looks_up)


class RewrittenFile:
    """A file with joins in place of the statements that were asked for."""

    def __init__(self, joins: Sequence[Join], refused: Mapping[int, str], *, looks_up: bool) -> None:
        self.joins, self.refused, self.looks_up = joins, refused, looks_up
        self.definitions: list[tuple[Callable[[], Index], str]] = []
        """Return the definitions with joins, and all others; each with the name of the helper that they call."""
        self.helper: JoinsHelper | None = None
        self.codes: dict[Code, Code] = {}

    def code_of(self, function: Function) -> Code | None:
        """Return the code for a function's copy; None if the file does not define the function."""
        code = function.__code__
        if self.helper is None or self.helper in code.co_consts:
            return code if self.helper is not None else None
        function = origin(function)
        code = function.__code__
        if code not in self.codes:
            new = self._code_of(function)
            if new is None:
                return None
            self.codes[code] = new
        return self.codes[code]

    def _code_of(self, function: Function) -> Code | None:
        code = function.__code__
        try:
            own = current_definition(function)
        except SourceError:
            return None
        for index, name in self.definitions:
            definition = like(own, code, index())
            if definition is not None:
                return self._compiled(definition, code, name, is_package=bool(package_of(function.__module__ or "")))
        return None

    def _compiled(self, definition: Definition, code: Code, name: str, *, is_package: bool) -> Code | None:
        if self.helper is None:
            return None
        helpers = {OPERATORS_NAME: OPERATORS[is_package], name: self.helper}
        node = Transformer(frozenset({name})).visit(copied(definition.node))
        new = _named_like_their_function(compiled(definition._replace(node=node), code, helpers))
        return new if {*new.co_freevars} == {*code.co_freevars} else None


def _named_like_their_function(code: Code, name: str = "") -> Code:
    """Return the code with the sides of joins named like the function around them."""
    own = name if code.co_name in SIDES else code.co_name
    consts = (_named_like_their_function(c, own) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_name=own, co_consts=tuple(consts))


class _Asked(NamedTuple):
    """The request for a file: the lines of conditions, of statements left out, and of lists that grow."""

    filename: str
    text: str
    asked: frozenset[int]
    left_out: frozenset[int]
    growing: frozenset[int]
    notes: bool
    helping: Helping


class _Known:
    """A cache of rewritten files, as rewriting takes time in proportion to the lines."""

    lock = threading.Lock()
    files: ClassVar[Recent[_Asked, RewrittenFile]] = Recent(32)


def rewritten(
    filename: str,
    helping: Helping,
    asked: Set[int] = frozenset(),
    left_out: Set[int] = frozenset(),
    growing: Set[int] = frozenset(),
    *,
    notes: bool = False,
) -> RewrittenFile:
    """Return a file with the statements at these lines joined. `helping` makes the helper object from the joins.

    If there are joins, or if `notes`, functions note what they set; otherwise the file has no codes.
    """
    key = _Asked(filename, text_of(filename), frozenset(asked), frozenset(left_out), frozenset(growing), notes, helping)
    with _Known.lock:
        known = _Known.files.used(key)
    file = known or _rewritten(key)
    with _Known.lock:
        _Known.files[key] = file
    return file


def _rewritten(key: _Asked) -> RewrittenFile:
    try:
        facts = _facts(key.filename, key.text)
    except (SyntaxError, ValueError):
        return RewrittenFile((), {}, looks_up=False)
    name = f"{HELPER}{next(_numbers)}"
    writer = Writer(key.filename, facts, key.asked, key.left_out, key.growing, name)
    file, lines = parsed_text(key.text, key.filename), key.asked | key.left_out | key.growing
    here = {line for s in file.body if not lines.isdisjoint(own := lines_of(s)) for line in own}
    index = index_of(writer.written(file, here))
    looks_up = writer.looks_up or (not writer.joins and _unasked(key.filename, key.text).looks_up)
    result = RewrittenFile(writer.joins, writer.refused, looks_up=looks_up)
    if writer.joins or looks_up or key.notes:
        result.helper = key.helping(writer.joins)
        others = (lambda: _unasked(key.filename, key.text).definitions), UNASKED
        result.definitions = [((lambda: index), name), others]
    return result
