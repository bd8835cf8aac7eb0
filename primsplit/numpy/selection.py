"""NumPy's functions that choose among values: extremes, clip, where, nan_to_num, heaviside; and polyval."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Value
from primsplit.ir.dims import Size, broadcast_shapes
from primsplit.ir.errors import ShapeError
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.axes import array_like, delivered
from primsplit.numpy.ufuncs import call, call_ufunc, cast_to, elementwise, loop_dtypes, wrapped_to
from primsplit.numpy.units import common_dtype, is_bool, is_whole, same
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array, plain_or_traced
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan, record

CLIP: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]  # what np.clip calls; NumPy has no public name for it


@elementwise("maximum")
def maximum(x: Array, y: Array) -> Array:
    """The larger; NaN where either is. Equal arguments get half of the gradient each."""
    return op.Or(x, y) if is_bool(x) else op.Max(x, y)


@elementwise("minimum")
def minimum(x: Array, y: Array) -> Array:
    """The smaller; NaN where either is. Equal arguments get half of the gradient each."""
    return op.And(x, y) if is_bool(x) else op.Min(x, y)


@elementwise("fmax")
def fmax(x: Array, y: Array) -> Array:
    """The larger; a NaN gives way to the other."""
    return maximum(x, y) if is_whole(x) else _without_nan(x, y, maximum(x, y))


@elementwise("fmin")
def fmin(x: Array, y: Array) -> Array:
    """The smaller; a NaN gives way to the other."""
    return minimum(x, y) if is_whole(x) else _without_nan(x, y, minimum(x, y))


def _without_nan(x: Array, y: Array, picked: Array) -> Array:
    return op.Where(op.IsNaN(x), y, op.Where(op.IsNaN(y), x, picked))


@implements(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """The elements moved into [a_min, a_max]. The gradient passes inside and on the bounds; a bound gets the rest."""
    x = array_like(a)
    low, high = _within(x.dtype, a_min if min is None else min, a_max if max is None else max)
    if low is not None and high is not None:
        return call_ufunc(CLIP, x, array_like(low), array_like(high), out=out, **options)
    bound = high if low is None else low
    if bound is None:
        return delivered(same(x), out)
    limit = array_like(bound)
    x, limit = _cast_all((x, limit), loop_dtypes(np.maximum, (x, limit)))
    return delivered(_bounded(x, None, limit) if low is None else _bounded(x, limit, None), out)


def _within(dtype: np.dtype[Any], low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds without those of Python's integers that bound nothing, which a dtype of integers may not hold."""
    if dtype.kind not in "iu":
        return low, high
    limits = np.iinfo(dtype)
    return (
        None if type(low) is int and low <= limits.min else low,
        None if type(high) is int and high >= limits.max else high,
    )


@elementwise("clip")
def clip_both(x: Array, low: Array, high: Array) -> Array:
    """Inside [low, high]; where the bounds cross, `high`."""
    return _bounded(x, low, high)


def _bounded(x: Array, low: Array | None, high: Array | None) -> Array:
    if is_bool(x):
        x = x if low is None else op.Or(x, low)
        return x if high is None else op.And(x, high)
    if all(b is None or b.shape == () for b in (low, high)):
        # A bound that Clip is not given is the largest finite number.
        low, high = (
            b if b is not None or not x.type.is_float else as_array(x.dtype.type(end))
            for b, end in ((low, -np.inf), (high, np.inf))
        )
        found = op.Clip(x, low, high)
    else:
        found = x if low is None else op.Where(op.Less(x, low), low, x)
        found = found if high is None else op.Where(op.Greater(found, high), high, found)
    for bound in (low, high):
        found = found if bound is None else _nan_where(bound, found)
    return found


def _nan_where(bound: Array, found: Array) -> Array:
    """`found`, NaN where the bound is: nothing compares with it, so that it would bound nothing."""
    known = bound.known()
    if not bound.type.is_float or (known is not None and not np.isnan(known).any()):
        return found
    return op.Where(op.IsNaN(bound), bound, found)


def _cast_all(arrays: Sequence[Array], dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    return [cast_to(a, d) for a, d in zip(arrays, dtypes, strict=False)]


def _checked_shapes(*arrays: Array) -> None:
    """Raise ShapeError at the user's line where these do not broadcast."""
    try:
        broadcast_shapes(*(a.shape for a in arrays))
    except ShapeError as error:
        error.place = tracing.user_place()
        raise


@implements(np.where)
def where(condition: Any, *values: Any) -> Any:
    """`x` where the condition holds, else `y`; with the condition alone, where it is not 0.

    The side that is not chosen gets no cotangent; a NaN or infinity in that side's own derivative can still make
    0 * inf there.
    """
    if not values:
        return call(np.nonzero, condition)
    if len(values) != 2:
        raise TypeError("either both or neither of x and y should be given")
    mask, x, y = cast_to(array_like(condition), np.bool_), array_like(values[0]), array_like(values[1])
    _checked_shapes(mask, x, y)
    dtype = common_dtype(x, y)
    return op.Where(mask, wrapped_to(x, dtype), wrapped_to(y, dtype))


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced, by default with 0 and the extreme finite numbers. They have no gradient."""
    given = array_like(x)
    if is_whole(given):
        return same(given)
    limits = float_limits(given)
    result = op.Where(op.IsNaN(given), _fill(nan, given), given)
    result = op.Where(op.Equal(given, math.inf), _fill(limits.max if posinf is None else posinf, given), result)
    result = op.Where(op.Equal(given, -math.inf), _fill(limits.min if neginf is None else neginf, given), result)
    return result if copy else delivered(result, x)


def _fill(value: Any, like: Array) -> Array:
    return cast_to(array_like(value), like.dtype)


@elementwise("heaviside")
def heaviside(x: Array, at_zero: Array) -> Array:
    """0 below 0, 1 above, `at_zero` at 0. The gradient goes to `at_zero` where it is taken, and nowhere else."""
    is_none = op.IsNaN(x)
    above = op.Where(is_none, math.nan, np.ones((), x.dtype))
    return op.Where(x < 0.0, 0.0, op.Where(op.Or(x > 0.0, is_none), above, at_zero))


@implements(np.real)
def real(val: Any) -> Array:
    """The array itself, which is real."""
    return array_like(val)


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Array:
    """The array itself, which is real."""
    return array_like(a)


@implements(np.imag)
def imag(val: Any) -> Array:
    """Zeros, of a real array."""
    return zeros_like(array_like(val))


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, highest first, by Horner's rule.

    Lists and numbers are arrays, whose dtypes count.
    """
    point = Array(array_like(x).value)
    coefficients = plain_or_traced(p)
    if isinstance(coefficients, Array) and coefficients.ndim == 1 and isinstance(coefficients.shape[0], Size):
        return _of_any_degree(coefficients, point)
    first, *rest = coefficients
    result: Any = zeros_like(point) + array_like(first)
    for coefficient in rest:
        result = result * point + array_like(coefficient)
    return result


def _of_any_degree(coefficients: Array, point: Array) -> Array:
    """The polynomial by a scan over its coefficients, for a number of them that only the run knows."""
    dtype = common_dtype(coefficients, point)
    point, walked = cast_to(point, dtype), cast_to(coefficients, dtype)
    start = zeros_like(point)

    def step(result: Array, coefficient: Array) -> list[Value]:
        return [(result * point + coefficient).value]

    body = record("polyval", [start.type, element(walked.type, Walk())], step)
    return Array(emit_scan(ScanForm(body, 1, (Walk(),), ()), [start.value], [walked.value])[0])
