"""Substitutes for NumPy's number classes where they are called to convert: `np.float32(x)`.

Only calls have substitutes: elsewhere a class is a dtype, or is compared with `is`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.operands import operand
from primsplit.tracing.array import FUNCTIONS
from primsplit.tracing.asarray import holds_traced

CONVERTING: tuple[Any, ...] = (
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.bool_,
)  # fmt: skip


def _converted(kind: Any) -> Callable[..., Any]:
    """Return a converter of traced numbers and arrays to this class; one of that dtype is not copied."""

    def call(*args: Any) -> Any:
        if not holds_traced(args):
            return kind(*args)
        array = FUNCTIONS[np.asarray](*args, dtype=kind)
        return array if array.ndim else array[()]

    return _as_dtype(call, kind)


def _complex(kind: Any) -> Callable[..., Any]:
    """Return a converter of one or two real parts to a traced complex number or array."""

    def call(*parts: Any) -> Any:
        if not holds_traced(parts):
            return kind(*parts)
        real, imag = (operand(p) for p in (*parts, 0)[:2])
        return astype(real + 1j * imag, kind)

    return _as_dtype(call, kind)


def _as_dtype(call: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """Return the function with the `dtype` attribute by which NumPy accepts it as a dtype, like the class."""
    call.dtype = np.dtype(kind)  # type: ignore[attr-defined]  # NumPy asks any object for it
    return call


def _matrix(maker: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """Return a function that creates a np.matrix. It raises UnsupportedFunction for traced numbers."""

    def call(data: Any, *args: Any, **options: Any) -> Any:
        if not holds_traced(data):
            return maker(data, *args, **options)
        raise UnsupportedFunction(
            "np.matrix has no form for traced arrays: its * is a product of matrices",
            place=tracing.user_place(),
            cure=f"Write {instead}, and @ for its *, np.linalg.matrix_power for its **.",
        )

    return call


CALLED: dict[Any, Callable[..., Any]] = {
    **{kind: _converted(kind) for kind in CONVERTING},
    **{kind: _complex(kind) for kind in (np.complex64, np.complex128)},
    np.matrix: _matrix(np.matrix, "np.atleast_2d(x)"),
    np.asmatrix: _matrix(np.asmatrix, "np.atleast_2d(x)"),
    np.bmat: _matrix(np.bmat, "np.block(x)"),
}
"""The callables in place of NumPy's classes and of the functions that create matrices."""
