"""Answers questions of class and identity for values from joined statements, of which Python sees one per side."""

import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from primsplit import tracing
from primsplit.frontends.python.conversion.telling import are_told
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.handles.concretization import numpys_class
from primsplit.tracing.hooks import HOOKS

At = tuple[str, int]


class _Given(threading.local):
    """What joined statements gave this thread: at which place, and of which classes the values of their sides are."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Any, At, frozenset[type]]] = {}


_given = _Given()


@contextmanager
def nothing_given() -> Iterator[None]:
    """Inside, what statements gave to functions before is not known."""
    before, _given.values = _given.values, {}
    try:
        yield
    finally:
        _given.values = before


def note_joined(value: Any, made: Sequence[Any], at: At) -> None:
    """Remember that the statement at a place gave a value, one of those that the runs of its sides made."""
    _note(value, made, at)
    leaves = trees.leaves_or_none(value)
    sides = [trees.leaves_or_none(each) for each in made]
    if all(len(side) == len(leaves) for side in sides):
        for k, leaf in enumerate(leaves):
            _note(leaf, [side[k] for side in sides], at)


def note_one_of(value: Any, several: Sequence[Any]) -> None:
    """Remember that a value is one of several, where functions see what `is` says of it."""
    if are_told():
        place = tracing.user_place()
        _note(value, several, ("", 0) if place is None else (place.filename, place.line))


HOOKS.note_choice = note_one_of


def _note(value: Any, made: Sequence[Any], at: At) -> None:
    if not (value is None or isinstance(value, bool | int | str)):  # of which there is one for all
        _given.values[id(value)] = value, at, frozenset[type]().union(*map(_classes_of, made))


def _classes_of(value: Any) -> frozenset[type]:
    given = _given.values.get(id(value))
    if given is not None:
        return given[2]
    return frozenset([numpys_class(value) if type(value) is Array else type(value)])


IDENTITIES: Mapping[str, Callable[[Any, Any], bool]] = {"Is": operator.is_, "IsNot": operator.is_not}


def identified(kind: str, left: Any, right: Any) -> Any:
    """`a is b` of what may be arrays: one that an If gave is another object than what it was given."""
    arrays = [v for v in (left, right) if type(v) is Array or id(v) in _given.values]
    if not arrays or left is right:
        return IDENTITIES[kind](left, right)
    if all(type(v) in {Array, bool} and _classes_of(v) == {bool} for v in (left, right)):
        return _compared_truths(left, right, is_same=kind == "Is")
    for value, other in ((left, right), (right, left)):
        if id(value) in _given.values and (type(other) is Array or type(other) in _classes_of(value)):
            raise NotJoined(_given.values[id(value)][1], "what it gives a name is compared with `is`")
    return IDENTITIES[kind](left, right)


def _compared_truths(left: Any, right: Any, *, is_same: bool) -> Any:
    """Whether two truth values of Python's, of which there is one True, are the same or not."""
    for value, other in ((left, right), (right, left)):
        if type(value) is bool:
            return other if value is is_same else Array(op.Not(other).value, weak=True)
    equal = op.Equal(left, right)
    return Array((equal if is_same else op.Not(equal)).value, weak=True)


def classes_given(value: Any) -> frozenset[type] | None:
    """The classes of which a value is that a joined statement gave; None for others."""
    return _given.values[id(value)][2] if id(value) in _given.values else None


def given_at(value: Any) -> At | None:
    """The place of the joined statement that gave a value; None for others."""
    return _given.values[id(value)][1] if id(value) in _given.values else None
