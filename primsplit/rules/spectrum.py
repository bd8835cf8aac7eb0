"""Derivative rules of Fourier transforms. Complex numbers are pairs of reals on the last axis.

A transform F is a symmetric matrix, so its transpose on pairs of reals is conj F conj. Only forward transforms are
written: onnxruntime's inverse ones round 1 / length to float32.
"""

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array
from primsplit.broadcasting import zeros
from primsplit.dims import Dim
from primsplit.errors import MissingRule, PrimsplitError
from primsplit.ir import Type
from primsplit.ops import op
from primsplit.rules.indexing import size_scalar
from primsplit.rules.table import Pullback, rrule


@rrule("DFT")
def dft(
    x: Array, length: Array | None = None, axis: Array | None = None, *, inverse: int, onesided: int
) -> tuple[Array, Pullback]:
    """The transform of the cotangent, conjugated twice or divided by the length; what was cut off gets zero.

    Raises MissingRule for the inverse of a one-sided spectrum to a length other than 2 (n - 1), for which
    onnxruntime gives other numbers than the standard.
    """
    z = op.DFT(x, length, axis, inverse=inverse, onesided=onesided)
    place = _axis(axis, len(x.shape))
    if inverse and onesided and not dims.same(z.shape[place], 2 * (x.shape[place] - 1)):
        raise MissingRule("DFT of a one-sided spectrum to a given length has no derivative rule")
    count = max((i for i, value in enumerate((length, axis), 1) if value is not None), default=0)

    def pullback(dz: Array) -> list[Array | None]:
        if inverse and onesided:
            return [_from_real(dz, x.shape[place], place), *[None] * count]
        total = _length(length, x.shape[place])
        found = op.DFT(dz if inverse else _conjugate(dz), total, np.int64(place))
        found = op.Div(found, op.Cast(total, to=dz.dtype)) if inverse else _conjugate(found)
        found = _fitted(found, place, x.shape[place])
        return [_parts(found, x.shape[-1]), *[None] * count]

    return z, pullback


def _parts(x: Array, size: Dim) -> Array:
    """The real parts alone where `size` is 1."""
    if dims.same(size, 2):
        return x
    return op.Slice(x, [0], tracing.size_vector([size]), [-1], types=[Type(x.dtype, (*x.shape[:-1], size))])


def _conjugate(x: Array) -> Array:
    return op.Mul(x, np.array([1, -1], x.dtype))


def _axis(axis: Array | None, rank: int) -> int:
    if axis is None:
        return rank - 2
    known = axis.known()
    if known is None:
        raise PrimsplitError("the gradient of a DFT needs its axis to be known", cure="Give the axis as a constant.")
    return int(known.reshape(())) % rank


def _length(length: Array | None, size: Dim) -> Array:
    """The length of the transform, an int64 scalar."""
    if length is None:
        return size_scalar(size)
    return op.Cast(op.Reshape(length, np.zeros(0, np.int64)), to=np.int64)


def _fitted(x: Array, axis: int, size: Dim) -> Array:
    """The first `size` elements along an axis, zeros where there are fewer."""
    if dims.same(x.shape[axis], size):
        return x
    longer = op.Concat(x, zeros([*x.shape[:axis], size, *x.shape[axis + 1 :]], x.dtype), axis=axis)
    return op.Slice(longer, [0], tracing.size_vector([size]), [axis])


def _from_real(dz: Array, size: Dim, axis: int) -> Array:
    """The transpose of the inverse of a one-sided spectrum of `size` numbers.

    Each number but the first and the last stands for two: itself and its conjugate.
    """
    spectrum = op.DFT(dz, None, np.int64(axis), onesided=1)
    last = op.Sub(size_scalar(size), 1)
    count = op.Range(0, size_scalar(size), 1)
    is_alone = op.Or(op.Equal(count, 0), op.Equal(count, last))
    weight = op.Div(op.Where(is_alone, 0.5, np.ones((), dz.dtype)), op.Cast(last, to=dz.dtype))
    return op.Mul(spectrum, op.Unsqueeze(weight, list(range(1, len(dz.shape) - axis))))
