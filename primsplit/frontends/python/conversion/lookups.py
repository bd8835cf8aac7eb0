"""Looks up lists and tuples by a traced index, and dictionaries by a traced key.

```
[2.0, 3.0][k]                   Gather([2.0, 3.0], k)
{"a": 2.0, "b": 3.0}[key]       Gather([2.0, 3.0], Gather(places, number of key))
{0: 2.0, 7: 3.0}[k]             Gather([2.0, 3.0], ArgMax(Equal([0, 7], k)))
```
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.growing import Grown, checked_place, element, element_of_stack
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.ir.errors import NumberAsked, TraceError
from primsplit.ops import op
from primsplit.tracing.array import Array


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise TraceError(
        "a list or a dictionary that only the run chooses is written to",
        place=tracing.user_place(),
        cure="Choose its elements with np.where, or write to an array.",
    )


class ChosenList(list[Any]):
    """One of several lists, which only the run chooses: it can be read, and writing to it would change none of them."""

    __class__ = property(lambda _: list)
    append: Callable[..., Any] = _refused
    extend = insert = pop = remove = reverse = sort = clear = append
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append


class ChosenDict(dict[Any, Any]):
    """One of several dictionaries, which only the run chooses: it can be read."""

    __class__ = property(lambda _: dict)
    update: Callable[..., Any] = _refused
    pop = popitem = setdefault = clear = __setitem__ = __delitem__ = __ior__ = update


def item(held: Any, index: Any) -> Any:
    """Return `held[index]`; Python's own lookup unless all elements are numbers, or tuples, lists and dicts of them.

    Raises NotJoined if the key is an `Either` with a possible thing that is missing in the dictionary, or is traced.
    """
    index = settled(index)
    if type(index) is Either:
        return _by_key(held, index)
    if type(held) in {dict, ChosenDict} and (found := keys_of_the_run(held, index)) is not None:
        things = [held[key] for key in found.keys]
        if all(map(_is_read, things)) and (stack := Grown(things).stack_of_numbers()) is not None:
            return _chosen(element_of_stack(stack, found.place))
    if not is_unknown_place(index) or type(held) not in {list, tuple, ChosenList}:
        return OPERATORS[False].indexed(held)[index]
    listed = Grown(held)
    if not all(map(_is_read, held)) or (stack := listed.stack_of_numbers()) is None:
        return _of_others(held, index)
    return _chosen(element(Grown(None, stack, listed.most), index))


def _of_others(held: Sequence[Any], index: Array) -> Any:
    """Return the element that Python reads, as for known examples. Raises NumberAsked that says why it is not read."""
    try:
        return OPERATORS[False].indexed(held)[index]
    except NumberAsked as error:
        kinds = [f"a {type(thing).__name__}" for thing in held if not _is_read(thing)]
        its = kinds[0] if kinds else "elements of several lengths, or none"
        error.what = f"an element of a list with {its} is read at an index known only at run time"
        error.cures = ("Keep the numbers in lists or arrays of their own: write xs[k] for points[k].x.",)
        raise


def _by_key(held: Any, key: Either) -> Any:
    possible = key.possible()
    things = [key.things[k] for k in possible]
    is_told = type(held) in {dict, ChosenDict} and key.traced.isdisjoint(possible)
    if not is_told or not all(thing in held and _is_read(held[thing]) for thing in things):
        raise key.refusal()
    listed = Grown([held[thing] for thing in things])
    stack = listed.stack_of_numbers()
    if stack is None:
        raise key.refusal()
    places = np.zeros(max(possible) + 1, np.int64)
    places[possible] = range(len(possible))
    return _chosen(element(Grown(None, stack, listed.most), op.Gather(places, key.number)))


class Keys(NamedTuple):
    """Keys of a dictionary that a traced key may equal, and the place among them of the one that it equals.

    For a key that is missing, the place is their count: a run that reads there fails.
    """

    keys: list[Any]
    place: Any


def keys_of_the_run(held: Mapping[Any, Any], key: Any) -> Keys | None:
    """Return the keys of a dictionary that `key` may equal.

    None if it is no traced integer or truth value, or tuple with one, or if the dictionary has other keys than integers
    and strings.
    """
    parts, is_tuple = (key, True) if type(key) is tuple else ((key,), False)
    unknown = [k for k, part in enumerate(parts) if _is_unknown_key(part)]
    rows = {thing: thing if is_tuple else (thing,) for thing in held if isinstance(thing, tuple) is is_tuple}
    if not unknown or not all(isinstance(part, _KEYS) for row in rows.values() for part in row):
        return None
    keys = [thing for thing, row in rows.items() if len(row) == len(parts) and all(map(_may_equal, row, parts))]
    if not keys:
        return None
    columns = [np.array([rows[thing][k] for thing in keys], np.int64) for k in unknown]
    equal = [np.equal(column, parts[k].astype(np.int64)) for k, column in zip(unknown, columns, strict=True)]
    is_found = functools.reduce(np.logical_and, equal).astype(np.int64)
    place = np.argmax(np.concatenate([is_found, np.ones(1, np.int64)]))
    return Keys(keys, checked_place(place, len(keys), lambda: place == len(keys), KeyError("a key is missing")))


_KEYS = int | np.integer | np.bool_ | str | None
"""Keys that are known to equal a traced integer, or not to."""


def _is_unknown_key(part: Any) -> bool:
    return type(part) is Array and part.known() is None and part.dtype.kind in "ib" and part.shape == ()


def _may_equal(known: Any, part: Any) -> bool:
    if not _is_unknown_key(part):
        return bool(known == part)
    return isinstance(known, int | np.integer | np.bool_) and -(2**63) <= int(known) < 2**63


def _is_read(value: Any) -> bool:
    """Whether a copy of an element can stand for it where it is read: not that of an object with attributes."""
    if isinstance(value, tuple):
        return all(map(_is_read, value))
    if type(value) in {list, ChosenList}:
        return all(map(_is_read, value))
    if type(value) in {dict, ChosenDict}:
        return all(map(_is_read, value.values()))
    return type(value) is Array or isinstance(value, int | float | complex | np.generic)


def _chosen(value: Any) -> Any:
    """Return an element with lists and dictionaries that cannot be written to."""
    if type(value) is list:
        return ChosenList(map(_chosen, value))
    if type(value) is dict:
        return ChosenDict((key, _chosen(held)) for key, held in value.items())
    if type(value) is tuple:
        return tuple(map(_chosen, value))
    return type(value)(*map(_chosen, value)) if isinstance(value, tuple) else value


def is_unknown_place(index: Any) -> bool:
    """Whether an index is an integer that is known only at run time."""
    return type(index) is Array and index.known() is None and index.dtype.kind in "iu" and index.shape == ()
