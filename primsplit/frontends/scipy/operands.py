"""Converts arguments of SciPy's functions: to float arrays, traced or NumPy's, and functions with `args`."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.axes import reaching, size_as
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import of_size
from primsplit.tracing.complex_array import ComplexArray, refused


def with_args(function: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """The function with SciPy's `args` behind what it is called on; what is no tuple is one of them."""
    rest = args if isinstance(args, tuple) else (args,)
    return lambda *own: function(*own, *rest)


def as_vector(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """The function with its result as a vector of float64."""
    return lambda x: np.ravel(cast_to(array_like(function(x)), np.float64))


def _check_real(x: Any) -> None:
    """Raise UnsupportedFunction for complex numbers, whose imaginary parts NumPy would drop."""
    if holds_complex(x):
        raise refused(
            "this function of SciPy", "Call it with z.real and with z.imag, or write it with functions of NumPy."
        )


def floating(x: Any) -> Any:
    """A traced or NumPy array of a float dtype; integers become float64."""
    _check_real(x)
    if not holds_traced(x):
        array = np.asarray(x)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    traced = array_like(x)
    return traced if traced.type.is_float else cast_to(traced, np.float64)


def double(x: Any) -> Any:
    """A traced or NumPy array of float64."""
    _check_real(x)
    return cast_to(array_like(x), np.float64) if holds_traced(x) else np.asarray(x, np.float64)


def wide(x: Any) -> Any:
    """A traced or NumPy array of float64 or complex128."""
    if not holds_complex(x):
        return double(x)
    return operand(x).astype(np.complex128) if holds_traced(x) else np.asarray(x, np.complex128)


def inexact(x: Any) -> Any:
    """A traced or NumPy array of a float or complex dtype; integers become float64."""
    if not holds_complex(x):
        return floating(x)
    return operand(x) if holds_traced(x) else np.asarray(x)


def of_length(x: Any, size: Dim, axis: int = -1) -> Any:
    """`x`, which has so many elements along an axis; a run in which it has not fails. Raises ShapeError."""
    if dims.same(x.shape[axis], size):
        return x
    if not dims.could_be(x.shape[axis], size):
        raise ShapeError(f"{x.shape[axis]} elements for {size} along the axis {axis}", place=tracing.user_place())
    if isinstance(x, ComplexArray):
        return ComplexArray(of_size(x.real, axis, size), of_size(x.imag, axis, size))
    return of_size(array_like(x), axis, size)


def of_at_least(x: Any, count: Dim, axis: int = -1) -> Any:
    """`x`, which has at least so many elements along an axis; a run in which it has fewer fails. Raises ShapeError."""
    size, place = x.shape[axis], axis % len(x.shape)
    if dims.above(count, size):
        raise ShapeError(f"{size} elements along the axis {axis} are fewer than {count}", place=tracing.user_place())
    if isinstance(x, ComplexArray):
        return ComplexArray(reaching(x.real, place, count), reaching(x.imag, place, count))
    return reaching(x, place, count) if isinstance(x, Array) else x


def not_empty(x: Any, axes: Iterable[int] | None = None) -> Any:
    """`x`, which has an element along each of these axes, all for None; a run in which it has none fails."""
    for axis in range(len(x.shape)) if axes is None else axes:
        x = of_at_least(x, 1, axis)
    return x


def ascending(sites: Any, *, least: str = "strictly increasing") -> Any:
    """Sites [n], each of which is above the one before it; a run with others, or with NaN or infinity, fails.

    With `least="non-decreasing"` neighbours may be equal.
    """
    before, after = sites[:-1], sites[1:]
    rises = after > before if least == "strictly increasing" else after >= before
    sites = failing.finite(sites, ValueError("`x` must contain only finite values"))
    return refusing(sites, np.logical_not(rises), ValueError(f"`x` must be a {least} sequence"))


def finite(values: Any) -> Any:
    """Values, traced or known; a run with NaN or infinity among them fails."""
    return failing.finite(values, ValueError("`y` must contain only finite values"))


def number_of(size: Dim) -> Any:
    """A size in float64."""
    return size_as(size, np.float64) if isinstance(size, Size) else float(size)


def traced_double(x: Any) -> Any:
    """A traced array of float64."""
    _check_real(x)
    return cast_to(array_like(x), np.float64)
