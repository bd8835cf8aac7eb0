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
from primsplit.tracing.handles.concretization import note_classes, numpys_class, several_classes
from primsplit.tracing.hooks import HOOKS

At = tuple[str, int]


_given = Scoped[dict[int, tuple[Any, At, frozenset[type]]]](dict)
"""The values that joined statements returned, by `id`, with the statement's place and the classes on both sides."""
_choices = Scoped[dict[int, tuple[Any, Sequence[Any], Callable[[], Array]]]](dict)
"""The selected values, by `id`: the objects of which each is one, and a function that returns the traced index."""


def choices_forgotten() -> AbstractContextManager[object]:
    """Return a context manager that drops, at its end, the selections that were noted inside."""
    return _choices.set_to({**_choices.value})


def nothing_given() -> AbstractContextManager[object]:
    """Return a context manager that hides the values that statements returned before."""
    return _given.set_to({})


def note_joined(value: Any, made: Sequence[Any], at: At) -> None:
    """Note that the statement at `at` returned a value, which is one of the values `made` by the runs of its sides."""
    _note(value, made, at)
    leaves = trees.leaves_or_none(value)
    sides = [trees.leaves_or_none(each) for each in made]
    if all(len(side) == len(leaves) for side in sides):
        for k, leaf in enumerate(leaves):
            _note(leaf, [side[k] for side in sides], at)


def note_one_of(value: Any, several: Sequence[Any], place: Callable[[], Array]) -> None:
    """Note that a value is the one of several objects at a traced index."""
    _choices.value[id(value)] = value, several, place


HOOKS.note_choice = note_one_of


def _note(value: Any, made: Sequence[Any], at: At) -> None:
    if not (value is None or isinstance(value, bool | int | str)):  # Python shares these objects
        kinds = frozenset[type]().union(*map(classes_of, made))
        _given.value[id(value)] = value, at, kinds
        if type(value) is Array and value.is_number() and not all(issubclass(kind, float) for kind in kinds):
            note_classes(value, made, at)


def classes_of(value: Any) -> frozenset[type]:
    """Return the classes that a value may have in Python."""
    given = classes_given(value)
    if given is not None:
        return given
    return frozenset([numpys_class(value) if type(value) is Array else type(value)])


IDENTITIES: Mapping[str, Callable[[Any, Any], bool]] = {"Is": operator.is_, "IsNot": operator.is_not}


def identified(kind: str, left: Any, right: Any) -> Any:
    """Return `a is b`, or `a is not b`, of values that may be traced.

    Raises NotJoined where a joined statement returned one of them: the If's output is another object than its inputs.
    """
    if left is right:
        return kind == "Is"
    if not _choices.value.keys().isdisjoint((id(left), id(right))):
        same = _is_chosen(left, right)
        return same if kind == "Is" else Array(op.Not(same).value, weak=True)
    arrays = [v for v in (left, right) if type(v) is Array or id(v) in _given.value]
    if not arrays:
        return IDENTITIES[kind](left, right)
    if all(type(v) in {Array, bool} and classes_of(v) == {bool} for v in (left, right)):
        return _compared_truths(left, right, is_same=kind == "Is")
    for value, other in ((left, right), (right, left)):
        if id(value) in _given.value and (type(other) is Array or type(other) in classes_of(value)):
            raise NotJoined(_given.value[id(value)][1], "what it gives a name is compared with `is`")
    return IDENTITIES[kind](left, right)


def _is_chosen(left: Any, right: Any) -> Array:
    """Return whether two objects are the same, at least one of which was selected among several."""
    numbers: dict[int, int] = {}
    one, other = _number(left, numbers), _number(right, numbers)
    return Array(op.Equal(one, other).value, weak=True)


def _number(value: Any, numbers: dict[int, int]) -> int | Array:
    """Return the number of an object in `numbers`, where new objects are added; a traced number for a selected one."""
    if id(value) not in _choices.value:
        return numbers.setdefault(id(value), len(numbers))
    _, several, place = _choices.value[id(value)]
    each = [_number(v, numbers) for v in several]
    if any(isinstance(number, Array) for number in each):
        return as_array(FUNCTIONS[np.stack]([np.asarray(n) if isinstance(n, int) else n for n in each]))[place()]
    return op.Gather(np.array(each), place())


def _compared_truths(left: Any, right: Any, *, is_same: bool) -> Any:
    """Return whether two Python booleans are the same object, of which there is one True and one False."""
    for value, other in ((left, right), (right, left)):
        if type(value) is bool:
            return other if value is is_same else Array(op.Not(other).value, weak=True)
    equal = op.Equal(left, right)
    return Array((equal if is_same else op.Not(equal)).value, weak=True)


def classes_given(value: Any) -> frozenset[type] | None:
    """Return the classes of what a joined statement returned, or of a number made of that; None for other values."""
    if id(value) in _given.value:
        return _given.value[id(value)][2]
    several = several_classes(value) if type(value) is Array else None
    return None if several is None else several.kinds


def given_at(value: Any) -> At | None:
    """Return the place of the joined statement that returned a value, or what it is made of; None for other values."""
    if id(value) in _given.value:
        return _given.value[id(value)][1]
    several = several_classes(value) if type(value) is Array else None
    return None if several is None else several.at
