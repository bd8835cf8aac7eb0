"""Interpolation, phase unwrapping, and piecewise functions."""

import functools
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy.axes import END, array_like, one_axis, reaching, size_as, slab
from primsplit.numpy.cumulative import cumsum, difference
from primsplit.numpy.indexing import getitem, setitem
from primsplit.numpy.ordering import argsort, searchsorted
from primsplit.numpy.ufuncs import call_ufunc, cast_to
from primsplit.numpy.units import common_dtype
from primsplit.numpy.validity import defined
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import of_one_size, reshape_to, zeros_like
from primsplit.tracing.calls.primitive import stop_gradient


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """np.interp, with gradients in all of its arguments.

    At a sample point the derivative in `x` is the slope to its right, at the last one the slope to its left. Beyond
    the ends it is 0, and the cotangent goes to the end's value. Beside an infinite value there is no gradient. Where
    the result is NaN, so are its gradients.
    """
    at, points, values = (cast_to(array_like(a), np.float64) for a in (x, xp, fp))
    if points.ndim != 1 or values.ndim != 1 or not dims.could_be(points.shape[0], values.shape[0]):
        raise ShapeError("xp and fp must be vectors of the same length", place=tracing.user_place())
    points, values = of_one_size(points, 0, values, 0)
    if dims.same(points.shape[0], 0):
        raise ShapeError("array of sample points is empty", place=tracing.user_place())
    points = reaching(points, 0, 1)
    sums = [op.ReduceSum(v, [0], keepdims=0) for v in (points, values)]
    if period is not None:
        repeated: Array = defined(_interpolated(*_periodic(at, points, values, period)), at, *sums)
        return repeated
    found = _interpolated(at, points, values)
    first, last = (_end(points, *ends) for ends in ((0, 1), (-1, END)))
    low, high = (
        _end(values, *ends) if given is None else cast_to(array_like(given), np.float64)
        for given, ends in ((left, (0, 1)), (right, (-1, END)))
    )
    answer: Array = defined(op.Where(op.Less(at, first), low, op.Where(op.Greater(at, last), high, found)), at, *sums)
    return answer


def _end(vector: Array, *place: int) -> Array:
    """The first or the last element; of a vector without any a 0, which is for no point."""
    found = slab(vector, 0, *place)
    return op.Squeeze(found, [0]) if dims.above(vector.shape[0], 0) else op.ReduceSum(found, [0], keepdims=0)


def _periodic(at: Array, points: Array, values: Array, period: Any) -> tuple[Array, Array, Array]:
    """Everything brought into one period, the sample points in order, with a neighbour beyond each end."""
    known = array_like(period).known()
    if known is not None and known == 0:
        raise ShapeError("period must be a non-zero value", place=tracing.user_place())
    span = op.Abs(cast_to(array_like(period), np.float64))
    if known is None:
        span = checked(span, op.Equal(span, 0.0), ValueError("period must be a non-zero value"))
    at, points = call_ufunc(np.remainder, at, span), call_ufunc(np.remainder, points, span)
    order = argsort(points)
    points, values = op.Gather(points, order), op.Gather(values, order)
    first, last = (slab(points, 0, *ends) for ends in ((0, 1), (-1, END)))
    points = op.Concat(op.Sub(last, span), points, op.Add(first, span), axis=0)
    values = op.Concat(slab(values, 0, -1, END), values, slab(values, 0, 0, 1), axis=0)
    return at, points, values


def _interpolated(at: Array, points: Array, values: Array) -> Array:
    """The line through the sample points around `at`, drawn from the left one, or from the last."""
    last = op.Sub(size_as(points.shape[0], np.int64), 1)
    base = op.Max(op.Sub(searchsorted(points, at, "right"), 1), 0)
    lower = op.Max(op.Min(base, op.Sub(last, 1)), 0)
    upper = op.Min(op.Add(lower, 1), last)
    rise = op.Sub(op.Gather(values, upper), op.Gather(values, lower))
    run = op.Sub(op.Gather(points, upper), op.Gather(points, lower))
    run = op.Where(op.Equal(run, 0.0), 1.0, run)
    away, start = op.Sub(at, op.Gather(points, base)), op.Gather(values, base)
    known = values.known()
    if known is not None and np.all(np.isfinite(known)):
        return op.Add(op.Mul(op.Div(rise, run), away), start)
    is_missing = op.IsNaN(at)
    is_plain = op.And(op.Equal(op.Mul(rise, 0.0), 0.0), op.Not(is_missing))
    plain_rise, plain_away, plain_start = (op.Where(is_plain, v, 0.0) for v in (rise, away, start))
    found = op.Add(op.Mul(op.Div(plain_rise, run), plain_away), plain_start)
    ends = (op.Sub(at, op.Gather(points, upper)), op.Gather(values, upper))
    beside = op.Where(op.Equal(away, 0.0), start, _beside_infinite(op.Div(rise, run), (away, start), ends))
    return op.Where(is_plain, found, op.Where(is_missing, at, beside))


def _beside_infinite(slope: Array, start: tuple[Array, Array], end: tuple[Array, Array]) -> Array:
    """The line from either end, as NumPy tries them, or what both ends are; without a gradient."""
    slope, away, first, back, last = (stop_gradient(v) for v in (slope, *start, *end))
    found = op.Add(op.Mul(slope, away), first)
    found = op.Where(op.IsNaN(found), op.Add(op.Mul(slope, back), last), found)
    return op.Where(op.And(op.IsNaN(found), op.Equal(first, last)), first, found)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Array:
    """np.unwrap: whole periods are taken off where elements jump by more than half of one.

    An element's gradient is 1, the period's how many were added. Raises DtypeError where the period and the elements
    have no sign.
    """
    x, span = array_like(p), array_like(period)
    place = one_axis(axis, x.ndim)
    dtype = common_dtype(x, span)
    if dtype.kind == "u":
        raise DtypeError(
            f"np.unwrap takes half a period off, which {dtype} cannot hold",
            place=tracing.user_place(),
            cure="Cast to a signed integer or a float first: x.astype(int).",
        )
    rises = difference(x, place)
    x, span, steps = (cast_to(v, dtype) for v in (x, span, rises))
    least = cast_to(span, np.float64) / 2 if discont is None else array_like(discont)
    small = op.Less(*(cast_to(v, common_dtype(rises, least)) for v in (abs(rises), least)))
    turns = op.Where(small, np.zeros((), dtype), _turns(steps, span))
    added = cast_to(cumsum(op.Mul(stop_gradient(turns), span), place), dtype)
    first = zeros_like(slab(x, place, 0, 1))
    return op.Sub(x, op.Concat(first, added, axis=place, types=[x.type]))


def _turns(steps: Array, span: Array) -> Array:
    """Return by how many periods each step leaves [-1/2, 1/2) of a period.

    Exactly a half keeps the sign of the step.
    """
    if span.dtype.kind in "iu":
        half = call_ufunc(np.floor_divide, span, 2)
        even = op.Equal(call_ufunc(np.remainder, span, 2), 0)
    else:
        half, even = span / 2, array_like(np.True_)
    shifted = steps + half
    turns = call_ufunc(np.floor_divide, shifted, span)
    ambiguous = op.Equal(call_ufunc(np.remainder, shifted, span), np.zeros((), steps.dtype)) & (steps > 0) & even
    return op.Where(ambiguous, turns - 1, turns)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Array:
    """np.piecewise: each function is called on the elements for which its condition holds, and on no others."""
    given = array_like(x)
    functions = list(funclist)
    conditions = _conditions(given, condlist, len(functions))
    flat = Array(reshape_to(given, (1,)).value) if given.ndim == 0 else given
    result = zeros_like(flat)
    for condition, function in zip(conditions, functions, strict=True):
        mask = reshape_to(condition, (1,)) if given.ndim == 0 else condition
        setitem(result, mask, function(getitem(flat, mask), *args, **kw) if callable(function) else function)
    return Array(reshape_to(result, given.shape).value)


def _conditions(x: Array, condlist: Any, count: int) -> list[Array]:
    """A mask for each function; the last one may be left to what no other holds for. Raises ShapeError."""
    rows = list(condlist) if _is_many(condlist, x.ndim) else [condlist]
    masks = [cast_to(array_like(c), np.bool_) for c in rows]
    if len(masks) == count - 1:
        masks.append(op.Not(functools.reduce(op.Or, masks)))
    if len(masks) != count:
        raise ShapeError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected",
            place=tracing.user_place(),
        )
    return masks


def _is_many(condlist: Any, rank: int) -> bool:
    """Return whether this is a list of conditions; a list of bools is a single condition."""
    if isinstance(condlist, Array | np.ndarray):
        return condlist.ndim > (1 if rank else 0)
    return not np.isscalar(condlist) and (not rank or isinstance(condlist[0], list | tuple | np.ndarray | Array))
