"""Functions that apply the same operation to both parts: of shape and order, and sums."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import as_complex, holds_complex, part_dtype
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import ComplexArray, refused

SHAPES: tuple[Any, ...] = (
    "reshape", "transpose", "flatten", "flat", "copy", np.reshape, np.ravel, np.transpose, np.matrix_transpose,
    np.linalg.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze, np.expand_dims, np.broadcast_to,
    np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.repeat, np.tile, np.resize, np.copy, np.take,
    np.take_along_axis, np.delete, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.unstack,
    np.lib.stride_tricks.sliding_window_view, np.fft.fftshift, np.fft.ifftshift,
)  # fmt: skip
DIAGONALS: tuple[Any, ...] = (
    np.diagonal, np.linalg.diagonal, np.diag, np.diagflat, np.trace, np.linalg.trace, np.tril, np.triu,
)  # fmt: skip
SUMS: tuple[Any, ...] = (np.sum, np.mean, np.average, np.cumsum, np.trapezoid, np.gradient)
PARTWISE: tuple[Any, ...] = ("item", np.round, np.around, np.nan_to_num, np.pad, np.zeros_like, np.empty_like)

OWN = ("out", "initial", "prepend", "append", "constant_values", "end_values", "to_end", "to_begin", "returned")
"""Options that write, or that add something of their own, which is not the same for both parts."""
ORDERED = ("maximum", "minimum", "median")
"""Ways to pad that compare elements."""


def _name(key: Any) -> str:
    return f"the method {key}" if isinstance(key, str) else f"np.{key.__name__}"


def _by_parts(key: Any) -> None:
    """Register the function of each part."""
    real = FUNCTIONS[key]

    @offers(key, dtype_at=1 if key in {np.zeros_like, np.empty_like} else None)
    def parts(z: Any, *args: Any, **options: Any) -> Any:
        told = inspect.signature(real).bind(z, *args, **options).arguments
        _check(_name(key), args, {**told, **options})
        if told.get("dtype") is not None:
            told = {**told, "dtype": part_dtype(told["dtype"])}
            args, options = (), {name: value for name, value in told.items() if value is not z}
        found = as_complex(z)
        return zipped(*(real(part, *args, **options) for part in (found.real, found.imag)))


@offers("view")
def view(z: Any, dtype: Any = None, type: Any = None) -> ComplexArray:
    """The same elements, written together. To read them as another dtype is refused."""
    if dtype is not None and dtype is not np.ndarray and np.dtype(dtype) != z.dtype:
        raise refused("view, which reads bytes as another dtype,", "Stack z.real and z.imag.")
    return ComplexArray(FUNCTIONS["view"](z.real), FUNCTIONS["view"](z.imag))


def _check(name: str, args: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise UnsupportedFunction for what does not do the same to both parts."""
    if holds_complex(args):
        raise refused(f"{name} with more than one complex argument")
    for option in OWN:
        if not any(options.get(option) is v for v in (None, False, np._NoValue)):
            raise refused(f"{name} with {option}=", "Add it, or write it, afterwards.")
    if name == "np.pad" and options.get("mode") in ORDERED:
        raise refused(f"np.pad with mode={options['mode']!r}", "Complex numbers have no order.")


def zipped(real: Any, imaginary: Any) -> Any:
    """The complex arrays with these parts, each an array or a tuple of them."""
    if isinstance(real, tuple | list):
        return type(real)(map(zipped, real, imaginary))
    found = ComplexArray(real, imaginary)
    found.scalar = isinstance(real, Array) and real.scalar
    return found


for _key in (*SHAPES, *DIAGONALS, *SUMS, *PARTWISE):
    if _key in FUNCTIONS:
        _by_parts(_key)
