"""Records each part of a joined loop as one If, which keeps the values once the loop has ended.

```
for k in range(3):              a, ended = If(ended, then: a, ended; else: 2.0 * a, a > 1)     # for each k
    if a > 1:
        break
    a = 2.0 * a
```
"""

import itertools
import sys
import types
from collections.abc import Collection, Sequence
from types import FrameType
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.conversion.identity import note_joined
from primsplit.frontends.python.conversion.missing import NotAssigned, is_missing
from primsplit.frontends.python.conversion.one_if import Side, Statement
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.frontends.python.conversion.side_values import is_same
from primsplit.frontends.python.conversion.unknown import is_unknown
from primsplit.ir import Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import DEEPEST, MOST, NotJoined
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.handles.integer_ranges import Range, narrowed

_MOST_RANGED = 4 * DEEPEST
"""The most parts in which a loop goes on for the ranges of its integers alone."""


class Loop:
    """A loop that runs on as long as its traced condition may not have ended it.

    The results of a part are kept only if the loop had not ended before. A value that Python knows, such as a counter,
    has in the following parts the value as if the loop runs on: they have no effect otherwise.
    """

    def __init__(self, join: Join) -> None:
        self.join = join
        self.ended: Any = False
        self.is_over = False
        self.kept: dict[str, Any] = {}
        """The values after the loop of the names that have another value in the following parts."""
        self.may_go_on = True
        self.count = 0
        self.is_counted = False
        """Whether the loop ends with its iterable, or changes objects, which may end it."""
        self.known: dict[types.CodeType, tuple[list[Any], list[Range | None]]] = {}
        """The values that Python knew of the names when each part ran last, and the ranges of the others."""
        self.ranges: dict[str, Range] = {}
        """The numbers that integers of the run may be in the following parts, as if the loop runs on."""

    def items(self, iterable: Any, *, is_made_here: bool) -> Any:
        """Return the iterable of the loop, after noting whether items may be taken that the loop does not use."""
        self.may_go_on, self.is_counted = _is_held(iterable, is_made_here=is_made_here), True
        return iterable

    def done(self, part: Side) -> tuple[Any, ...]:
        """Return the values of the names after the part, for the parts that follow."""
        frame, names = frame_out(1), self.join.names
        missing = NotAssigned(self.join.at)
        before = [frame.f_locals.get(name, missing) for name in names]
        self.count += 1
        after = self._kept_or(part, before, frame) if is_unknown(self.ended) else part(*before)
        ended = after[names.index(self.join.ended)]
        self.is_over = not is_unknown(ended) and bool(ended)
        self.ended = self.kept.get(self.join.ended, ended)
        return after

    def _kept_or(self, part: Side, given: Sequence[Any], frame: FrameType) -> tuple[Any, ...]:
        if not self.may_go_on:
            raise NotJoined(self.join.at, "the loop takes what it goes through from an iterator")
        if self.count > MOST:
            raise NotJoined(self.join.at, f"the loop has more than {MOST} parts", goes_on=True)
        names, raised = self.join.names, _Raised(self.join.at)
        lives: list[tuple[Any, ...]] = []
        ranges: list[dict[str, Range]] = []

        def live(*own: Any) -> tuple[Any, ...]:
            running = tuple(g if n in self.kept else o for n, g, o in zip(names, given, own, strict=True))
            with narrowed(self._ranges_of(running)):
                lives.append(raised.caught(part, running))
                ranges.append(self._ranges_after(lives[-1]))
            return lives[-1]

        before = [self.kept.get(name, value) for name, value in zip(names, given, strict=True)]
        step = _Step(self.join, frame, before, lambda *own: own, live)
        merged = step.joined(self.ended)
        if raised.error is not None:
            return self._over(raised.failing(before, op.Not(self.ended), step.places.owners))
        common = frozenset(ranges[0]).intersection(*ranges)
        self.ranges = {name: integer_ranges.around([each[name] for each in ranges]) for name in common}
        after = tuple(self._next(name, [outcomes[k] for outcomes in lives], merged[k]) for k, name in enumerate(names))
        self.is_counted = self.is_counted or bool(step.places.owners)
        self._check_end(part, after)
        return after

    def _over(self, after: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the names after the loop, which is over."""
        self.kept = {self.join.ended: True}
        return tuple(True if name == self.join.ended else v for name, v in zip(self.join.names, after, strict=True))

    def _ranges_after(self, found: Sequence[Any]) -> dict[str, Range]:
        """Return the numbers that integers of the run may be after a part that has just run."""
        named = zip(self.join.names, found, strict=True)
        ranges = {name: integer_ranges.range_of(v) for name, v in named if _is_integer(v)}
        return {name: numbers for name, numbers in ranges.items() if numbers is not None}

    def _ranges_of(self, values: Sequence[Any]) -> dict[Var, Range]:
        """Return the numbers that integers of the run may be before a part that runs because the loop runs on."""
        named = zip(self.join.names, values, strict=True)
        return {v.value: self.ranges[n] for n, v in named if n in self.ranges and _is_integer(v)}

    def _check_end(self, part: Side, found: Sequence[Any]) -> None:
        """Raise NotJoined if no value that decides the end changed in the last step: the recording would not end.

        Values that Python knows are compared, and the ranges of integers of the run.
        """
        named = [(n, v) for n, v in zip(self.join.names, found, strict=True) if n in self.join.deciding]
        known = [v if _is_pythons(v) else _OF_THE_RUN for _, v in named]
        moved = [self.ranges.get(name) for name, _ in named] if self.count <= _MOST_RANGED else []
        before = self.known.get(part.__code__)
        if not self.is_counted and before is not None and all(map(is_same, known, before[0])) and moved == before[1]:
            why = "the loop ends by its numbers alone: give it a most number of steps"
            raise NotJoined(self.join.at, why, goes_on=True)
        self.known[part.__code__] = known, moved

    def _next(self, name: str, made: Sequence[Any], merged: Any) -> Any:
        """Return the value of a name in the next part: a known one if all runs agree on it, else the If's output."""
        if _is_pythons(made[0]) and all(is_same(made[0], other) for other in made[1:]) and merged is not made[0]:
            self.kept[name] = merged
            return made[0]
        self.kept.pop(name, None)
        return merged

    def after(self) -> tuple[Any, ...]:
        """Return the values of the names after the loop."""
        frame = frame_out(1)
        missing = NotAssigned(self.join.at)
        return tuple(self.kept.get(n, frame.f_locals.get(n, missing)) for n in self.join.names)


class _Raised:
    """The error of a part that reads an element which is not there, whatever the numbers: the loop ends before it."""

    def __init__(self, at: tuple[str, int]) -> None:
        self.at = at
        self.error: LookupError | None = None

    def caught(self, part: Side, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of the names after a part, and those before it where it raises.

        An error that the function catches is raised.
        """
        if self.error is not None:  # another run of the part raised
            raise NotJoined(self.at, f"a side raises {type(self.error).__name__}: {self.error}")
        try:
            return part(*given)
        except (LookupError, PrimsplitError) as error:
            pythons = error.numpys if isinstance(error, PrimsplitError) else error
            if not isinstance(pythons, LookupError) or tracing.is_caught(type(pythons), in_sides=True):
                raise
            self.error = pythons
            return given

    def failing(self, values: Sequence[Any], wrong: Array, owners: Collection[Any]) -> list[Any]:
        """Return the values with each number failing where `wrong` holds. Raises NotJoined if others would not."""
        error = self.error or LookupError()
        others = (v for v in values if isinstance(v, Array | np.ndarray | Either | Grown))
        if owners or not all(isinstance(v, Array) and v.is_number() for v in others):
            raise NotJoined(self.at, f"a side raises {type(error).__name__}: {error}")
        return [_failing(v, wrong, error, self.at) if isinstance(v, Array) else v for v in values]


def _failing(number: Array, wrong: Array, error: Exception, at: tuple[str, int]) -> Array:
    """Return a number of the same class and range; a run in which `wrong` holds fails."""
    found = Array(checked(number, wrong, error).value, weak=number.weak, scalar=number.scalar)
    note_joined(found, [number], at)
    if (numbers := integer_ranges.range_of(number)) is not None:
        integer_ranges.note_range(found.value, *numbers)
    return found


def _is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python's that only the run knows."""
    return type(value) is Array and value.weak and value.dtype.kind == "i" and isinstance(value.value, Var)


_OF_THE_RUN = object()
"""A stand-in for values that are known only at run time."""


def _is_pythons(value: Any) -> bool:
    """Whether Python knows a value while recording: it is no array, and holds none."""
    if isinstance(value, tuple):
        return all(map(_is_pythons, value))
    return not isinstance(value, Array | np.ndarray | Either | Grown) and not is_missing(value)


class _Step(Statement):
    """One part of a loop, which does nothing if the loop has ended."""

    def _is_chosen(self, name: str) -> bool:
        return not is_missing(self.given[self.join.names.index(name)])


_HELD = (
    range, list, tuple, str, dict, np.ndarray, Array, itertools.product, itertools.combinations, itertools.permutations,
    *map(type, ({}.keys(), {}.values(), {}.items())),
)  # fmt: skip
"""Containers, and iterators from which taking an unused item loses nothing."""
_ITERATORS = frozenset(
    map(type, (iter([]), iter(()), iter(range(0)), reversed([]), iter(""), iter({}), iter(np.ones(1))))
)


def _is_held(iterable: Any, *, is_made_here: bool) -> bool:
    """Whether taking an item that the loop does not use has no visible effect.

    `is_made_here` says that the iterable is a call of `enumerate` or `zip` in the loop's first line.
    """
    if isinstance(iterable, enumerate | zip):
        return is_made_here and _owns_all(iterable)
    return type(iterable) in _HELD


def _owns_all(pairs: Any) -> bool:
    """Whether an `enumerate` or `zip` is the only one that consumes its iterators."""
    if max(_holders(pairs), default=0) > _ALONE[type(pairs)]:
        return False
    parts = parts_of_iterator(pairs)
    return all(type(part) in _ITERATORS or (type(part) in _ALONE and _owns_all(part)) for part in parts)


def parts_of_iterator(iterator: Any) -> list[Any]:
    """Return the iterators that an `enumerate`, `zip` or `map` reads, and the function of a `map`."""
    return [part for part in iterator.__reduce__()[1] if not isinstance(part, int)]


def _holders(pairs: Any) -> list[int]:
    """Return the reference count of each iterator, including the counting call's own."""
    return [sys.getrefcount(part) for part in parts_of_iterator(pairs)]


_ALONE = {kind: _holders(kind([0]))[0] for kind in (enumerate, zip)}
"""The reference count of an iterator that nothing else consumes."""
