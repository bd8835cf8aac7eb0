"""The orthogonal polar factor of a matrix, with a derivative that needs no singular vectors.

Singular vectors have no derivative where singular values are equal; the factor has one. N. J. Higham, Functions of
Matrices (2008), chapter 8. With A = U diag(s) V^T the factor is W = U V^T, and P = W^T A is symmetric. The change of W
is W Y, Y being skew with P Y + Y P = W^T dA - dA^T W, and (I - W W^T) dA P^-1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense.rotations import loud
from primsplit.numpy.dense.singular import reduced_svd
from primsplit.numpy.dense.symmetric import off_diagonal
from primsplit.ops import op
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import size_scalar, swapped
from primsplit.tracing.calls.primitive import primitive, rrule

Pullback = Callable[[Array], tuple[Array | None, ...]]
ROUNDED = 64.0
"""So many units in the last place, times the number of columns, a sum of products is taken to be rounded by."""


def orthogonal_factor(a: Array) -> Array:
    """The factor of the polar decomposition."""
    rows, columns = a.shape[-2:]
    if dims.at_least(rows, columns):
        return _of_high(a)
    if dims.at_least(columns, rows):
        return _of_wide(a)
    high = nested.record("high", [], lambda: [_of_high(a).value])
    wide = nested.record("wide", [], lambda: [_of_wide(a).value])
    is_high = op.GreaterOrEqual(size_scalar(rows), size_scalar(columns))
    return Array(nested.emit_if(is_high.value, high, wide, [a.type])[0])


def _of_high(a: Array) -> Array:
    """Of matrices that are not wider than high."""
    u, s, vh = reduced_svd(a)
    batch, columns = a.shape[:-2], a.shape[-1]
    found: Array = factor_with(
        a,
        op.Identity(u, types=[a.type]),
        op.Identity(s, types=[Type(a.dtype, (*batch, columns))]),
        op.Identity(vh, types=[Type(a.dtype, (*batch, columns, columns))]),
    )
    return found


def _of_wide(a: Array) -> Array:
    return swapped(_of_high(swapped(a)))


@primitive
def factor_with(a: Array, u: Array, s: Array, vh: Array) -> Array:
    """U V^T [..., m, n], with the derivative of A = U diag(s) V^T, m >= n, in which some of s may be negative."""
    return op.MatMul(u, vh)


@rrule(factor_with)
def _factor_with(a: Array, u: Array, s: Array, vh: Array) -> tuple[Array, Pullback]:
    """dA = W Y + (I - W W^T) dW P^-1, with P Y + Y P = W^T dW - dW^T W."""
    w = factor_with(a, u, s, vh)

    def pullback(dw: Array) -> tuple[Array | None, ...]:
        stretch, inner = op.MatMul(swapped(w), a), op.MatMul(swapped(w), dw)
        da = op.MatMul(w, _turning(stretch, inner, s, vh))
        if not dims.same(*a.shape[-2:]):
            rest: Any = op.Sub(dw, op.MatMul(w, inner))
            da = op.Add(da, swapped(np.linalg.solve(stretch, swapped(rest))))  # type: ignore[arg-type]  # an Array here
        return op.Identity(da, types=[a.type]), None, None, None

    return w, pullback


@primitive
def _turning(p: Array, k: Array, s: Array, vh: Array) -> Array:
    """The skew Y with P Y + Y P = K - K^T, for P = V diag(s) V^T.

    Where two of s have the sum 0, as far as its digits tell, there is one only where K - K^T has nothing there: it is 0
    then, and infinite or NaN else.
    """
    apart = op.Sub(k, swapped(k))
    within = off_diagonal(op.MatMul(op.MatMul(vh, apart), swapped(vh)))
    total = op.Add(op.Unsqueeze(s, [-1]), op.Unsqueeze(s, [-2]))
    units = float(float_limits(k).eps) * op.Cast(op.Shape(k, start=-1), to=k.dtype)
    is_none = op.LessOrEqual(op.Abs(total), _largest(total) * units)
    is_quiet = op.LessOrEqual(op.Abs(within), _largest(k) * (units * ROUNDED))
    found = op.Div(within, op.Where(is_none, 1.0, total))
    undefined = loud(op.Where(is_quiet, np.zeros((), k.dtype), within))
    return op.MatMul(op.MatMul(swapped(vh), op.Where(is_none, undefined, found)), vh)


def _largest(x: Array) -> Array:
    return op.ReduceMax(op.Abs(x), [-2, -1], keepdims=1)


@rrule(_turning)
def _turning_rule(p: Array, k: Array, s: Array, vh: Array) -> tuple[Array, Pullback]:
    """dK is the same function of dY; with L a half of that, dP = L Y + Y L."""
    y = _turning(p, k, s, vh)

    def pullback(dy: Array) -> tuple[Array | None, ...]:
        dk = _turning(p, dy, s, vh)
        half = op.Mul(dk, 0.5)
        return op.Add(op.MatMul(half, y), op.MatMul(y, half)), dk, None, None

    return y, pullback
