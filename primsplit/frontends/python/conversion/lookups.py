"""Looks up lists and tuples by a traced index, and dictionaries by a traced key.

```
[2.0, 3.0][k]                   Gather([2.0, 3.0], k)
{"a": 2.0, "b": 3.0}[key]       Gather([2.0, 3.0], Gather(places, number of key))
```
"""

from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.growing import Grown, element
from primsplit.ops import op
from primsplit.tracing.array import Array


def item(held: Any, index: Any) -> Any:
    """Return `held[index]`; Python's own lookup unless all elements are numbers, or tuples of as many numbers.

    Raises NotJoined if the key is an `Either` with a possible thing that is missing in the dictionary, or is traced.
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
    """Whether an index is an integer that is known only at run time."""
    return type(index) is Array and index.known() is None and index.dtype.kind in "iu" and index.shape == ()
