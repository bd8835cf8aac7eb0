"""Substitutes for np.vectorize: its function is recorded once, for one element, and mapped over all of them."""

from typing import Any

import numpy as np

from primsplit import trees
from primsplit.array import FUNCTIONS, Array, unsupported
from primsplit.control.scanning import mapped
from primsplit.lifting import array_like, holds_traced
from primsplit.numpy.again import is_again

_original = np.vectorize.__call__


def call(made: "np.vectorize", *args: Any, **options: Any) -> Any:
    """What calls a vectorized function: NumPy's own loop, but over traced arrays a map over their elements."""
    given: dict[Any, Any] = {**dict(enumerate(args)), **options}
    if not (is_again() and any(map(holds_traced, given.values()))):
        return _original(made, *args, **options)
    if made.signature is not None:
        raise unsupported("np.vectorize with a signature")
    return _cast(_over_elements(made, given, len(args)), made.otypes)


def _over_elements(made: "np.vectorize", given: dict[Any, Any], positions: int) -> Any:
    walked = [k for k in given if k not in made.excluded]
    arrays = FUNCTIONS[np.broadcast_arrays](*(array_like(given[k]) for k in walked))
    shape = arrays[0].shape

    def one(elements: tuple[Array, ...]) -> Any:
        told = given | {k: Array(e.value, scalar=True) for k, e in zip(walked, elements, strict=True)}
        named = {k: v for k, v in told.items() if isinstance(k, str)}
        return made.pyfunc(*(told[i] for i in range(positions)), **named)

    if not shape:
        return one(tuple(arrays))
    found, structure = trees.flatten(mapped(one, tuple(a.reshape(-1) for a in arrays)))
    return trees.unflatten(structure, [a.reshape(shape) for a in found])


def _cast(found: Any, otypes: str | None) -> Any:
    if otypes is None:
        return found
    if isinstance(found, tuple):
        return tuple(array_like(a).astype(code) for a, code in zip(found, otypes, strict=True))
    return array_like(found).astype(otypes[0])
