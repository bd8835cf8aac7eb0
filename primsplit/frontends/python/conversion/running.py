"""Defines the runtime helpers that functions with joined statements call: conditions, branches and loops."""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion import growing
from primsplit.frontends.python.conversion.classes import class_of, telling
from primsplit.frontends.python.conversion.either import (
    compared,
    holding,
    no_facts,
    tell,
    tell_opposite,
    told_by,
    truth,
)
from primsplit.frontends.python.conversion.filling import filling
from primsplit.frontends.python.conversion.handing import returned, taken
from primsplit.frontends.python.conversion.holders import JoinsHelper
from primsplit.frontends.python.conversion.identity import nothing_given
from primsplit.frontends.python.conversion.journal import changing, journal, sharing
from primsplit.frontends.python.conversion.lookups import item
from primsplit.frontends.python.conversion.matching import is_sequence, matched, part
from primsplit.frontends.python.conversion.missing import NotAssigned, read, told
from primsplit.frontends.python.conversion.one_if import Side, Statement
from primsplit.frontends.python.conversion.ordering import ordering
from primsplit.frontends.python.conversion.records import replacing
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.frontends.python.conversion.rewritten import RewrittenFile, rewritten
from primsplit.frontends.python.conversion.stepping import Loop
from primsplit.frontends.python.conversion.storing import changed, put
from primsplit.frontends.python.conversion.telling import (
    are_told,
    functions_that_compare_truths,
    functions_that_tell,
    functions_told,
)
from primsplit.frontends.python.conversion.unknown import is_unknown, joining
from primsplit.frontends.python.converter.calls import lifted
from primsplit.frontends.python.converter.copies import Conversion, Options, current, origin
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.source import is_in_source
from primsplit.ir.errors import ConcretizationError
from primsplit.ir.scoped import as_block
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.exploring import Joining
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.control.branching import choose
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.hooks import HOOKS

Run = Callable[..., Any]


class Joins(JoinsHelper):
    """The helper object of a file, with the operators that its rewritten functions call."""

    def __init__(self, joins: Sequence[Join]) -> None:
        self.joins = joins

    read, told, truth = staticmethod(read), staticmethod(told), staticmethod(truth)
    grown, appended, length = staticmethod(growing.grown), staticmethod(growing.appended), staticmethod(growing.length)
    total, whole, element = staticmethod(growing.total), staticmethod(growing.whole), staticmethod(growing.element)
    extreme, places = staticmethod(growing.extreme), staticmethod(growing.places)
    is_behind, ordering = staticmethod(growing.is_behind), staticmethod(ordering)
    replacing, item = staticmethod(replacing), staticmethod(item)
    put, changed = staticmethod(put), staticmethod(changed)
    taken, returned = staticmethod(taken), staticmethod(returned)
    compared, class_of = staticmethod(compared), staticmethod(class_of)
    telling = staticmethod(telling)
    changing = staticmethod(changing)
    filling = staticmethod(filling)
    sharing = staticmethod(sharing)

    @staticmethod
    def unchanged(*values: Any) -> tuple[Any, ...]:
        """Return the values of the names as a side that does nothing leaves them."""
        return values

    def statement(self, number: int, test: Any, true: Side, false: Side) -> tuple[Any, ...]:
        """Return the values of the statement's names after it."""
        join, frame = self.joins[number], frame_out(1)
        missing = NotAssigned(join.at)
        before = [frame.f_locals.get(name, missing) for name in join.names]
        if not is_unknown(test):
            return (true if test else false)(*before)
        return Statement(join, frame, before, true, false).joined(test)

    def choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """Return `a if test else b` for an assignment to a name; it may be an `Either`."""
        return self._choice(number, test, true, false)

    def read_choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """Return `a if test else b` for immediate use."""
        return read(self._choice(number, test, true, false))

    def _choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        if not is_unknown(test):
            return true() if test else false()
        join, frame = self.joins[number], frame_out(2)
        join_of_value = Join(join.at, join.effects, ("the value",), frozenset({"the value"}))
        sides = (lambda _: (true(),)), (lambda _: (false(),))
        return told(Statement(join_of_value, frame, [NotAssigned(join.at)], *sides).joined(test)[0])

    matched, is_sequence, part = staticmethod(matched), staticmethod(is_sequence), staticmethod(part)

    def loop(self, number: int) -> Loop:
        """Return the state of a loop that may end by a traced condition."""
        return Loop(self.joins[number])

    def all_of(self, number: int, *terms: Callable[[], Any]) -> Any:
        """Return `a and b and c` as a condition."""
        return _combined(terms, self.joins[number].at, decides=False)

    def any_of(self, number: int, *terms: Callable[[], Any]) -> Any:
        """Return `a or b or c` as a condition."""
        return _combined(terms, self.joins[number].at, decides=True)

    @staticmethod
    def none_of(term: Callable[[], Any]) -> Any:
        """Return `not a` as a condition."""
        value = term()
        if not is_unknown(value):
            return not value
        holds = _truth(value)
        test = Array(op.Not(holds).value)
        tell_opposite(test, value)
        integer_ranges.note_opposite(test.value, holds.value)
        return test


def _combined(terms: Sequence[Callable[[], Any]], at: tuple[str, int], *, decides: bool) -> Any:
    """Return `and` or `or` of terms: the first that equals `decides` ends the evaluation, as in Python."""
    for k, term in enumerate(terms):
        value = term()
        if is_unknown(value):
            return _behind(value, terms[k + 1 :], at, decides=decides)
        if bool(value) is decides:
            return decides
    return not decides


def _behind(first: Array, rest: Sequence[Callable[[], Any]], at: tuple[str, int], *, decides: bool) -> Any:
    """Return a traced term combined with the terms behind it, which an If evaluates only if the first does not decide.

    Raises NotJoined if evaluating them has side effects.
    """
    if not rest:
        return first

    def ended() -> Any:
        return np.bool_(decides)

    known: list[bool | None] = []
    facts = [told_by(first, not decides)]

    def others() -> Any:
        with journal(at, lambda _: True, lambda _: []) as changed, holding(first, not decides):
            found = _combined(rest, at, decides=decides)
            if changed.noted:
                raise NotJoined(at, "its condition changes what it reads")
        known.append(None if is_unknown(found) else bool(found))
        facts.append(told_by(found, not decides))
        return _truth(found) if is_unknown(found) else np.bool_(found)

    sides = (others, ended) if decides else (ended, others)
    found = choose(scalar_condition(first), list(sides), ())
    tell(found, facts if len(known) == 1 else facts[:1], not decides)
    return decides if known and all(k is decides for k in known) else found


def _truth(value: Any) -> Array:
    return Array(scalar_condition(value))


def joined(wanted: Joining) -> AbstractContextManager[Run] | None:
    """Return a context manager that joins the statements with conditions at the places `asked`, but for those left out.

    It yields the function to run in place of `run`. The reasons why statements are never joined are added to `refused`.

    Returns None if nothing is to be joined, or if the source of a function that distinguishes Python's values from
    traced ones cannot be read.
    """
    run = origin(wanted.run)
    telling = functions_that_tell(run)
    noting = wanted.noting | {function.__code__.co_filename for function in telling}
    files: dict[str, RewrittenFile] = {}
    for filename in sorted({p.filename for p in wanted.asked} | noting):
        lines = {p.line for p in wanted.asked if p.filename == filename}
        lines_left_out = {line for name, line in wanted.left_out if name == filename}
        lines_growing = {line for name, line in wanted.growing if name == filename}
        file = rewritten(filename, Joins, lines, lines_left_out, lines_growing, notes=filename in noting)
        wanted.refused |= {(filename, line): why for line, why in file.refused.items()}
        unread = next((p for p in wanted.asked if p.filename == filename and not is_in_source(filename, p.line)), None)
        if unread is not None:
            reason = f"the source of {unread.function} ({filename}) cannot be read, so its branches stay apart"
            wanted.refused[filename, 0] = reason
        if file.helper is not None:
            files[filename] = file
    if not all(_is_rewritten(function, files) for function in telling):
        return None
    if not any(file.joins or file.looks_up for file in files.values()):
        return None
    converted = _converted(run, files)
    return None if converted is None else _with_joins(*converted, of_one_type=wanted.of_one_type)


HOOKS.join_branches = joined


def _is_rewritten(function: types.FunctionType, files: Mapping[str, RewrittenFile]) -> bool:
    file = files.get(function.__code__.co_filename)
    return file is not None and file.code_of(function) is not None


def _converted(run: Run, files: Mapping[str, RewrittenFile]) -> tuple[Conversion, Run] | None:
    """Return a conversion with these files, nested in the one that this thread runs, and the copy of `run` in it."""
    conversion = Conversion.inside(current(), OPERATORS, Options(rewritten=files))
    with conversion.running():
        copied = lifted(conversion, origin(run))
    return None if copied is run else (conversion, copied)


def truths_told(run: Run) -> AbstractContextManager[Run] | None:
    """Return a context manager that lets `is True` compare traced values; None if no function needs it or it is active.

    It yields the function to run in place of `run`. Raises ConcretizationError if the source of a function with such a
    comparison cannot be read.
    """
    asking = [] if are_told() else functions_that_compare_truths(origin(run))
    if not asking:
        return None
    names = sorted({function.__code__.co_filename for function in asking})
    files = {name: rewritten(name, Joins, notes=True) for name in names}
    for function in asking:
        if not _is_rewritten(function, files):
            raise ConcretizationError(
                f"{function.__qualname__} compares what may be a truth value, known only at run time, by `is`, and has "
                "no source that tells where",
                place=tracing.user_place(),
                cure="Write `if flag:` for `if flag is True:`, or keep the function in a file.",
            )
    converted = _converted(run, files)
    return None if converted is None else _with_truths(*converted)


HOOKS.show_truths = truths_told


@as_block
def _with_joins(conversion: Conversion, copied: Run, *, of_one_type: bool) -> Iterator[Run]:
    with _with_truths(conversion, copied), joining(of_one_type=of_one_type), no_facts():
        yield copied


@as_block
def _with_truths(conversion: Conversion, copied: Run) -> Iterator[Run]:
    with conversion.running(), functions_told(), nothing_given():
        yield copied
