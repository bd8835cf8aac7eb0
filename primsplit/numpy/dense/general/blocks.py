"""The eigenvalues of the 1-by-1 and 2-by-2 diagonal blocks of a Schur form, as LAPACK's lanv2 computes them."""

from typing import NamedTuple

import numpy as np

from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.dense.loop import counting
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.ops import op
from primsplit.tracing.array import Array


class Blocks(NamedTuple):
    """Both eigenvalues of [[a, b], [c, d]]: two real ones, or a pair with this imaginary part."""

    first: Array
    second: Array
    imaginary: Array


def eigenvalues_of_blocks(t: Array) -> tuple[Array, Array]:
    """Real and imaginary parts [n] of the eigenvalues of a real Schur form, in the order of the diagonal.

    Those of a pair are each other's conjugate to the bit, the positive imaginary part first.
    """
    here, after = _diagonals(t)
    d_after, above, below = after
    found = _of_block(here, above, below, d_after)
    starts = op.Not(op.Equal(below, 0.0))
    ends = _moved(starts)
    first, second, imaginary = found
    real = op.Where(starts, first, op.Where(ends, _moved(second), here))
    return real, op.Where(starts, imaginary, op.Where(ends, op.Neg(_moved(imaginary)), 0.0))


def _diagonals(t: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """T[k, k], and T[k + 1, k + 1], T[k, k + 1] and T[k + 1, k], 0 beyond the end."""
    numbers = counting(t, 0)
    rows, columns = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])

    def along(offset: int, axis: int) -> Array:
        return op.ReduceSum(op.Where(op.Equal(columns, rows + offset), t, 0.0), [axis], keepdims=0)

    here = along(0, 1)
    return here, (_next(here), along(1, 1), along(-1, 0))


def _next(x: Array) -> Array:
    """x[k + 1], 0 at the end."""
    return op.Slice(op.Pad(x, [0, 1]), [1], [2**62], [0], types=[x.type])


def _moved(x: Array) -> Array:
    """x[k - 1], 0 or False at the start."""
    return op.Slice(op.Pad(x, [1, 0]), [0], [-1], [0], types=[x.type])


def _sign(x: Array) -> Array:
    return op.Where(op.Less(x, 0.0), np.asarray(-1, x.dtype), 1.0)


def _of_block(a: Array, b: Array, c: Array, d: Array) -> Blocks:
    """The eigenvalues of [[a, b], [c, d]], elementwise, c not 0."""
    signs = _sign(b) * _sign(c)
    larger, smaller = op.Max(op.Abs(b), op.Abs(c)), op.Min(op.Abs(b), op.Abs(c)) * signs
    half = (a - d) * 0.5
    scale = op.Max(op.Abs(half), larger)
    scale = op.Where(op.Equal(scale, 0.0), 1.0, scale)
    z = (half / scale) * half + (larger / scale) * smaller
    is_real = z >= 4.0 * float(float_limits(a).eps)
    root = half + op.Sqrt(scale) * op.Sqrt(op.Where(is_real, z, 1.0)) * _sign(half)
    root = op.Where(op.Equal(root, 0.0), 1.0, root)
    real = Blocks(d + root, d - (larger / root) * smaller, op.Mul(a, 0.0))
    chosen = Blocks(*(op.Where(is_real, x, y) for x, y in zip(real, _nearly_equal(a, b, c, d), strict=True)))
    swapped, nothing = op.Equal(b, 0.0), op.Mul(a, 0.0)
    return Blocks(*(op.Where(swapped, x, y) for x, y in zip(Blocks(d, a, nothing), chosen, strict=True)))


def _nearly_equal(a: Array, b: Array, c: Array, d: Array) -> Blocks:
    """A pair, or two real ones that are nearly equal: the block is turned until both diagonal elements are alike."""
    total, gap = b + c, a - d
    length = ELEMENTWISE["hypot"](total, gap)
    none = op.Or(op.Equal(length, 0.0), op.And(op.Equal(gap, 0.0), op.Less(_sign(b) * _sign(c), 0.0)))
    length = op.Where(op.Equal(length, 0.0), 1.0, length)
    cosine = op.Sqrt(0.5 * (1.0 + op.Abs(total) / length))
    sine = op.Neg(0.5 * gap / (length * cosine)) * _sign(total)
    cosine, sine = op.Where(none, 1.0, cosine), op.Where(none, 0.0, sine)
    p, q, r, s = a * cosine + b * sine, b * cosine - a * sine, c * cosine + d * sine, d * cosine - c * sine
    mean = 0.5 * ((p * cosine + r * sine) + (s * cosine - q * sine))
    b, c = q * cosine + s * sine, r * cosine - p * sine
    mean = op.Where(none, a, mean)
    product = op.Sqrt(op.Abs(b)) * op.Sqrt(op.Abs(c))
    is_pair = op.Less(_sign(b) * _sign(c), 0.0)
    away = op.Where(is_pair, 0.0, product * _sign(c))
    return Blocks(mean + away, mean - away, op.Where(is_pair, product, 0.0))
