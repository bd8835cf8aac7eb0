"""Compares tuples of traced numbers as Python does, without a branch for each of their parts.

(a, 1) < (b, 0)         ->      Or(Less(a, b), And(Equal(a, b), 1 < 0))
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.chosen import is_number
from primsplit.tracing.array import Array


def are_ordered(values: Sequence[Any]) -> bool:
    """Whether values are numbers, or tuples of one class and structure that hold numbers."""
    if all(map(is_number, values)):
        return True
    are_alike = all(isinstance(v, tuple) and type(v) is type(values[0]) for v in values)
    if not are_alike or type(values[0]).__lt__ is not tuple.__lt__ or len({*map(len, values)}) > 1:
        return False
    return all(map(are_ordered, zip(*values, strict=True)))


def ordered(is_before: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return whether a number or tuple comes before another one: the first parts that differ decide.

    As in Python, a NaN equals no other number, and one object is equal to itself.
    """
    if not isinstance(left, tuple):
        return is_before(left, right)
    found: Any = False
    for a, b in reversed([*_leaves(left, right)]):
        if a is not b:
            found = _combined(np.logical_or, is_before(a, b), _combined(np.logical_and, a == b, found))
    return found


def _leaves(left: Any, right: Any) -> Sequence[tuple[Any, Any]]:
    if not isinstance(left, tuple):
        return [(left, right)]
    return [leaves for pair in zip(left, right, strict=True) for leaves in _leaves(*pair)]


def _combined(combine: np.ufunc, left: Any, right: Any) -> Any:
    """Return `left or right`, or `left and right`, of truth values; a known one, if it decides."""
    decides = combine is np.logical_or
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Array):
            return decides if bool(one) is decides else other
    return combine(left, right)
