"""Converts traced numbers where Python's number classes are called: `float(x)`, `int(x)`, `complex(x)`.

Python lets no object define `float(x)` as anything but a float. So in a converted function these calls return traced
numbers for traced ones.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import Size
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import as_array, holds_traced
from primsplit.tracing.hooks import HOOKS


def _converting(kind: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callable in place of the class; it calls `traced` if an argument is traced."""

    @functools.wraps(kind, updated=())
    def call(*args: Any, **options: Any) -> Any:
        is_traced = any(map(holds_traced, (*args, *options.values())))
        return (traced if is_traced else kind)(*args, **options)

    return call


def _one_number(x: Any, kind: type[float] | type[int]) -> Any:
    """Return the argument of `float` or `int` as a traced Python number.

    Raises TypeError for several, as in NumPy, and for a complex one, as in Python.
    """
    if holds_complex(x):
        kind(x)
        raise TypeError(f"{kind.__name__}() argument must be a string or a real number, not 'complex'")
    array = as_array(x)
    if array.shape and math.prod(d for d in array.shape if isinstance(d, int)) != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return FUNCTIONS["item"](array)


def _float(x: Any) -> Array:
    return Array(cast_to(_one_number(x, float), np.float64).value, weak=True)


def _int(x: Any) -> Any:
    """Return the integer part, which has no derivative; if example arrays determine it, a Python number."""
    if isinstance(x, Size):
        return x
    number = _one_number(x, int)
    known = HOOKS.whole_number(number, is_cut=True)
    if known is not None:
        return int(known)
    return number.integer(ELEMENTWISE["trunc"])


def _users_int(x: Any) -> Any:
    """Return `int(x)` in the user's own code: with example arrays they determine it, or it is refused."""
    return int(x) if isinstance(x, Array) and tracing.current().examples is not None else _int(x)


def _complex(real: Any, imag: Any = 0.0) -> Any:
    return astype(operand(real) + 1j * operand(imag), np.complex128)


NUMBERS: dict[type, Callable[..., Any]] = {
    float: _converting(float, _float), int: _converting(int, _int), complex: _converting(complex, _complex),
}  # fmt: skip
"""The callables in place of Python's number classes in an installed package."""

USERS: dict[type, Callable[..., Any]] = {**NUMBERS, int: _converting(int, _users_int)}
"""The callables in place of them in the user's own code, where `int` computes sizes too."""
