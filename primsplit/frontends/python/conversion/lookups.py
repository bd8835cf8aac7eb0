"""Looks up lists and tuples by a traced index, and dictionaries by a traced key.

```
[2.0, 3.0][k]                   Gather([2.0, 3.0], k)
{"a": 2.0, "b": 3.0}[key]       Gather([2.0, 3.0], Gather(places, number of key))
```
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.growing import Grown, element
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.ir.errors import TraceError
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
    if not is_unknown_place(index) or type(held) not in {list, tuple, ChosenList} or not all(map(_is_read, held)):
        return OPERATORS[False].indexed(held)[index]
    listed = Grown(held)
    stack = listed.stack_of_numbers()
    return held[index] if stack is None else _chosen(element(Grown(None, stack, listed.most), index))


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
