"""NumPy's running sums and products, and the differences that undo them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import END, array_like, delivered, many_axes, one_axis, reaching, slab
from primsplit.numpy.reductions import summed_in
from primsplit.numpy.running_products import running_product
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.validity import where_valid
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import axis_back, axis_first, expand_to, full, of_size, reshape_to


def _along(a: Any, axis: Any, dtype: npt.DTypeLike | None) -> tuple[Array, int, np.dtype[Any]]:
    """The array in what it is added up in, flat where no axis is named; the axis, and the result's dtype."""
    x, wanted = summed_in(array_like(a), dtype)
    if axis is None or x.ndim == 0:
        many_axes(axis, x.ndim)
        return reshape_to(x, (x.size,)), 0, wanted
    return x, one_axis(axis, x.ndim), wanted


def running_sum(x: Array, axis: int) -> Array:
    """The sum of the elements up to each one.

    onnxruntime's CumSum takes three times as long along the last of several axes, but its Transpose is slow, too, for
    elements of eight bytes.
    """
    if axis == x.ndim - 1 and x.ndim > 1 and x.dtype.itemsize < 8:
        return axis_back(op.CumSum(axis_first(x, axis), 0), axis)
    return op.CumSum(x, axis)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None) -> Array:
    """np.cumsum."""
    x, place, wanted = _along(a, axis, dtype)
    return delivered(cast_to(running_sum(x, place), wanted), out)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None) -> Array:
    """np.cumprod; its gradient is right at zeros."""
    x, place, wanted = _along(a, axis, dtype)
    return delivered(cast_to(running_product(x, place), wanted), out)


def _cumulative(a: Any, axis: Any, include_initial: bool, function: Any, initial: int, options: Any) -> Array:
    x = array_like(a)
    if axis is None and x.ndim != 1:
        raise ShapeError("axis= is needed for an array that does not have one axis", place=tracing.user_place())
    place = one_axis(0 if axis is None else axis, x.ndim)
    out = options.pop("out", None)
    result: Array = function(x, place, **options)
    if include_initial:
        shape = (*x.shape[:place], 1, *x.shape[place + 1 :])
        result = op.Concat(full(shape, np.asarray(initial, result.dtype)), result, axis=place)
    return delivered(result, out)


@implements(np.cumulative_sum)
def cumulative_sum(x: Any, /, *, axis: Any = None, include_initial: bool = False, **options: Any) -> Array:
    """np.cumulative_sum."""
    return _cumulative(x, axis, include_initial, cumsum, 0, options)


@implements(np.cumulative_prod)
def cumulative_prod(x: Any, /, *, axis: Any = None, include_initial: bool = False, **options: Any) -> Array:
    """np.cumulative_prod."""
    return _cumulative(x, axis, include_initial, cumprod, 1, options)


def difference(x: Array, axis: int) -> Array:
    """Each element less the one before; for bools, whether the two differ."""
    later, earlier = slab(x, axis, 1, END), slab(x, axis, 0, -1)
    return op.Xor(later, earlier) if x.dtype == np.bool_ else op.Sub(later, earlier)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Array:
    """np.diff."""
    x = array_like(a)
    if n < 0:
        raise ShapeError(f"np.diff of order {n}: it must not be negative", place=tracing.user_place())
    if x.ndim == 0:
        raise ShapeError("np.diff needs an array with at least one axis", place=tracing.user_place())
    place = one_axis(axis, x.ndim)
    if n == 0:
        return x
    ends = [_end(prepend, x, place), x, _end(append, x, place)]
    joined = [e for e in ends if e is not None]
    if len(joined) > 1:
        dtype = np.result_type(*(e.dtype for e in joined))
        x = op.Concat(*(cast_to(e, dtype) for e in joined), axis=place)
    for _ in range(n):
        x = difference(x, place)
    return x


def _end(values: Any, x: Array, axis: int) -> Array | None:
    """Return the array that `prepend` or `append` adds, or None; a number is repeated across the other axes."""
    if values is None:
        return None
    end = array_like(values)
    return expand_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :])) if end.ndim == 0 else end


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """np.ediff1d."""
    x = array_like(ary)
    parts = [difference(reshape_to(x, (x.size,)), 0)]
    if to_begin is not None:
        parts.insert(0, _flat(to_begin, x.dtype))
    if to_end is not None:
        parts.append(_flat(to_end, x.dtype))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def _flat(values: Any, dtype: np.dtype[Any]) -> Array:
    x = cast_to(array_like(values), dtype)
    return reshape_to(x, (x.size,))


@implements(np.trapezoid, *([np.trapz] if hasattr(np, "trapz") else []))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """np.trapezoid."""
    values = array_like(y)
    place = one_axis(axis, values.ndim)
    if x is None:
        width: Any = dx
    else:
        points = array_like(x)
        flat = points.ndim == 1
        width = difference(points, 0 if flat else one_axis(axis, points.ndim))
        if flat:
            width = reshape_to(width, tuple(width.size if i == place else 1 for i in range(values.ndim)))
    both = slab(values, place, 1, END) + slab(values, place, 0, -1)
    return np.sum(width * both / 2.0, axis=place)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient: second-order differences inside, of order `edge_order` at the two ends.

    Of two points at one place there is no slope: NaN, but for a first-order difference at an end.
    """
    x = array_like(f)
    axes = (
        many_axes(axis, x.ndim)
        if axis is None or not isinstance(axis, tuple | list)
        else tuple(one_axis(a, x.ndim) for a in axis)
    )
    if edge_order not in {1, 2}:
        raise ShapeError(f"np.gradient: edge_order={edge_order} is neither 1 nor 2", place=tracing.user_place())
    if len(varargs) not in {0, 1, len(axes)}:
        raise ShapeError(f"np.gradient: {len(varargs)} spacings for {len(axes)} axes", place=tracing.user_place())
    spacings = list(varargs) if len(varargs) > 1 else [varargs[0] if varargs else 1.0] * len(axes)
    if not x.type.is_float:
        x = cast_to(x, np.float64)
    found = [
        cast_to(_gradient_along(x, place, h, edge_order), x.dtype) for place, h in zip(axes, spacings, strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _gradient_along(x: Array, axis: int, spacing: Any, edge_order: int) -> Array:
    size = x.shape[axis]
    if not isinstance(size, Size) and size < edge_order + 1:
        raise ShapeError(
            f"np.gradient needs {edge_order + 1} elements along axis {axis}, which has {size}",
            place=tracing.user_place(),
        )
    x = reaching(x, axis, edge_order + 1)
    h = _one_distance(array_like(spacing))
    h = h if h.ndim == 0 else _of_points(h, size)
    h = h if h.ndim == 0 or h.dtype.kind not in "iu" else cast_to(h, np.float64)
    steps = h if h.ndim == 0 else _column(difference(h, 0), axis, x.ndim)
    slope = difference(x, axis) / steps
    known = h.known()
    is_apart = h.ndim == 0 or (known is not None and np.diff(known).all())
    apart = slope if is_apart else where_valid(op.Not(op.Equal(steps, 0.0)), slope)[0]
    if h.ndim == 0:
        inner = (slab(x, axis, 2, END) - slab(x, axis, 0, -2)) / (2.0 * h)
    else:
        before, after = slab(steps, axis, 0, -1), slab(steps, axis, 1, END)
        inner = (slab(apart, axis, 0, -1) * after + slab(apart, axis, 1, END) * before) / (before + after)
    first, last = _one(slope, axis, 0, 1), _one(slope, axis, -1, END)
    if edge_order == 2:
        first, last = _second_order_ends(apart, steps, axis)
    return op.Concat(first, inner, last, axis=axis, types=[Type(slope.dtype, x.shape)])


def _one_distance(points: Array) -> Array:
    """The distance of known points that are evenly spaced, which NumPy takes for all; else what is given."""
    known = points.known()
    if known is None or known.ndim != 1 or len(known) < 2:
        return points
    distances = np.diff(known)
    return Array(tracing.constant(distances[0])) if (distances == distances[0]).all() else points


def _one(x: Array, axis: int, start: int, end: int) -> Array:
    """The one slice between these ends; a run in which there is none fails."""
    found = slab(x, axis, start, end)
    return reshape_to(found, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def _of_points(points: Array, size: Dim) -> Array:
    """The points, one for each element along an axis; a run in which there are others fails. Raises ShapeError."""
    if points.ndim != 1 or not dims.could_be(points.shape[0], size):
        raise ShapeError("distances must match the length of the corresponding dimension", place=tracing.user_place())
    return of_size(points, 0, size)


def _second_order_ends(slope: Array, steps: Array, axis: int) -> tuple[Array, Array]:
    """The slopes at the ends of the parabola through the three points there."""
    ends = []
    for near, far in (((0, 1), (1, 2)), ((-1, END), (-2, -1))):
        s0, s1 = slab(slope, axis, *near), _one(slope, axis, *far)
        if steps.ndim == 0:
            ends.append(s0 * 1.5 - s1 * 0.5)
            continue
        h0, h1 = slab(steps, axis, *near), slab(steps, axis, *far)
        ends.append(s0 + (s0 - s1) * h0 / (h0 + h1))
    return ends[0], ends[1]


def _column(x: Array, axis: int, rank: int) -> Array:
    return reshape_to(x, tuple(x.size if i == axis else 1 for i in range(rank)))
