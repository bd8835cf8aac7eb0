"""Products of complex numbers along an axis, and reductions that skip NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import dims
from primsplit.numpy.axes import END, many_axes, one_axis, slab
from primsplit.numpy.complex.dispatch import delivered, offers
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.matrices import times
from primsplit.numpy.complex.operands import as_complex
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.statistics import safe_root
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.complex_array import ComplexArray, refused


def _asked(a: Any, dtype: Any) -> Any:
    return as_complex(a) if dtype is None else astype(as_complex(a), dtype)


def _products(rows: Any) -> tuple[Any, Any]:
    """The product along the first axis, and the products up to each element: one step for each, one more with a 1."""
    whole: Any = np.concatenate([_one_row(rows), rows])
    first = [_first_row(p) for p in (whole.real, whole.imag)]

    def step(x: Array, y: Array, u: Array, v: Array) -> tuple[list[Array], list[Array]]:
        found = list(times((x, y), (u, v)))
        return found, found

    real, imag, *each = scan(step, first, [whole.real, whole.imag])
    running = (slab(p, 0, 1, END) for p in each)
    return ComplexArray(real, imag), ComplexArray(*running)


def _one_row(rows: Any) -> Any:
    return np.ones((1, *rows.shape[1:]), rows.dtype)


def _first_row(part: Array) -> Array:
    """The first element along the first axis."""
    return op.Gather(part, np.array(0), axis=0)


@offers(np.prod)
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The product over axes, one after the other."""
    z = _asked(a, dtype)
    if where is not True:
        z = np.where(where, z, 1)
    axes = many_axes(axis, z.ndim)
    kept = [i for i in range(z.ndim) if i not in axes]
    rows = np.transpose(z, (*axes, *kept))
    count = dims.product([z.shape[i] for i in axes])
    found, _ = _products(np.reshape(rows, (count, *(z.shape[i] for i in kept))))
    if keepdims and keepdims is not np._NoValue:
        shape = tuple(1 if i in axes else d for i, d in enumerate(z.shape))
        found = ComplexArray(*(reshape_to(p, shape) for p in (found.real, found.imag)))
    found = found if initial is None or initial is np._NoValue else found * initial
    found.scalar = True
    return delivered(found, out)


@offers(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The products up to each element."""
    z = _asked(a, dtype)
    z, place = (np.ravel(z), 0) if axis is None else (z, one_axis(axis, z.ndim))
    return delivered(np.moveaxis(_products(np.moveaxis(z, place, 0))[1], 0, place), out)


@offers(np.cumulative_prod)
def cumulative_prod(x: Any, /, *, axis: Any = None, include_initial: bool = False, **options: Any) -> Any:
    """The products up to each element, behind a 1 with `include_initial`."""
    z: Any = as_complex(x)
    if axis is None and z.ndim != 1:
        raise refused("np.cumulative_prod without axis=", "Name the axis.")
    place = one_axis(0 if axis is None else axis, z.ndim)
    if include_initial:
        rows = np.moveaxis(z, place, 0)
        z = np.moveaxis(np.concatenate([_one_row(rows), rows]), 0, place)
    return cumprod(z, place, **options)


def _filled(a: Any, number: float) -> Any:
    """The array with a number for each element that is NaN in a part."""
    z = as_complex(a)
    return np.where(np.isnan(z), np.asarray(number, z.real.dtype), z)


def _passing_over(key: Callable[..., Any], function: Callable[..., Any], number: float) -> None:
    """Register a function of what is left where NaN is a number that changes nothing."""

    @offers(key)
    def passing(a: Any, *args: Any, **options: Any) -> Any:
        return function(_filled(a, number), *args, **options)


_passing_over(np.nansum, np.sum, 0)
_passing_over(np.nanprod, np.prod, 1)
_passing_over(np.nancumsum, np.cumsum, 0)
_passing_over(np.nancumprod, np.cumprod, 1)


def _count(z: Any, axis: Any, keepdims: Any) -> Any:
    found: Any = FUNCTIONS[np.sum](~np.isnan(z), axis=axis, keepdims=keepdims)
    return found.astype(z.real.dtype)


@offers(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
    """The mean of the elements that are not NaN; NaN where there are none."""
    z = _asked(a, dtype)
    if options:
        raise refused(f"np.nanmean with {', '.join(options)}=", "Choose with np.where: np.where(mask, z, np.nan).")
    return delivered(np.sum(_filled(z, 0), axis=axis, keepdims=keepdims) / _count(z, axis, keepdims), out)


@offers(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, **options: Any
) -> Any:
    """The mean squared distance from the mean, of the elements that are not NaN."""
    z = as_complex(a)
    if options or dtype is not None:
        raise refused("np.nanvar with dtype=, where=, mean= or correction=")
    apart = z - nanmean(z, axis, keepdims=True)
    squares = np.where(np.isnan(z), np.zeros((), z.real.dtype), apart.real**2 + apart.imag**2)
    left = _count(z, axis, keepdims) - ddof
    found = np.sum(squares, axis=axis, keepdims=keepdims) / np.where(left > 0, left, np.asarray(np.nan, left.dtype))
    return delivered(found, out)


@offers(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, **options: Any
) -> Any:
    """The root of `nanvar`, whose gradient is 0 where all elements are equal."""
    variance: Any = nanvar(a, axis, dtype, None, ddof, keepdims, **options)
    return delivered(safe_root(variance), out)
