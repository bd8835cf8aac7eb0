"""NumPy's statistics: var, std, average, cov, corrcoef."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Const
from primsplit.ir.dims import Size, is_one
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, count_along, delivered, many_axes, reduced, size_as, with_ones
from primsplit.numpy.extrema import is_half
from primsplit.numpy.quotients import length_quotient
from primsplit.numpy.reductions import counted_where, masked, mean_over, widened
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import call, cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import expand_to, of_shape, reshape_to
from primsplit.tracing.calls.named import called_by_name, named
from primsplit.tracing.calls.primitive import Function, rrule


def freedom(count: Any, ddof: Any, dtype: Any) -> Array:
    """`count - ddof`, at least 0, as a float."""
    if isinstance(count, int) and not isinstance(ddof, Array):
        return as_array(np.asarray(max(count - ddof, 0), dtype))
    number = size_as(count, dtype) if isinstance(count, int | Size) else count
    left: Array = np.maximum(number - ddof, 0)
    return left


def _centred(x: Array, axes: Sequence[int]) -> Array:
    return x - mean_over(x, axes, True)


def _divided(squares: Array, count: Any, ddof: Any) -> Array:
    return op.Div(squares, freedom(count, ddof, squares.dtype))


Axis = int | tuple[int, ...] | None


@named("var")
def variance(x: Array, *, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Array:
    """The variance of floats, in two passes."""
    axes = many_axes(axis, x.ndim)
    apart = _centred(x, axes)
    squares = reduced("ReduceSum", op.Mul(apart, apart), axes, keepdims)
    return _divided(squares, count_along(x, axes), ddof)


@rrule(variance)
def _variance_rule(
    x: Array, *, axis: Axis = None, keepdims: bool = False, ddof: int = 0
) -> tuple[Array, Callable[[Array], tuple[Array]]]:
    """dx = 2 (x - mean(x)) dy / (n - ddof). The mean has no part in it: the sum of x - mean(x) is 0."""
    axes = many_axes(axis, x.ndim)
    y, apart = called_by_name(variance, x, axis=axis, keepdims=keepdims, ddof=ddof), _centred(x, axes)

    def pullback(dy: Array) -> tuple[Array]:
        each = _divided(dy if keepdims else with_ones(dy, axes), count_along(x, axes), ddof)
        return (op.Mul(op.Mul(each, 2.0), apart, types=[x.type]),)

    return y, pullback


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """np.var, in two passes; float16 in float32 and rounded back."""
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    wide, asked = widened(x, dtype, "variance")
    ddof = ddof if correction is None else correction
    ddof = ddof.item() if isinstance(ddof, np.generic) else ddof
    if where is True and mean is None and isinstance(ddof, int) and not isinstance(x.value, Const) and axes:
        along = None if len(axes) == x.ndim else axes[0] if len(axes) == 1 else tuple(sorted(axes))
        found = called_by_name(variance, wide, axis=along, keepdims=bool(keepdims), ddof=ddof)
        return delivered(cast_to(found, asked), out)
    count: Any = count_along(x, axes)
    if where is not True:
        count = counted_where(where, x, axes, True, wide.dtype)
    if mean is not None:
        centre = cast_to(array_like(mean), wide.dtype)
    elif where is True:
        centre = mean_over(wide, axes, True)
    else:
        centre = reduced("ReduceSum", masked(wide, where, 0), axes, True) / count
    apart = wide - centre
    squares = reduced("ReduceSum", masked(op.Mul(apart, apart), where, 0), axes, keepdims)
    divisor = freedom(count, ddof, wide.dtype)
    if where is not True and not keepdims:
        divisor = reshape_to(divisor, squares.shape)
    return delivered(cast_to(op.Div(squares, divisor), asked), out)


@named("safe_root")
def safe_root(variance: Array) -> Array:
    """The square root, whose gradient at 0 is 0, as torch.std has it; 0 of what rounding put below 0."""
    positive = op.Greater(variance, 0.0)
    return op.Where(positive, op.Sqrt(op.Where(positive, variance, 1.0)), op.Mul(variance, 0.0))


@rrule(safe_root)
def _safe_root(variance: Array) -> tuple[Array, Function]:
    root = safe_root(variance)
    return root, lambda dz: length_quotient(dz * 0.5, root)


@implements(np.std)
def std(
    a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None, out: Any = None, *args: Any, **options: Any
) -> Array:
    """np.std. The gradient is 0 where all elements are equal, as in torch.std."""
    x = array_like(a)
    half = is_half(x) and dtype is None
    wide = cast_to(x, np.float32) if half else x
    root = safe_root(var(wide, axis, dtype, None, *args, **options))
    return delivered(cast_to(root, x.dtype) if half else root, out)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """np.average. A run in which the weights of an average sum to 0 fails, as in NumPy."""
    x = array_like(a)
    axes = many_axes(axis, x.ndim)
    if weights is None:
        found: Array = np.mean(x, axis=axes, keepdims=keepdims)
        scale = size_as(count_along(x, axes), found.dtype)
    else:
        w = _weights(array_like(weights), x, axes)
        dtype = np.result_type(x.dtype, w.dtype, *([] if x.type.is_float else [np.float64]))
        x, w = cast_to(x, dtype), cast_to(w, dtype)
        scale = reduced("ReduceSum", expand_to(w, x.shape), axes, keepdims)
        found = op.Div(reduced("ReduceSum", op.Mul(x, w), axes, keepdims), scale)
        found = checked(found, op.Equal(scale, 0), ZeroDivisionError("Weights sum to zero, can't be normalized"))
    return (found, expand_to(scale, found.shape)) if returned else found


def _weights(w: Array, x: Array, axes: Sequence[int]) -> Array:
    """Weights shaped like `x`, or like the axes that are averaged over, so that they broadcast to `x`."""
    if w.ndim == x.ndim:
        return of_shape(w, x.shape)
    if w.ndim != len(axes):
        raise ShapeError(
            f"np.average: weights with {w.ndim} axes for an average over {len(axes)} of {x.ndim} axes",
            place=tracing.user_place(),
        )
    w = of_shape(w, [x.shape[a] for a in axes])
    sizes = iter(w.shape)
    return reshape_to(w, tuple(next(sizes) if i in axes else 1 for i in range(x.ndim)))


def _whole(counts: Any) -> Array:
    """Return how often each observation counts. Raises TypeError for known numbers that are not whole."""
    given = array_like(counts)
    known = given.known()
    if known is not None and np.any(known != np.around(known)):
        raise TypeError("fweights must be integer")
    return given


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> Array:
    """np.cov. Variables whose number is known only at run time give a matrix even where there is one."""
    x = variables(m, y, rowvar, dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None if fweights is None else cast_to(_not_negative(_whole(fweights), "fweights"), x.dtype)
    if aweights is not None:
        a = cast_to(_not_negative(array_like(aweights), "aweights"), x.dtype)
        w = a if w is None else w * a
    count = x.shape[1]
    if w is None:
        factor = freedom(count, ddof, x.dtype)
        apart = x - mean_over(x, (1,), True)
        product = op.Gemm(apart, apart, transB=1)
    else:
        total: Any = np.sum(w)
        total = checked(total, op.Equal(total, 0), ZeroDivisionError("Weights sum to zero, can't be normalized"))
        spread = 0 if not ddof else ddof if aweights is None else ddof * np.sum(w * a) / total
        factor = np.maximum(total - spread, 0)
        apart = x - op.Div(reduced("ReduceSum", op.Mul(x, w), (1,), True), total)
        product = op.Gemm(apart, op.Mul(apart, w), transB=1)
    found = op.Div(product, factor)
    return reshape_to(found, ()) if is_one(x.shape[0]) else found


def _not_negative(weights: Array, name: str) -> Array:
    """Weights of a covariance; a run in which one is negative fails."""
    found: Array = refusing(weights, op.Less(weights, 0), ValueError(f"{name} cannot be negative"))
    return found


def variables(m: Any, y: Any, rowvar: bool, dtype: npt.DTypeLike | None) -> Array:
    """The observations as a float matrix, a row a variable."""
    parts = [array_like(v) for v in (m, y) if v is not None]
    if any(p.ndim > 2 for p in parts):
        raise ShapeError("np.cov takes arrays with one or two axes", place=tracing.user_place())
    common = np.dtype(dtype) if dtype is not None else np.result_type(np.float64, *(p.dtype for p in parts))
    rows = []
    for position, part in enumerate(parts):
        matrix = part if part.ndim == 2 else reshape_to(part, (1, part.size))
        turned = not rowvar and part.ndim == 2 and not (position == 1 and is_one(part.shape[0]))
        rows.append(cast_to(op.Transpose(matrix, perm=[1, 0]) if turned else matrix, common))
    return rows[0] if len(rows) == 1 else op.Concat(*rows, axis=0)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None) -> Array:
    """np.corrcoef, clipped to [-1, 1] as in NumPy."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return op.Div(c, c)
    deviation = op.Sqrt(call(np.diagonal, c))
    scaled = op.Div(op.Div(c, op.Unsqueeze(deviation, [1])), deviation)
    return op.Clip(scaled, -1.0, 1.0)
