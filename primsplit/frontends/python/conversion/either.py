"""A name that holds one of several things that Python tells apart, such as None and a number: the run knows which.

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
"""Which numbers those may be that tell what a name holds."""


class Either:
    """One of `things`, told by its number; those at `traced` are what an If gives, all others were there before.

    `at` is the place of the If, and the name is `called` so by errors.
    """

    __slots__ = ("at", "called", "number", "things", "traced")

    def __init__(
        self, number: Array, things: Mapping[int, Any], traced: Set[int], *, at: tuple[str, int], called: str
    ) -> None:
        self.number, self.things, self.traced = number, things, frozenset(traced)
        self.at, self.called = at, called

    def possible(self) -> list[int]:
        """The numbers of those that it may be where the statements are that are recorded now."""
        allowed = [*self.things]
        for facts in _sides.value.known():
            allowed = [k for k in allowed if k in facts.get(self.number.value, allowed)]
        return allowed

    def refusal(self) -> NotJoined:
        """The error for a name that is read where it may be several things."""
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
    """The one thing that a name holds, where it is known which; else what it may hold."""
    if type(value) is Either and len(possible := value.possible()) == 1:
        return value.things[possible[0]]
    return value


def may_be_told(value: Any) -> bool:
    """True for what Python tells apart from others, and which nothing changes."""
    return value is None or isinstance(value, str | enum.Enum)


def if_gives(value: Any) -> list[Any]:
    """What an If gives of a value: nothing of what Python tells apart."""
    if type(value) is Either:
        return [value.things[k] for k in value.traced]
    return [] if may_be_told(value) else [value]


class _Sides(NamedTuple):
    """Facts that hold in the sides that this thread is in, and those that follow from the conditions it asked."""

    facts: tuple[Facts, ...]
    told: dict[Value, tuple[Facts, Facts]]

    def known(self) -> Iterator[Facts]:
        """Yield the facts where something is recorded now: in the sides, and on the paths that branches have taken."""
        yield from self.facts
        paths = (level.path for level in levels() if isinstance(level.path, Path))
        for taken in (decision for path in paths for decision in path.taken):
            if taken.condition in self.told:
                yield self.told[taken.condition][taken.outcome]


_sides = Scoped(lambda: _Sides((), {}))


def no_facts() -> AbstractContextManager[object]:
    """Forget inside the facts that earlier functions asked for."""
    return _sides.set_to(_Sides((), {}))


def holding(test: Any, outcome: bool) -> AbstractContextManager[object]:
    """Let a condition have this outcome inside."""
    facts, told = _sides.value
    return _sides.set_to(_Sides((*facts, told_by(test, outcome)), told))


def told_by(test: Any, outcome: bool) -> Facts:
    """What a condition tells that has this outcome."""
    return _sides.value.told.get(test.value, ({}, {}))[outcome] if isinstance(test, Array) else {}


def tell(test: Array, terms: Sequence[Facts], outcome: bool) -> None:
    """Let a condition that has this outcome tell all of these."""
    found: dict[Value, frozenset[int]] = {}
    for facts in terms:
        for number, allowed in facts.items():
            found[number] = allowed & found.get(number, allowed)
    _sides.value.told[test.value] = ({}, found) if outcome else (found, {})


def tell_opposite(test: Array, term: Array) -> None:
    """Let a condition tell what the opposite of another tells."""
    _sides.value.told[test.value] = (told_by(term, True), told_by(term, False))


def truth(value: Any) -> Any:
    """A value as a condition: of what a name may hold, which of those are true."""
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
"""The comparisons, as Python's syntax calls them, that tell what a name holds."""


def compared(kind: str, left: Any, right: Any) -> Any:
    """A comparison of what two expressions give, of which each may be one of several things."""
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
    """Whether something holds of what a name holds: known for each thing from before.

    Of what an If gives it is known only where it `is_told` by what no array is, as a text or None.
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
    """Whether something holds of what two names hold, looked up by both numbers."""
    rows, columns = left.possible(), right.possible()
    if not (left.traced.isdisjoint(rows) or right.traced.isdisjoint(columns)):
        raise left.refusal()
    table = np.zeros((max(rows) + 1, max(columns) + 1), np.bool_)
    for k, m in itertools.product(rows, columns):
        pair = (_AN_ARRAY if n in each.traced else each.things[n] for n, each in ((k, left), (m, right)))
        table[k, m] = holds(*pair)
    return op.Gather(table.ravel(), op.Add(op.Mul(left.number, table.shape[1]), right.number))


_AN_ARRAY = object()
"""Stands for what an If gives, which is neither None nor a text."""
