"""NumPy's polynomials: vectors of coefficients, highest power first.

Sizes never depend on the coefficients: where NumPy drops leading coefficients that are 0, in polymul and in the
remainder of polydiv, they stay.
"""

import operator
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.axes import END, array_like, as_size, reaching, size_as, slab
from primsplit.numpy.convolution import convolve
from primsplit.numpy.creation import asarray
from primsplit.numpy.cumulative import cumprod
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.joining import joined_dtype
from primsplit.numpy.linear import lstsq
from primsplit.numpy.linear.least_squares import solved
from primsplit.numpy.linear.operands import matrices
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.broadcasting import count_up, reshape_to, zeros


def coefficients(p: Any) -> Array:
    """A vector of coefficients; a number is a constant polynomial. Raises ShapeError."""
    found = asarray(p.coeffs if isinstance(p, np.poly1d) else p)
    if found.ndim > 1:
        raise ShapeError("a polynomial is a vector of coefficients", place=tracing.user_place())
    return found if found.ndim else reshape_to(found, (1,))


def _together(*polynomials: Any) -> list[Array]:
    """The coefficients in one dtype."""
    found = [coefficients(p) for p in polynomials]
    dtype = joined_dtype(found)
    return [cast_to(a, dtype) for a in found]


def _same_length(*polynomials: Array) -> list[Array]:
    """The polynomials with zeros in front, all as long as the longest."""
    longest: Dim = 0
    for p in polynomials:
        longest = dims.maximum(longest, p.shape[0])
    return [with_zeros(p, longest) for p in polynomials]


def with_zeros(p: Array, size: Dim) -> Array:
    """The polynomial with zeros in front, so many coefficients in all."""
    if dims.same(p.shape[0], size):
        return p
    return op.Pad(p, [size - p.shape[0], 0], types=[Type(p.dtype, (size,))])


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Array:
    """np.polyadd."""
    a, b = _same_length(*_together(a1, a2))
    return a + b


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Array:
    """np.polysub."""
    a, b = _same_length(*_together(a1, a2))
    return a - b


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Array:
    """np.polymul, of a length that is one less than the lengths' sum; no coefficients are a 0."""
    a, b = (with_zeros(p, dims.maximum(p.shape[0], 1)) for p in _together(a1, a2))
    return convolve(a, b)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """Quotient and remainder by long division; the remainder is one shorter than `v`, or [0].

    Unrolled where both lengths are known when tracing, else one step of a loop for each coefficient of the quotient.
    """
    top, bottom = _together(u, v)
    top, bottom = (x if x.type.is_float else cast_to(x, np.float64) for x in (top, bottom))
    size, divisor = top.shape[0], bottom.shape[0]
    if not (isinstance(size, int) and isinstance(divisor, int)):
        return _divided(reaching(top, 0, 1), reaching(bottom, 0, 1))
    if size < divisor:
        return zeros((1,), top.dtype), top
    scale = op.Reciprocal(slab(bottom, 0, 0, 1))
    rest = slab(bottom, 0, 1, END)
    quotient: list[Array] = []
    remainder = top
    for _ in range(size - divisor + 1):
        quotient.append(op.Mul(slab(remainder, 0, 0, 1), scale))
        head = op.Sub(slab(remainder, 0, 1, divisor), op.Mul(quotient[-1], rest))
        remainder = op.Concat(head, slab(remainder, 0, divisor, END), axis=0)
    return op.Concat(*quotient, axis=0), remainder if divisor > 1 else zeros((1,), top.dtype)


def _divided(top: Array, bottom: Array) -> tuple[Array, Array]:
    """`polydiv` where only the run knows how many steps there are.

    The remainder is as long as the longer of both until the end, what is left of it in front and zeros behind. A
    dividend that is shorter than the divisor has the quotient [0]: a step divides the 0 put in front of it.
    """
    size, divisor = top.shape[0], bottom.shape[0]
    steps = dims.maximum(size - divisor + 1, 1)
    length = steps + divisor - 1
    none = np.zeros(1, top.dtype)
    rest = op.Pad(bottom, [0, length - divisor], types=[Type(top.dtype, (length,))])
    share = op.Div(rest, slab(bottom, 0, 0, 1))

    def step(remainder: Array, _: Array) -> tuple[list[Array], list[Array]]:
        head = op.Gather(remainder, np.array(0), axis=0)
        left = slab(op.Sub(remainder, op.Mul(head, share)), 0, 1, END)
        return [op.Concat(left, none, axis=0, types=[remainder.type])], [head]

    remainder, heads = scan(step, [with_zeros(top, length)], [count_up(steps)])
    quotient = op.Div(heads, slab(bottom, 0, 0, 1))
    end = dims.maximum(divisor - 1, 1)
    count = dims.minimum(end, size)
    return quotient, op.Slice(remainder, [end - count], [end], [0], types=[Type(top.dtype, (count,))])


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Array:
    """np.polyder, of order `m`."""
    found = coefficients(p)
    for _ in range(_order(m)):
        powers = _powers(found, 0)
        found = slab(found, 0, 0, -1) * slab(powers, 0, 0, -1)
    return found


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """np.polyint, of order `m` with the constants `k`: one for each order, or one for all."""
    found = coefficients(p)
    count = _order(m)
    constants = array_like(0.0) if k is None else asarray(k)
    each = [constants] * count if constants.ndim == 0 or dims.is_one(constants.shape[0]) else list(constants)
    if len(each) < count:
        raise ShapeError("k must be a scalar or a rank-1 array of length 1 or >m", place=tracing.user_place())
    for constant in each[:count]:
        raised = found / _powers(found, 1)
        dtype = joined_dtype([raised, constant])
        found = op.Concat(cast_to(raised, dtype), reshape_to(cast_to(constant, dtype), (1,)), axis=0)
    return found


def _order(m: Any) -> int:
    order = int(m)
    if order < 0:
        raise ShapeError("the order of a derivative or integral must be positive", place=tracing.user_place())
    return order


def _powers(p: Array, more: int) -> Array:
    """The power that each coefficient belongs to, and `more`."""
    size = p.shape[0]
    if isinstance(size, int):
        return array_like(np.arange(size - 1 + more, -1 + more, -1))
    return op.Sub(size + (more - 1), count_up(size))


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Array:
    """np.vander, each column the one before times `x`."""
    points = asarray(x)
    if points.ndim != 1:
        raise ShapeError("x must be a one-dimensional array or sequence.", place=tracing.user_place())
    count = points.shape[0] if N is None else as_size(N)
    points = cast_to(points, np.promote_types(points.dtype, int))
    column = op.Unsqueeze(points, [1])
    if isinstance(count, Size):
        factors = op.Where(op.Equal(count_up(count), np.int64(0)), np.ones((), points.dtype), column)
        found: Array = cumprod(factors, axis=1)
        return found if increasing else found[:, ::-1]
    columns = [cast_to(op.Expand(np.ones((), np.int8), op.Shape(column)), points.dtype)] if count else []
    while len(columns) < count:
        columns.append(op.Mul(columns[-1], column) if len(columns) > 1 else column)
    if not columns:
        return zeros((points.shape[0], 0), points.dtype)
    return op.Concat(*(columns if increasing else columns[::-1]), axis=1)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Array:
    """The monic polynomial with these zeros, one step for each."""
    roots = coefficients(seq_of_zeros)
    roots = roots if roots.type.is_float else cast_to(roots, np.float64)
    none = np.zeros(1, roots.dtype)
    count = roots.shape[0]
    if not isinstance(count, int):
        return _from_zeros(reaching(roots, 0, 1))  # of none NumPy's answer is a number
    found = array_like(np.ones(1, roots.dtype))
    for i in range(count):
        found = op.Sub(op.Concat(found, none, axis=0), op.Concat(none, found * slab(roots, 0, i, i + 1), axis=0))
    return found


def _from_zeros(roots: Array) -> Array:
    """The monic polynomial with as many zeros as the run knows, its coefficients as long as they get from the start."""
    length = roots.shape[0] + 1
    first = op.Pad(np.ones(1, roots.dtype), [0, roots.shape[0]], types=[Type(roots.dtype, (length,))])

    def step(found: Array, root: Array) -> tuple[list[Array], list[Array]]:
        before = slab(op.Concat(np.zeros(1, roots.dtype), found, axis=0), 0, 0, -1)
        return [op.Sub(found, op.Mul(before, root), types=[found.type])], []

    return scan(step, [first], [roots])[0]


NO_SOLUTION = "SVD did not converge in Linear Least Squares"


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """np.polyfit: the coefficients of least norm, beside columns of length 1, where the points leave some open.

    `rcond` is that of np.linalg.lstsq, by default as many units in the last place as there are points. A run fails
    without points, and with NaN, infinity or a column of zeros in the matrix of the powers. Where a covariance is asked
    for it fails with fewer than `deg + 1` points, and without full rank.
    """
    count = operator.index(deg) + 1
    points, values = _floating(x), _floating(y)
    if points.ndim != 1 or values.ndim not in {1, 2} or not dims.could_be(points.shape[0], values.shape[0]):
        raise ShapeError("expected a vector x, and y of the same length", place=tracing.user_place())
    least = count if cov else 1
    if isinstance(points.shape[0], int) and points.shape[0] < least:
        raise ShapeError(f"np.polyfit needs {least} points, not {points.shape[0]}", place=tracing.user_place())
    points = reaching(points, 0, least)
    values = reshape_to(values, (points.shape[0], *values.shape[1:]))
    matrix, right = vander(points, count), values
    if w is not None:
        weights = reshape_to(_floating(w), points.shape)
        matrix = matrix * op.Unsqueeze(weights, [1])
        right = right * (op.Unsqueeze(weights, [1]) if values.ndim == 2 else weights)
    scale = op.Sqrt(op.ReduceSum(op.Mul(matrix, matrix), [0], keepdims=0))
    matrix = matrix / scale
    is_wrong = op.IsNaN(op.Mul(matrix, np.zeros((), matrix.dtype)))  # or infinite
    matrix = refusing(matrix, is_wrong, np.linalg.LinAlgError(NO_SOLUTION))
    if rcond is None:
        rcond = op.Mul(size_as(points.shape[0], points.dtype), float(float_limits(points).eps))
        scaled, right = matrices(matrix, right)
        found, residuals, rank, singular = solved(scaled, right, rcond, is_rounding=True)
    else:
        found, residuals, rank, singular = lstsq(matrix, right, rcond)
    result = found / (op.Unsqueeze(scale, [1]) if values.ndim == 2 else scale)
    if full:
        return result, residuals, rank, singular, rcond
    if not cov:
        return result
    if cov != "unscaled":  # without full rank there are no residuals to scale by
        matrix = refusing(matrix, op.Less(rank, np.int32(count)), np.linalg.LinAlgError("Singular matrix"))
    return result, _covariance(matrix, scale, residuals, values, cov)


def _covariance(matrix: Array, scale: Array, residuals: Array, values: Array, cov: Any) -> Array:
    """The covariance of the coefficients, scaled by the residuals unless `cov` is "unscaled"."""
    base = FUNCTIONS[np.linalg.inv](op.MatMul(op.Transpose(matrix, perm=[1, 0]), matrix))
    base = base / (op.Unsqueeze(scale, [0]) * op.Unsqueeze(scale, [1]))
    if cov == "unscaled":
        return base if values.ndim == 1 else op.Unsqueeze(base, [2])
    factor = residuals / (matrix.shape[0] - matrix.shape[1])
    return base * factor if values.ndim == 1 else op.Unsqueeze(base, [2]) * factor


def _floating(value: Any) -> Array:
    found = asarray(value)
    return found if found.type.is_float else cast_to(found, np.float64)
