"""Define DFT and STFT of loaded models, exact for every length: onnxruntime's own transforms are for powers of two.

Those round the angles of a chirp in the array's own precision: an error of 1e-4 of the largest for 1,000 numbers of
float32. They are used if only the run knows the axis or the length.
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, floor_divide
from primsplit.numpy.axes import slab_of
from primsplit.numpy.fourier.functions import fft, ifft, irfft, rfft
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar
from primsplit.tracing.complex_array import ComplexArray

EXACT = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


@defines("DFT", since=17)
def dft(
    x: Array,
    length: Array | None = None,
    axis: Array | None = None,
    *,
    outputs: int = 1,
    inverse: int = 0,
    onesided: int = 0,
) -> Array:
    """Return the discrete Fourier transform along an axis of numbers or pairs of them, which lie on the last axis."""
    told = _told(x, length, axis, is_half=bool(inverse and onesided))
    if told is None:
        return op.DFT(x, length, axis, inverse=inverse, onesided=onesided)
    place, count = told
    return _transformed(x, count, place, is_inverse=bool(inverse), is_half=bool(onesided))


def transform(x: Array, axis: int, *, inverse: int = 0, onesided: int = 0) -> Array:
    """Return `dft` along a known axis, of all of its numbers."""
    found: Array = dft(x, None, Array(tracing.constant(np.int64(axis))), inverse=inverse, onesided=onesided)
    return found


def _told(x: Array, length: Array | None, axis: Array | None, *, is_half: bool) -> tuple[int, Dim] | None:
    """Return the axis, counted from the front, and the length.

    None if only the run knows them, or the dtype has no form.
    """
    known = np.int64(-2) if axis is None else axis.known()
    sizes = None if length is None else length.value.sizes
    if known is None or x.dtype not in EXACT or not isinstance(x.shape[-1], int) or (length is not None and not sizes):
        return None
    place = axis_of(int(known), x.ndim, "DFT")
    size = x.shape[place]
    return place, sizes[0] if sizes else 2 * (size - 1) if is_half else size


def _transformed(x: Array, count: Dim, place: int, *, is_inverse: bool, is_half: bool) -> Array:
    """Return the transform of `count` numbers along an axis, or its inverse; `is_half` is for half of the spectrum."""
    parts = [op.Gather(x, k, axis=-1) for k in range(int(x.shape[-1]))]
    z: Any = ComplexArray(*parts) if len(parts) > 1 else parts[0]
    if is_inverse and is_half:
        return op.Unsqueeze(irfft(z, count, place), [-1])
    way = ifft if is_inverse else rfft if is_half and len(parts) == 1 else fft
    made = op.Concat(*(op.Unsqueeze(part, [-1]) for part in way(z, count, place).parts), axis=-1)
    return slab_of(made, place, floor_divide(count, 2) + 1) if is_half and len(parts) > 1 else made


@defines("STFT", since=17)
def stft(
    signal: Array,
    step: Array,
    window: Array | None = None,
    length: Array | None = None,
    *,
    outputs: int = 1,
    onesided: int = 1,
) -> Array:
    """Return the transform of each frame of a signal [batch, length, 1 or 2], as [batch, frames, frequencies, 2]."""
    told = None if length is None else length.value.sizes
    size = window.shape[0] if window is not None else told[0] if told else None
    if not isinstance(size, int) or signal.dtype not in EXACT or not isinstance(signal.shape[-1], int):
        return op.STFT(signal, step, window, length, onesided=onesided)
    last = op.Sub(op.Squeeze(op.Shape(signal, start=1, end=2), [0]), size)
    starts = op.Range(0, op.Add(last, 1), int_scalar(step), types=[Type(np.int64, (fresh("frames"),))])
    read = op.Gather(signal, op.Add(op.Unsqueeze(starts, [1]), np.arange(size)), axis=1)
    weighted = read if window is None else op.Mul(read, op.Unsqueeze(window, [1]))
    return _transformed(weighted, size, 2, is_inverse=False, is_half=bool(onesided))
