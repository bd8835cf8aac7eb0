"""Selects one of several arrays, numbers or tuples of them by a traced index.

```
chosen([a, b], [k])     ->      [Gather(Stack(a, b), k)]
```
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.handles.concretization import note_classes
from primsplit.tracing.handles.truths import truths
from primsplit.tracing.handles.views import Choice
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.regions import same_everywhere

_MOST = 64
"""The most arrays among which one is selected: a write to it is a selection for every one of them."""


def may_be_chosen(values: Sequence[Any]) -> bool:
    """Whether values are numbers of one kind, arrays of one type and shape, one object, or tuples of these."""
    if all(value is values[0] for value in values):
        return True
    if all(type(value) is type(values[0]) for value in values) and isinstance(values[0], tuple):
        return len({*map(len, values)}) == 1 and all(map(may_be_chosen, zip(*values, strict=True)))
    return are_numbers(values) or _are_arrays(values)


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether values are numbers of one kind, which an array holds without conversion."""
    return all(map(is_number, values)) and len({getattr(v, "dtype", type(v)) for v in values}) == 1


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy, traced or not."""
    return isinstance(value, int | float | np.number) or (isinstance(value, Array) and value.shape == ())


def is_weak(value: Any) -> bool:
    """Whether a value is a Python number."""
    return value.weak if isinstance(value, Array) else not isinstance(value, np.generic | np.ndarray)


def _are_arrays(values: Sequence[Any]) -> bool:
    if len(values) > _MOST or not all(type(v) is Array and not v.is_number() for v in values):
        return False
    first = values[0]
    return all(v.dtype == first.dtype and same_everywhere(v.shape, first.shape) for v in values)


def chosen(values: Sequence[Any], places: Sequence[Array]) -> list[Any]:
    """Return the values at traced places.

    A later write to one is a write to the selected array, as in Python, and `is` tells which one that is.
    """
    first = values[0]
    if all(value is first for value in values):
        return [first] * len(places)
    selected = _tuples(values, places) if isinstance(first, tuple) else _arrays(values, places)
    truths.made += 1
    for each, place in zip(selected, places, strict=True):
        HOOKS.note_choice(each, values, functools.partial(_same, place))
    return selected


def _same(place: Array) -> Array:
    return place


def _tuples(values: Sequence[Any], places: Sequence[Array]) -> list[Any]:
    kind, columns = type(values[0]), [chosen(column, places) for column in zip(*values, strict=True)]
    return [kind(*parts) if hasattr(kind, "_fields") else kind(parts) for parts in zip(*columns, strict=True)]


def _arrays(values: Sequence[Any], places: Sequence[Array]) -> list[Any]:
    stacked, weak = FUNCTIONS[np.stack](values), all(map(is_weak, values))
    if is_number(values[0]):
        chosen_numbers = [Array(stacked[place].value, weak=weak, scalar=True) for place in places]
        for number in chosen_numbers:
            note_classes(number, values)
        return chosen_numbers
    arrays, numbers = _numbered(values)
    selected = []
    for place in places:
        choice = Choice(arrays, np.where, number=numbers[place], numbers=range(len(arrays)), owns=False)
        selected.append(Array(stacked[place].value).being(choice))
    return selected


def _numbered(values: Sequence[Array]) -> tuple[list[Array], Array]:
    """Return the distinct arrays, with a choice replaced by its candidates, and the number of each value among them."""
    arrays: dict[int, Array] = {}
    places: dict[int, int] = {}
    numbers: list[Any] = []
    for value in values:
        view = value.view_of
        choice = view if isinstance(view, Choice) and view.choose is not None else None
        for base in [value] if choice is None else choice.bases:
            arrays.setdefault(id(base), base)
            places.setdefault(id(base), len(places))
        if choice is None:
            numbers.append(places[id(value)])
        else:
            table = np.zeros(max(choice.numbers) + 1, np.int64)
            table[[*choice.numbers]] = [places[id(base)] for base in choice.bases]
            numbers.append(op.Gather(table, choice.number))
    return [*arrays.values()], as_array(FUNCTIONS[np.stack](numbers))
