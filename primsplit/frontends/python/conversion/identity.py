"""Answers questions of class and identity for values from joined statements, of which Python sees one per side."""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from primsplit.ir.scoped import Scoped
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.handles.concretization import numpys_class
from primsplit.tracing.hooks import HOOKS

At = tuple[str, int]


_given = Scoped[dict[int, tuple[Any, At, frozenset[type]]]](dict)
"""The values that joined statements gave, by `id`: the place, and the classes that the values of their sides have."""
_choices = Scoped[dict[int, tuple[Any, Sequence[Any], Callable[[], Array]]]](dict)
"""The chosen values, by `id`: the objects of which each is one, and the place of that one."""


def choices_forgotten() -> AbstractContextManager[object]:
    """Forget afterwards which values were chosen inside."""
    return _choices.set_to({**_choices.value})


def nothing_given() -> AbstractContextManager[object]:
    """Forget inside which values statements gave before."""
    return _given.set_to({})


def note_joined(value: Any, made: Sequence[Any], at: At) -> None:
    """Remember that the statement at a place gave a value, one of those that the runs of its sides made."""
    _note(value, made, at)
    leaves = trees.leaves_or_none(value)
    sides = [trees.leaves_or_none(each) for each in made]
    if all(len(side) == len(leaves) for side in sides):
        for k, leaf in enumerate(leaves):
            _note(leaf, [side[k] for side in sides], at)


def note_one_of(value: Any, several: Sequence[Any], place: Callable[[], Array]) -> None:
    """Remember that a value is the one of several objects at a place that only the run knows."""
    _choices.value[id(value)] = value, several, place


HOOKS.note_choice = note_one_of


def _note(value: Any, made: Sequence[Any], at: At) -> None:
    if not (value is None or isinstance(value, bool | int | str)):  # of which there is one for all
        _given.value[id(value)] = value, at, frozenset[type]().union(*map(_classes_of, made))


def _classes_of(value: Any) -> frozenset[type]:
    given = _given.value.get(id(value))
    if given is not None:
        return given[2]
    return frozenset([numpys_class(value) if type(value) is Array else type(value)])


IDENTITIES: Mapping[str, Callable[[Any, Any], bool]] = {"Is": operator.is_, "IsNot": operator.is_not}


def identified(kind: str, left: Any, right: Any) -> Any:
    """`a is b` of what may be arrays: one that an If gave is another object than what it was given."""
    if left is right:
        return kind == "Is"
    if not _choices.value.keys().isdisjoint((id(left), id(right))):
        same = _is_chosen(left, right)
        return same if kind == "Is" else Array(op.Not(same).value, weak=True)
    arrays = [v for v in (left, right) if type(v) is Array or id(v) in _given.value]
    if not arrays:
        return IDENTITIES[kind](left, right)
    if all(type(v) in {Array, bool} and _classes_of(v) == {bool} for v in (left, right)):
        return _compared_truths(left, right, is_same=kind == "Is")
    for value, other in ((left, right), (right, left)):
        if id(value) in _given.value and (type(other) is Array or type(other) in _classes_of(value)):
            raise NotJoined(_given.value[id(value)][1], "what it gives a name is compared with `is`")
    return IDENTITIES[kind](left, right)


def _is_chosen(left: Any, right: Any) -> Array:
    """Whether two objects are one, at least one of which was chosen among several."""
    numbers: dict[int, int] = {}
    one, other = _number(left, numbers), _number(right, numbers)
    return Array(op.Equal(one, other).value, weak=True)


def _number(value: Any, numbers: dict[int, int]) -> int | Array:
    """Return the number of an object among all of `numbers`, which get the new ones."""
    if id(value) not in _choices.value:
        return numbers.setdefault(id(value), len(numbers))
    _, several, place = _choices.value[id(value)]
    each = [_number(v, numbers) for v in several]
    if any(isinstance(number, Array) for number in each):
        return as_array(FUNCTIONS[np.stack]([np.asarray(n) if isinstance(n, int) else n for n in each]))[place()]
    return op.Gather(np.array(each), place())


def _compared_truths(left: Any, right: Any, *, is_same: bool) -> Any:
    """Whether two truth values of Python's, of which there is one True, are the same or not."""
    for value, other in ((left, right), (right, left)):
        if type(value) is bool:
            return other if value is is_same else Array(op.Not(other).value, weak=True)
    equal = op.Equal(left, right)
    return Array((equal if is_same else op.Not(equal)).value, weak=True)


def classes_given(value: Any) -> frozenset[type] | None:
    """The classes of which a value is that a joined statement gave; None for others."""
    return _given.value[id(value)][2] if id(value) in _given.value else None


def given_at(value: Any) -> At | None:
    """The place of the joined statement that gave a value; None for others."""
    return _given.value[id(value)][1] if id(value) in _given.value else None
