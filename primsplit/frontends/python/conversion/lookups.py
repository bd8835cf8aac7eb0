"""Looks up lists and tuples by a traced index, and dictionaries by a traced key."""

from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.growing import Grown, element
from primsplit.ops import op
from primsplit.tracing.array import Array


def item(held: Any, index: Any) -> Any:
    """`held[index]`; of what holds no numbers, or tuples of as many, Python's own.

    Raises NotJoined for a key that may be one of several, where one of these is not there or is not told.
    """
    index = settled(index)
    if type(index) is Either:
        return _by_key(held, index)
    if not is_unknown_place(index) or type(held) not in {list, tuple}:
        return held[index]
    listed = Grown(held)
    stack = listed.stack_of_numbers()
    return held[index] if stack is None else element(Grown(None, stack, listed.most), index)


def _by_key(held: Any, key: Either) -> Any:
    possible = key.possible()
    things = [key.things[k] for k in possible]
    if type(held) is not dict or not key.traced.isdisjoint(possible) or not all(thing in held for thing in things):
        raise key.refusal()
    listed = Grown([held[thing] for thing in things])
    stack = listed.stack_of_numbers()
    if stack is None:
        raise key.refusal()
    places = np.zeros(max(possible) + 1, np.int64)
    places[possible] = range(len(possible))
    return element(Grown(None, stack, listed.most), op.Gather(places, key.number))


def is_unknown_place(index: Any) -> bool:
    """True for a whole number that only the run knows."""
    return type(index) is Array and index.known() is None and index.dtype.kind in "iu" and index.shape == ()
