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
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.conversion.missing import NotAssigned, is_missing
from primsplit.frontends.python.conversion.one_if import Side, Statement
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.frontends.python.conversion.side_values import is_same
from primsplit.frontends.python.conversion.unknown import is_unknown
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import MOST, NotJoined
from primsplit.tracing.call_stack import frame_out


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
        self.known: dict[types.CodeType, list[Any]] = {}
        """The values that Python knew of the names when each part ran last."""

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
        names = self.join.names
        lives: list[tuple[Any, ...]] = []

        def live(*own: Any) -> tuple[Any, ...]:
            lives.append(part(*(g if n in self.kept else o for n, g, o in zip(names, given, own, strict=True))))
            return lives[-1]

        before = [self.kept.get(name, value) for name, value in zip(names, given, strict=True)]
        step = _Step(self.join, frame, before, lambda *own: own, live)
        merged = step.joined(self.ended)
        after = tuple(self._next(name, [outcomes[k] for outcomes in lives], merged[k]) for k, name in enumerate(names))
        self.is_counted = self.is_counted or bool(step.places.owners)
        self._check_end(part, after)
        return after

    def _check_end(self, part: Side, found: Sequence[Any]) -> None:
        """Raise NotJoined if no value that Python knows changed in the last step: the recording would not end."""
        known = [value if _is_pythons(value) else _OF_THE_RUN for value in found]
        before = self.known.get(part.__code__)
        if not self.is_counted and before is not None and all(map(is_same, known, before)):
            why = "the loop ends by its numbers alone: give it a most number of steps"
            raise NotJoined(self.join.at, why, goes_on=True)
        self.known[part.__code__] = known

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
    return all(type(part) in _ITERATORS or (type(part) in _ALONE and _owns_all(part)) for part in _parts(pairs))


def _parts(pairs: Any) -> list[Any]:
    return [part for part in pairs.__reduce__()[1] if not isinstance(part, int)]


def _holders(pairs: Any) -> list[int]:
    """Return the reference count of each iterator, including the counting call's own."""
    return [sys.getrefcount(part) for part in _parts(pairs)]


_ALONE = {kind: _holders(kind([0]))[0] for kind in (enumerate, zip)}
"""The reference count of an iterator that nothing else consumes."""
