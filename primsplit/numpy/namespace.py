"""The array namespace: NumPy, with the functions that make arrays taking sizes that are known only at run time."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import FUNCTIONS, Array, implements
from primsplit.dims import Size
from primsplit.numpy import creation, spaces
from primsplit.tracing import is_recording

MADE = {
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full_of,
    "arange": creation.arange,
    "linspace": creation.linspace,
    "logspace": spaces.logspace,
    "geomspace": spaces.geomspace,
    "eye": creation.eye,
    "identity": creation.identity,
    "tri": creation.tri,
    "asarray": creation.asarray,
    "array": creation.array,
}


TAKING = (np.take, np.full_like, np.repeat, np.pad, np.insert, np.roll, np.select)
"""Functions with an argument that may be traced, or a size, and that NumPy does not dispatch on."""


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, traced where any of its arguments is."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        traced = any(isinstance(a, Array | Size) for a in (*args, *options.values()))
        return FUNCTIONS[function](*args, **options) if traced else function(*args, **options)

    return call


class Namespace:
    """What `x.__array_namespace__()` is for a traced array.

    Functions of arrays are NumPy's own, which dispatch; those that make arrays, or do not dispatch on each of their
    arguments, are primsplit's while a function is traced.
    """

    def __getattr__(self, name: str) -> Any:
        if name in MADE and is_recording():
            return MADE[name]
        found = getattr(np, name)
        return dispatched(found) if is_recording() and any(found is f for f in TAKING) else found

    def __dir__(self) -> list[str]:
        return dir(np)

    def __repr__(self) -> str:
        return "<the array namespace of primsplit>"


NAMESPACE = Namespace()


@implements("namespace")
def namespace() -> Namespace:
    """The array namespace."""
    return NAMESPACE
