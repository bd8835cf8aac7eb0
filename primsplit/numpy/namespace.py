"""The array namespace: NumPy, with the functions that make arrays taking sizes that are known only at run time."""

from typing import Any

import numpy as np

from primsplit.array import implements
from primsplit.numpy import creation
from primsplit.tracing import is_recording

MADE = {
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full_of,
    "arange": creation.arange,
    "linspace": creation.linspace,
    "eye": creation.eye,
    "identity": creation.identity,
    "tri": creation.tri,
    "asarray": creation.asarray,
    "array": creation.array,
}


class Namespace:
    """What `x.__array_namespace__()` is for a traced array.

    Functions of arrays are NumPy's own, which dispatch; those that make arrays are primsplit's while a function is
    traced.
    """

    def __getattr__(self, name: str) -> Any:
        if name in MADE and is_recording():
            return MADE[name]
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        return dir(np)

    def __repr__(self) -> str:
        return "<the array namespace of primsplit>"


NAMESPACE = Namespace()


@implements("namespace")
def namespace() -> Namespace:
    """The array namespace."""
    return NAMESPACE
