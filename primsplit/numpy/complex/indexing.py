"""Implements `z[key]` and `z[key] = v` for complex arrays: both act on the real and the imaginary part."""

from typing import Any

from primsplit import tracing
from primsplit.ir.errors import DtypeError
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import as_complex
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import ComplexArray

_get, _set = FUNCTIONS["getitem"], FUNCTIONS["setitem"]


@offers("getitem")
def getitem(z: ComplexArray, key: Any) -> ComplexArray:
    """`z[key]`, a view where NumPy makes one."""
    real, imaginary = _get(z.real, key), _get(z.imag, key)
    found = ComplexArray(real, imaginary)
    found.scalar = real.scalar
    return found


@offers("setitem")
def setitem(z: Array, key: Any, new: Any) -> None:
    """`z[key] = new`. Raises DtypeError where a complex number is written to a real array."""
    if not isinstance(z, ComplexArray):
        raise DtypeError(
            "a complex number is written to a real array",
            place=tracing.user_place(),
            cure="Make the array complex, with z = x.astype(complex) say, or write new.real.",
        )
    written = as_complex(new)
    _set(z.real, key, written.real)
    _set(z.imag, key, written.imag)


@offers("fill")
def fill(z: Array, value: Any) -> None:
    """`z.fill(value)`."""
    setitem(z, Ellipsis, value)
