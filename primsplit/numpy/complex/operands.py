"""Accepts operands of complex functions (handles, Python's and NumPy's complex numbers) and promotes their dtypes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import BFLOAT16
from primsplit.ir.errors import DtypeError
from primsplit.numpy.axes import array_like
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import as_array, holds_traced, plain
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.trees import PART_OF


class Pair(NamedTuple):
    """Real and imaginary part of one dtype, None for a part that is 0 everywhere."""

    real: Array | None
    imag: Array | None

    @property
    def some(self) -> Array:
        """A part that is there."""
        part = self.imag if self.real is None else self.real
        if part is None:
            raise DtypeError("a complex number has no parts", place=tracing.user_place())
        return part

    def whole(self) -> tuple[Array, Array]:
        """Return both parts, with zeros for a missing one."""
        zero = zeros_like(self.some) if self.real is None or self.imag is None else self.some
        return zero if self.real is None else self.real, zero if self.imag is None else self.imag


def holds_complex(value: Any) -> bool:
    """Return whether the value is a complex number or array, traced or not, or a list that contains one."""
    if type(value) is Array:
        return False
    if isinstance(value, list | tuple):
        return any(map(holds_complex, value))
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "c")
    return isinstance(value, ComplexArray | complex | np.complexfloating)


def is_complex_dtype(dtype: Any) -> bool:
    """Return whether NumPy would read this as a complex dtype."""
    if dtype is None or isinstance(dtype, Array):
        return False
    try:
        return bool(np.dtype(dtype).kind == "c")
    except TypeError:
        return False


def operand(value: Any) -> Array:
    """The handle of anything that stands for a real or complex array."""
    if isinstance(value, Array):
        return value
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return _constant(np.asarray(value), weak=True)
    if isinstance(value, list | tuple) and holds_traced(value):
        joined: Array = FUNCTIONS[np.stack]([operand(v) for v in value])
        return joined
    if holds_complex(value):
        return _constant(plain(np.asarray(value)))
    return array_like(value)


def _constant(value: npt.NDArray[Any], *, weak: bool = False) -> ComplexArray:
    native = value.astype(value.dtype.newbyteorder("="), copy=False)
    if native.dtype not in PART_OF:
        raise DtypeError(f"arrays of dtype {native.dtype} cannot be part of a program", place=tracing.user_place())
    real, imaginary = np.ascontiguousarray(native.real), np.ascontiguousarray(native.imag)
    real, imaginary = real.reshape(value.shape), imaginary.reshape(value.shape)
    return ComplexArray(
        _held(real) if real.any() or not imaginary.any() else None,
        _held(imaginary) if imaginary.any() else None,
        weak=weak,
    )


def _held(part: npt.NDArray[Any]) -> Array:
    """Return a constant part as an Array.

    A number is recorded as a literal, which is not reported as a frozen array.
    """
    return as_array(part) if part.ndim else literal(part, part.dtype)


def literal(number: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    """A number of the program's own."""
    return Array(tracing.constant(np.asarray(number, dtype)))


def as_complex(value: Any) -> ComplexArray:
    """Return the value as a complex handle whose parts are not shared with another array."""
    found = operand(value)
    if isinstance(found, ComplexArray):
        return found
    return ComplexArray(Array(cast_to(found, part_dtype(np.result_type(found.dtype, np.complex64))).value), None)


def part_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype of the parts of a complex dtype. Raises DtypeError for one that no program holds the parts of."""
    found = np.dtype(dtype)
    if found not in PART_OF:
        raise DtypeError(f"arrays of dtype {found} cannot be part of a program", place=tracing.user_place())
    return PART_OF[found]


def loop_part(ufunc: np.ufunc, operands: Sequence[Array], dtype: npt.DTypeLike | None = None) -> np.dtype[Any]:
    """The dtype of the parts in the complex loop that NumPy would choose. Raises DtypeError where it has none."""
    if any(a.dtype == BFLOAT16 for a in operands):
        raise DtypeError("bfloat16 has no complex form", place=tracing.user_place(), cure="Write x.astype(np.float32).")
    asked: list[Any] = [_promotable(a) for a in operands]
    chosen: Any = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout}
    try:
        found = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout), **chosen)
    except TypeError:
        told = " and ".join(str(a.dtype) for a in operands)
        raise DtypeError(f"np.{ufunc.__name__} does not take {told}", place=tracing.user_place()) from None
    complex_ones = [d for d in found if d.kind == "c"] or [np.result_type(np.complex64, *(a.dtype for a in operands))]
    return part_dtype(complex_ones[0])


def _promotable(array: Array) -> Any:
    """The array's dtype, or the Python type of a weak number."""
    if not array.weak or array.dtype == np.bool_:
        return array.dtype
    return {"i": int, "u": int, "c": complex}.get(array.dtype.kind, float)


def pair_of(array: Array, part: np.dtype[Any]) -> Pair:
    """The parts in this dtype."""
    if not isinstance(array, ComplexArray):
        return Pair(cast_to(array, part), None)
    real, imaginary = (None if p is None else cast_to(p, part) for p in array.parts)
    return Pair(real, imaginary)


def made(result: Pair) -> ComplexArray:
    """The handle of new parts."""
    real, imaginary = (None if p is None else Array(p.value) for p in result)
    return ComplexArray(real, imaginary)
