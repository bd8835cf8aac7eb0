"""The array namespace: NumPy, with the functions that make arrays taking sizes that are known only at run time."""

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from primsplit.ir.dims import Size
from primsplit.numpy import frequencies
from primsplit.numpy.windows import WINDOWS
from primsplit.tracing import is_recording
from primsplit.tracing.array import FUNCTIONS, Array, implements

MADE = frozenset({
    "zeros", "ones", "empty", "full", "arange", "linspace", "logspace", "geomspace", "eye", "identity", "tri",
    "asarray", "array",
})  # fmt: skip
"""Functions that make arrays."""

SIZED: dict[Any, Callable[..., Any]] = {
    **WINDOWS, np.fft.fftfreq: frequencies.fftfreq, np.fft.rfftfreq: frequencies.rfftfreq,
}  # fmt: skip
"""Functions of a size alone, and what they are for one that only the run knows."""

TAKING = (np.take, np.full_like, np.repeat, np.pad, np.insert, np.roll, np.select, *SIZED)
"""Functions with an argument that may be traced, or a size, and that NumPy does not dispatch on."""


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, traced where any of its arguments is."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        traced = any(isinstance(a, Array | Size) for a in (*args, *options.values()))
        if not traced:
            return function(*args, **options)
        return (SIZED[function] if function in SIZED else FUNCTIONS[function])(*args, **options)

    return call


class Namespace:
    """The names of `primsplit.numpy`, and of its `fft`.

    >>> ps.trace(lambda x: x + ps.numpy.arange(x.shape[0]), ps.spec("float64", ["N"]))(np.zeros(3)).tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, module: Any = np) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if not is_recording():
            return found
        if name in MADE and self.module is np:
            return FUNCTIONS[found]
        if found is np.fft:
            return Namespace(found)
        return dispatched(found) if any(found is f for f in TAKING) else found

    def __dir__(self) -> list[str]:
        return dir(self.module)

    def __repr__(self) -> str:
        return "<the array namespace of primsplit>"


NAMESPACE = Namespace()


@implements("namespace")
def namespace() -> ModuleType:
    """The array namespace that `x.__array_namespace__()` gives."""
    return sys.modules["primsplit.numpy"]
