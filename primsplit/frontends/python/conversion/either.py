"""Represents a name that holds one of several things which Python distinguishes, such as None and a number.

The If returns the number of the thing as a traced value; a branch on it narrows what the name may hold.

    first = None
    if a > 0:
        first = a           # None or a number
    if first is not None:
        b = first + 1       # a number: the branch says so
"""

import enum
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.python.conversion.identity import IDENTITIES, identified
from primsplit.ir import Value
from primsplit.ir.scoped import Scoped
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined, Path
from primsplit.tracing.stack import levels

Facts = Mapping[Value, frozenset[int]]
"""The numbers that remain possible for the traced number of an `Either`."""


class Either:
    """One of `things`, selected by the traced `number`.

    The things at `traced` are outputs of the If; all others existed before it. `at` is the source line of the If;
    errors use `called` as the name.
    """

    __slots__ = ("at", "called", "number", "things", "traced")

    def __init__(
        self, number: Array, things: Mapping[int, Any], traced: Set[int], *, at: tuple[str, int], called: str
    ) -> None:
        self.number, self.things, self.traced = number, things, frozenset(traced)
        self.at, self.called = at, called

    def possible(self) -> list[int]:
        """Return the numbers of the things that remain possible at the statement that is being recorded."""
        allowed = [*self.things]
        for facts in _sides.value.known():
            allowed = [k for k in allowed if k in facts.get(self.number.value, allowed)]
        return allowed

    def refusal(self) -> NotJoined:
        """Return the error for a read of the name where several things are possible."""
        return NotJoined(self.at, f"{self.called} is no number or array on one side, and read where it may be either")

    def __getattr__(self, name: str) -> Any:
        raise self.refusal()

    def _refused(self, *_: Any) -> Any:
        raise self.refusal()

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refused
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __pos__ = __abs__ = __invert__ = _refused
    __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = __call__ = __hash__ = _refused
    __int__ = __float__ = __complex__ = __index__ = __str__ = __format__ = _refused


def settled(value: Any) -> Any:
    """Return the thing that a name holds, if only one is possible; else the value unchanged."""
    if type(value) is Either and len(possible := value.possible()) == 1:
        return value.things[possible[0]]
    return value


def may_be_told(value: Any) -> bool:
    """Whether a value is None, a string or an enum member, for which Python code can test."""
    return value is None or isinstance(value, str | enum.Enum)


def if_gives(value: Any) -> list[Any]:
    """Return the parts of a value that an If can output: none of a value that `may_be_told`."""
    if type(value) is Either:
        return [value.things[k] for k in value.traced]
    return [] if may_be_told(value) else [value]


class _Sides(NamedTuple):
    """Facts that hold on the sides that this thread records, and those that follow from conditions it has tested."""

    facts: tuple[Facts, ...]
    told: dict[Value, tuple[Facts, Facts]]

    def known(self) -> Iterator[Facts]:
        """Yield the facts that hold now: on the recorded sides, and on the path by the conditions it has taken."""
        yield from self.facts
        paths = (level.path for level in levels() if isinstance(level.path, Path))
        for taken in (decision for path in paths for decision in path.taken):
            if taken.condition in self.told:
                yield self.told[taken.condition][taken.outcome]


_sides = Scoped(lambda: _Sides((), {}))


def no_facts() -> AbstractContextManager[object]:
    """Return a context manager that hides the facts of conditions tested before."""
    return _sides.set_to(_Sides((), {}))


def holding(test: Any, outcome: bool) -> AbstractContextManager[object]:
    """Return a context manager inside of which a condition has this outcome."""
    facts, told = _sides.value
    return _sides.set_to(_Sides((*facts, told_by(test, outcome)), told))


def told_by(test: Any, outcome: bool) -> Facts:
    """Return the facts that follow from this outcome of a condition."""
    return _sides.value.told.get(test.value, ({}, {}))[outcome] if isinstance(test, Array) else {}


def tell(test: Array, terms: Sequence[Facts], outcome: bool) -> None:
    """Store that this outcome of a condition implies all of these facts."""
    allowed_by_all: dict[Value, frozenset[int]] = {}
    for facts in terms:
        for number, allowed in facts.items():
            allowed_by_all[number] = allowed & allowed_by_all.get(number, allowed)
    _sides.value.told[test.value] = ({}, allowed_by_all) if outcome else (allowed_by_all, {})


def tell_opposite(test: Array, term: Array) -> None:
    """Store the facts of a condition that is the negation of another."""
    _sides.value.told[test.value] = (told_by(term, True), told_by(term, False))


def truth(value: Any) -> Any:
    """Return a value as a condition; for an `Either`, the condition that it holds a thing which is true."""
    value = settled(value)
    return _asked(value, bool, is_told=False) if type(value) is Either else value


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    **IDENTITIES,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}
COMPARED = frozenset(_COMPARISONS)
"""The comparisons, by the names of Python's `ast`, that can tell which thing a name holds."""


def compared(kind: str, left: Any, right: Any) -> Any:
    """Return a comparison of two values, each of which may be an `Either`."""
    compare, left, right = _COMPARISONS[kind], settled(left), settled(right)
    if type(left) is Either and type(right) is not Either:
        is_told = all(map(may_be_told, right)) if kind in _OF_MEMBERS and _is_plain(right) else may_be_told(right)
        return _asked(left, lambda thing: compare(thing, right), is_told=is_told)
    if type(right) is Either and kind not in _OF_MEMBERS:
        if type(left) is Either:
            return _both_asked(left, right, compare)
        return _asked(right, lambda thing: compare(left, thing), is_told=may_be_told(left))
    return identified(kind, left, right) if kind in IDENTITIES else compare(left, right)


_OF_MEMBERS = frozenset({"In", "NotIn"})


def _is_plain(value: Any) -> bool:
    return type(value) in {tuple, list, set, frozenset}


def _asked(either: Either, holds: Callable[[Any], bool], *, is_told: bool) -> Any:
    """Return the condition that `holds` is true of the thing in an `Either`; a bool if that is known.

    The answer for an output of the If is known only if `is_told`: the other operand is a string, None or the like.
    """
    possible = either.possible()
    if not either.traced.isdisjoint(possible) and not is_told:
        raise either.refusal()
    allowed = frozenset(k for k in possible if holds(_AN_ARRAY if k in either.traced else either.things[k]))
    if len(allowed) in {0, len(possible)}:
        return bool(allowed)
    number, others = either.number, {*possible} - allowed
    if len(allowed) == 1:
        test = op.Equal(number, min(allowed))
    elif len(others) == 1:
        test = op.Not(op.Equal(number, min(others)))
    else:
        test = op.Gather(np.isin(np.arange(max(possible) + 1), [*allowed]), number)
    _sides.value.told[test.value] = ({number.value: frozenset(others)}, {number.value: allowed})
    return test


def _both_asked(left: Either, right: Either, holds: Callable[[Any, Any], bool]) -> Any:
    """Return the condition that `holds` is true of the things in two `Either`s: a table lookup by both numbers."""
    rows, columns = left.possible(), right.possible()
    if not (left.traced.isdisjoint(rows) or right.traced.isdisjoint(columns)):
        raise left.refusal()
    table = np.zeros((max(rows) + 1, max(columns) + 1), np.bool_)
    for k, m in itertools.product(rows, columns):
        pair = (_AN_ARRAY if n in each.traced else each.things[n] for n, each in ((k, left), (m, right)))
        table[k, m] = holds(*pair)
    return op.Gather(table.ravel(), op.Add(op.Mul(left.number, table.shape[1]), right.number))


_AN_ARRAY = object()
"""A stand-in for an output of the If, which is neither None nor a string."""
