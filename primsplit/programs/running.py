"""Build the function that runs a program on the leaves of calls that are alike, with nothing left to find out."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.programs.binding import ARRAY
from primsplit.tracing import trees

Leaves = Sequence[Any]


def running(
    run: Callable[[Leaves], Leaves], arrays: Callable[[Leaves], Leaves] | None, result: trees.TreeSpec
) -> Callable[[Leaves], Any]:
    """Return a function from the leaves of a call to its result.

    `arrays` returns the arrays among the leaves; None if all are arrays.
    """
    unflatten = trees.unflatten
    if result.is_leaf():
        first = itemgetter(0)
        return (lambda leaves: first(run(leaves))) if arrays is None else (lambda leaves: first(run(arrays(leaves))))
    if arrays is None:
        return lambda leaves: unflatten(result, run(leaves))
    return lambda leaves: unflatten(result, run(arrays(leaves)))


def arrays_of_leaves(leaves: Leaves, static: Leaves, types: Sequence[Type]) -> Callable[[Leaves], Leaves] | None:
    """Return a function from the leaves of calls like this one to arrays for inputs of these types.

    None if the leaves are arrays already.
    """
    if all(type(leaf) is np.ndarray for leaf in leaves):
        return None
    places = [i for i, fixed in enumerate(static) if fixed is ARRAY]
    given = [(i, None if type(leaves[i]) is np.ndarray else t.dtype) for i, t in zip(places, types, strict=True)]

    def arrays(leaves: Leaves) -> Leaves:
        return [leaves[i] if dtype is None else np.asarray(leaves[i], dtype) for i, dtype in given]

    return arrays
