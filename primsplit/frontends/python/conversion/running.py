"""The runtime helpers that functions with joined statements call: conditions, branches and loops."""

import sys
import types
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
from primsplit.frontends.python.conversion.handing import returned, taken
from primsplit.frontends.python.conversion.holders import Helper
from primsplit.frontends.python.conversion.identity import nothing_given
from primsplit.frontends.python.conversion.installing import Rewriting, copies_with, functions_of_files, installed
from primsplit.frontends.python.conversion.journal import changing, filling, journal, sharing
from primsplit.frontends.python.conversion.lookups import item
from primsplit.frontends.python.conversion.matching import is_sequence, matched, part
from primsplit.frontends.python.conversion.missing import NotAssigned, read, told
from primsplit.frontends.python.conversion.one_if import Side, Statement
from primsplit.frontends.python.conversion.ordering import ordering
from primsplit.frontends.python.conversion.records import replacing
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.frontends.python.conversion.stepping import Loop
from primsplit.frontends.python.conversion.storing import changed, put
from primsplit.frontends.python.conversion.telling import (
    are_told,
    functions_that_compare_truths,
    functions_that_tell,
    functions_told,
)
from primsplit.frontends.python.conversion.unknown import is_unknown, joining
from primsplit.frontends.python.copies import copied_again, origin
from primsplit.ir.errors import ConcretizationError, Place
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.control.branching import choose
from primsplit.tracing.hooks import HOOKS


class Joins(Helper):
    """What the joined statements of a file call."""

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

    def statement(self, number: int, test: Any, true: Side, false: Side) -> tuple[Any, ...]:
        """The values that the statement's names have after it."""
        join, frame = self.joins[number], sys._getframe(1)
        missing = NotAssigned(join.at)
        given = [frame.f_locals.get(name, missing) for name in join.names]
        if not is_unknown(test):
            return (true if test else false)(*given)
        return Statement(join, frame, given, true, false).joined(test)

    def choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """The value of `a if test else b`, which a name is given."""
        return self._choice(number, test, true, false)

    def read_choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """The value of `a if test else b`, which is used at once."""
        return read(self._choice(number, test, true, false))

    def _choice(self, number: int, test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        if not is_unknown(test):
            return true() if test else false()
        join, frame = self.joins[number], sys._getframe(2)
        made = Join(join.at, join.effects, ("the value",), frozenset({"the value"}))
        sides = (lambda _: (true(),)), (lambda _: (false(),))
        return told(Statement(made, frame, [NotAssigned(join.at)], *sides).joined(test)[0])

    matched, is_sequence, part = staticmethod(matched), staticmethod(is_sequence), staticmethod(part)

    def loop(self, number: int) -> Loop:
        """A loop whose end may be in the numbers."""
        return Loop(self.joins[number])

    def all_of(self, number: int, *terms: Callable[[], Any]) -> Any:
        """`a and b and c`, as a condition."""
        return _combined(terms, self.joins[number].at, decides=False)

    def any_of(self, number: int, *terms: Callable[[], Any]) -> Any:
        """`a or b or c`, as a condition."""
        return _combined(terms, self.joins[number].at, decides=True)

    @staticmethod
    def none_of(term: Callable[[], Any]) -> Any:
        """`not a`, as a condition."""
        value = term()
        if not is_unknown(value):
            return not value
        test = Array(op.Not(_truth(value)).value)
        tell_opposite(test, value)
        return test


def _combined(terms: Sequence[Callable[[], Any]], at: tuple[str, int], *, decides: bool) -> Any:
    """Terms in their order: one that is `decides` ends it, and those behind are not computed, as in Python."""
    for k, term in enumerate(terms):
        value = term()
        if is_unknown(value):
            return _behind(value, terms[k + 1 :], at, decides=decides)
        if bool(value) is decides:
            return decides
    return not decides


def _behind(first: Array, rest: Sequence[Callable[[], Any]], at: tuple[str, int], *, decides: bool) -> Any:
    """A term that only the run knows, and those behind it: in an If, as what the first rules out may have no value.

    Raises NotJoined where computing them changes anything.
    """
    if not rest:
        return first

    def ended() -> Any:
        return np.bool_(decides)

    known: list[bool | None] = []
    told = [told_by(first, not decides)]

    def others() -> Any:
        with journal(at, lambda _: True, lambda _: []) as changed, holding(first, not decides):
            found = _combined(rest, at, decides=decides)
            if changed.noted:
                raise NotJoined(at, "its condition changes what it reads")
        known.append(None if is_unknown(found) else bool(found))
        told.append(told_by(found, not decides))
        return _truth(found) if is_unknown(found) else np.bool_(found)

    sides = (others, ended) if decides else (ended, others)
    found = choose(scalar_condition(first), list(sides), ())
    tell(found, told if len(known) == 1 else told[:1], not decides)
    return decides if known and all(k is decides for k in known) else found


def _truth(value: Any) -> Array:
    return Array(scalar_condition(value))


def joined(
    run: Callable[..., Any],
    asked: Set[Place],
    left_out: Set[tuple[str, int]],
    noting: Set[str],
    growing: Set[tuple[str, int]],
    refused: dict[tuple[str, int], str],
) -> AbstractContextManager[Callable[..., Any]] | None:
    """What lets the statements that `run` asked at these places be joined, but for those left out; None for none.

    In the files `noting`, all functions note what they set; in functions with statements that are `growing`, lists have
    other lengths after one side. It gives what to run in place of `run`. `refused` is told why some statements are
    never joined. None are where a function that tells Python's values from traced ones cannot be written anew.
    """
    original, _ = origin(run)
    telling = functions_that_tell(original)
    noting = noting | {function.__code__.co_filename for function in telling}
    rewritten, served = [], set[types.FunctionType]()
    filenames = sorted({p.filename for p in asked} | noting)
    functions = [*telling, *functions_of_files(original, filenames)]
    for filename in filenames:
        lines = {p.line for p in asked if p.filename == filename}
        lines_left_out = {line for name, line in left_out if name == filename}
        lines_growing = {line for name, line in growing if name == filename}
        notes = filename in noting
        rewriting = Rewriting(functions, Joins, filename, lines, lines_left_out, lines_growing, notes=notes)
        refused |= {(filename, line): why for line, why in rewriting.written.refused.items()}
        rewritten += [rewriting] if rewriting.codes else []
        served |= rewriting.served.keys()
    if not served.issuperset(telling):
        return None
    return _with_joins(run, rewritten) if any(r.joins or r.written.looks_up for r in rewritten) else None


HOOKS.join_branches = joined


def truths_told(run: Callable[..., Any]) -> AbstractContextManager[Callable[..., Any]] | None:
    """What lets functions see what `is True` says of a traced value; None where none asks that does not see it already.

    It gives what to run in place of `run`.
    Raises ConcretizationError where one that asks cannot be written anew.
    """
    original, _ = origin(run)
    asking = [] if are_told() else functions_that_compare_truths(original)
    filenames = sorted({function.__code__.co_filename for function in asking})
    functions = [*asking, *(functions_of_files(original, filenames) if filenames else ())]
    rewritten = [Rewriting(functions, Joins, name, notes=True) for name in filenames]
    served = {function for each in rewritten for function in each.served}
    for function in asking:
        if function not in served:
            raise ConcretizationError(
                f"{function.__qualname__} compares what may be a truth value, known only at run time, by `is`, and has "
                "no source that tells where",
                place=tracing.user_place(),
                cure="Write `if flag:` for `if flag is True:`, or keep the function in a file.",
            )
    return _written_anew(run, rewritten) if asking else None


HOOKS.show_truths = truths_told


@contextmanager
def _with_joins(run: Callable[..., Any], rewritten: Sequence[Rewriting]) -> Iterator[Callable[..., Any]]:
    """`run` with copies of its functions, or where these would not do, with new code in the functions themselves."""
    copies = None if are_told() else copies_with(run, rewritten)
    anew = _written_anew(run, rewritten) if copies is None else copies
    with anew as ours, functions_told(), nothing_given(), joining(), no_facts():
        yield ours


@contextmanager
def _written_anew(run: Callable[..., Any], rewritten: Sequence[Rewriting]) -> Iterator[Callable[..., Any]]:
    with ExitStack() as stack:
        for rewriting in rewritten:
            stack.enter_context(installed(rewriting))
        stack.enter_context(functions_told())
        stack.enter_context(nothing_given())
        yield stack.enter_context(copied_again(run))
