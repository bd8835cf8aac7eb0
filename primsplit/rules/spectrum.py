"""Derivative rules of Fourier transforms. Complex numbers are pairs of reals on the last axis.

A transform F is a symmetric matrix, so its transpose on pairs of reals is conj F conj. Only forward transforms are
written: onnxruntime's inverse ones round 1 / length to float32. The axis may be known only at run time.

```
z = DFT(x)   ->   dx = conj(DFT(conj(dz)))
```
"""

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import MissingRule
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.rules.indexing import scatter_along
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar, size_scalar, zeros


@rrule("DFT")
def dft(
    x: Array, length: Array | None = None, axis: Array | None = None, *, inverse: int, onesided: int
) -> tuple[Array, Pullback]:
    """The transform of the cotangent, conjugated twice or divided by the length; elements that were cut off get zero.

    Raises MissingRule for the inverse of a one-sided spectrum to a given length along an axis that only the run knows.
    """
    z = op.DFT(x, length, axis, inverse=inverse, onesided=onesided)
    place = _place(axis, len(x.shape))
    if inverse and onesided and length is not None and place is None:
        raise MissingRule(
            "DFT of a one-sided spectrum to a given length has no derivative rule along an axis known only at run time",
            cure="Give the axis as a constant, or leave the length out; or write ps.stop_gradient(x).",
        )
    count = max((i for i, value in enumerate((length, axis), 1) if value is not None), default=0)

    def pullback(dz: Array) -> list[Array | None]:
        along = _along(axis, len(x.shape) - 2 if place is None else place, is_known=place is not None)
        size = _size_along(x, axis, place)
        given = None if length is None else op.Cast(op.Reshape(length, np.zeros(0, np.int64)), to=np.int64)
        if inverse and onesided:
            whole = op.Mul(op.Sub(size, 1), 2) if given is None else given
            found = _from_real(dz, whole, along, len(x.shape) if place is None else place)
            if place is not None:
                found = _fitted(found, place, x.shape[place])
            return [op.Identity(found, types=[x.type]), *[None] * count]
        total = size if given is None else given
        found = op.DFT(dz if inverse else _conjugate(dz), total, along)
        found = op.Div(found, op.Cast(total, to=dz.dtype)) if inverse else _conjugate(found)
        found = _fitted(found, place, x.shape[place]) if place is not None else _fitted_along(found, along, size, x)
        return [_parts(found, x.shape[-1]), *[None] * count]

    return z, pullback


def _parts(x: Array, size: Dim) -> Array:
    """Return the real parts alone if `size` is 1."""
    if dims.same(size, 2):
        return x
    return op.Slice(x, [0], tracing.size_vector([size]), [-1], types=[Type(x.dtype, (*x.shape[:-1], size))])


def _conjugate(x: Array) -> Array:
    return op.Mul(x, np.array([1, -1], x.dtype))


def _place(axis: Array | None, rank: int) -> int | None:
    """Return the axis counted from the front, None if only the run knows it."""
    if axis is None:
        return rank - 2
    known = axis.known()
    return None if known is None else int(known.reshape(())) % rank


def _along(axis: Array | None, place: int, *, is_known: bool) -> Array:
    """Return the axis as an int64 scalar."""
    if is_known or axis is None:
        return Array(tracing.constant(np.int64(place)))
    return axis


def _size_along(x: Array, axis: Array | None, place: int | None) -> Array:
    """Return the size of the axis, an int64 scalar."""
    if place is not None or axis is None:
        return size_scalar(x.shape[len(x.shape) - 2 if place is None else place])
    return op.Gather(op.Shape(x), op.Reshape(axis, np.zeros(0, np.int64)))


def _fitted(x: Array, axis: int, size: Dim) -> Array:
    """Return the first `size` elements along an axis, padded with zeros."""
    if dims.same(x.shape[axis], size):
        return x
    longer = op.Concat(x, zeros([*x.shape[:axis], size, *x.shape[axis + 1 :]], x.dtype), axis=axis)
    return op.Slice(longer, [0], tracing.size_vector([size]), [axis])


def _fitted_along(found: Array, axis: Array, size: Array, x: Array) -> Array:
    """Return the first `size` elements along an axis that only the run knows, padded with zeros.

    Apart from its last axis, of two parts, the result has the shape of `x`.
    """
    where, end = op.Reshape(axis, [1]), op.Reshape(size, [1])
    rank = len(x.shape)
    longer = op.Pad(found, op.Concat(np.zeros(1, np.int64), end, axis=0), None, where, types=[_unknown(found, rank)])
    return op.Slice(longer, [0], end, where, types=[Type(found.dtype, (*x.shape[:-1], 2))])


def _unknown(x: Array, rank: int) -> Type:
    return Type(x.dtype, tuple(fresh("padded") for _ in range(rank)))


def _from_real(dz: Array, total: Array, axis: Array, place: int) -> Array:
    """Return the transpose of the inverse, `total` numbers long, of a one-sided spectrum.

    Each number stands for two, itself and its conjugate, but the first and, if the total is even, the last. A `place`
    that equals the rank means that only the run knows the axis.
    """
    rank = len(dz.shape)
    spectrum = op.DFT(dz, None, axis, onesided=1)
    count = op.Range(0, op.Add(op.Div(total, 2), 1), 1)
    is_alone = op.Or(op.Equal(count, 0), op.Equal(op.Mul(count, 2), total))
    weight = op.Div(op.Where(is_alone, np.ones((), dz.dtype), np.full((), 2, dz.dtype)), op.Cast(total, to=dz.dtype))
    if place < rank:
        weight = op.Identity(weight, types=[Type(dz.dtype, (spectrum.shape[place],))])
        return op.Mul(spectrum, op.Unsqueeze(weight, list(range(1, rank - place))))
    at = op.Mod(op.Reshape(axis, [1]), rank)
    shape = op.Where(op.Equal(np.arange(rank), at), -1, np.ones(rank, np.int64))
    return op.Mul(spectrum, op.Reshape(weight, shape, types=[_unknown(weight, rank)]))


@rrule("STFT")
def stft(
    signal: Array, step: Array, window: Array | None = None, length: Array | None = None, *, onesided: int
) -> tuple[Array, Pullback]:
    """Frames of the signal times the window, each transformed: frames add up their cotangents where they overlap."""
    z = op.STFT(signal, step, window, length, onesided=onesided)
    frames: Dim = z.shape[1]

    def pullback(dz: Array) -> list[Array | None]:
        total, size = _frame(window, length)
        starts = op.Mul(op.Range(0, size_scalar(frames), 1), int_scalar(step))
        places = op.Add(op.Unsqueeze(starts, [1]), op.Unsqueeze(op.Range(0, total, 1), [0]))
        places = op.Identity(places, types=[Type(np.int64, (frames, size))])
        whole = _conjugate(op.DFT(_conjugate(dz), total, np.int64(2)))
        shape = (signal.shape[0], frames, size, signal.shape[2])
        read = _parts(op.Identity(whole, types=[Type(dz.dtype, (*shape[:3], 2))]), shape[3])
        factor = None if window is None else op.Unsqueeze(window, [0, 1, 3])
        each = read if factor is None else op.Mul(read, factor, types=[Type(dz.dtype, shape)])
        found: list[Array | None] = [scatter_along(each, signal.shape, places, 1), None]
        if window is not None:
            taken = op.Gather(signal, places, axis=1)
            found.append(op.ReduceSum(op.Mul(taken, read), [0, 1, 3], keepdims=0, types=[window.type]))
        return [*found, *([None] * ((length is not None) + (length is not None and window is None)))]

    return z, pullback


def _frame(window: Array | None, length: Array | None) -> tuple[Array, Dim]:
    """Return the length of a frame as an int64 scalar, and as a size."""
    if window is not None:
        return size_scalar(window.shape[0]), window.shape[0]
    if length is None:
        raise MissingRule("STFT has a derivative only with a window or a frame length")
    known = length.known()
    size: Dim = fresh("frame") if known is None else int(known.reshape(()))
    return int_scalar(length), size
