"""Creates complex arrays: zeros, ones and the like with a complex dtype, and arrays from nested lists of numbers."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.operands import as_complex, operand, part_dtype
from primsplit.numpy.creation import laid_out
from primsplit.tracing.array import FUNCTIONS, Array, made_of_number
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.complex_array import ComplexArray

_full = FUNCTIONS[np.full]


def constant(value: np.ndarray[Any, Any]) -> ComplexArray:
    """A NumPy array as a handle that can be written to, its parts constants of the program."""
    part = part_dtype(value.dtype)
    parts = [Array(tracing.constant(np.array(p, part))) for p in (value.real, value.imag)]
    for each in parts:
        each.contiguous = value.flags.c_contiguous
    return ComplexArray(*parts)


@offers(np.full, dtype_at=2)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> ComplexArray:
    """A number everywhere."""
    value = as_complex(fill_value)
    part = part_dtype(value.dtype if dtype is None else dtype)
    real, imaginary = (_full(shape, p, part) for p in (value.real, value.imag))
    return ComplexArray(real, imaginary)


@offers(np.zeros, np.empty, dtype_at=1)
def zeros(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> ComplexArray:
    """Zeros; an empty array holds zeros too."""
    return full(shape, 0.0, dtype)


@offers(np.ones, dtype_at=1)
def ones(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> ComplexArray:
    """Ones."""
    return full(shape, 1.0, dtype)


@offers(np.asarray, np.asanyarray, dtype_at=1)
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **options: Any) -> Array:
    """An array of anything that holds numbers, traced and complex ones included."""
    found = _from_nested(a)
    if found.is_number():
        found = made_of_number(found, scalar=False)
    if dtype is not None and found.dtype != np.dtype(dtype):
        return astype(found, dtype)
    return _copied(found) if copy else _laid_out(found, order)


@offers(np.ascontiguousarray, dtype_at=1)
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """The array, of one axis at least, with its rows one after the other: itself where they lie so, else a copy."""
    found = asarray(a, dtype, "C")
    return found if found.shape else np.atleast_1d(found)


@offers(np.asfortranarray, dtype_at=1)
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """The array, of one axis at least, with its columns one after the other: itself where they lie so, else a copy."""
    found = asarray(a, dtype, "F")
    return found if found.shape else np.atleast_1d(found)


def _laid_out(x: Array, order: Any) -> Array:
    if not isinstance(x, ComplexArray):
        return laid_out(x, order)
    return ComplexArray(laid_out(x.real, order), laid_out(x.imag, order))


@offers(np.array, dtype_at=1)
def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", ndmin: int = 0, **_: Any) -> Array:
    """A copy of anything that holds numbers, traced and complex ones included; without `copy` the array itself."""
    given = asarray(object, dtype)
    found = _copied(given) if copy else _laid_out(given, order)
    return found[(None,) * (ndmin - found.ndim)] if found.ndim < ndmin else found


def _copied(x: Array) -> Array:
    found: Array = FUNCTIONS[np.copy](x)
    return found


def _from_nested(value: Any) -> Array:
    if isinstance(value, list | tuple) and holds_traced(value):
        stacked: Array = FUNCTIONS[np.stack]([_from_nested(v) for v in value])
        return stacked
    found = operand(value)
    return as_complex(found) if isinstance(found, ComplexArray) else Array(found.value)
