"""Rewrite Fourier transforms to forms that every onnxruntime computes; complex numbers are pairs on the last axis.

onnxruntime before 1.31 returns other numbers for the frames of a complex signal, without an error. Before 1.30 it
refuses the inverse of half a spectrum, or returns half of the result; to a length other than that of the spectrum it
still returns other numbers than the standard. Before 1.28 it takes the numbers of a signal without a batch axis for as
many signals.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Const, Op, Type, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar

CONJUGATION = (1.0, -1.0)


def is_odd_transform(step: Op, runtime: Runtime = OLDEST) -> bool:
    """Whether the runtime is wrong at one signal without a batch, or at the inverse of half a spectrum."""
    if _is_alone(step.inputs[0]) and runtime.has("dft_without_batch"):
        return True
    has_length = len(step.inputs) > 1 and step.inputs[1] is not None
    is_wrong = runtime.has("inverse_dft_to_another_length" if has_length else "inverse_dft_of_half_a_spectrum")
    return is_wrong and _is_inverse_of_half(step)


def _is_alone(x: Value | None) -> bool:
    return x is not None and x.type.rank == 2


def _is_inverse_of_half(step: Op) -> bool:
    """Whether it is an inverse to its own length, or to a given one along a known axis."""
    x, length, axis = (*step.inputs, None, None)[:3]
    is_half = step.attributes.get("inverse", 0) == 1 and step.attributes.get("onesided", 0) == 1
    is_known = length is None or axis is None or isinstance(axis, Const)
    return is_half and is_known and x is not None and x.type.shape is not None


def is_complex(signal: Value | None) -> bool:
    """Whether a signal holds complex numbers, or may."""
    return signal is None or signal.type.shape is None or not dims.same(signal.type.shape[-1], 1)


@fault(
    "dft_without_batch",
    kind="wrong",
    operators=("DFT",),
    says="DFT of one signal without a batch axis has a wrong shape.",
    before="1.27",
)
def transform(x: Array, length: Array | None = None, axis: Array | None = None, **attributes: Any) -> Array:
    """Return a transform that `is_odd_transform`; one signal is a batch of one."""
    if not _is_alone(x.value):
        return inverse_of_half(x, length, axis, **attributes)
    return op.Squeeze(op.DFT(op.Unsqueeze(x, [0]), length, np.int64(1), **attributes), [0])


@fault(
    "inverse_dft_of_half_a_spectrum",
    kind="wrong",
    operators=("DFT",),
    says="The inverse DFT of half a spectrum is refused, or gives half of the result.",
    before="1.27",
)
@fault(
    "inverse_dft_to_another_length",
    kind="wrong",
    operators=("DFT",),
    says="The inverse DFT of half a spectrum to another length than the spectrum's is wrong.",
)
def inverse_of_half(
    x: Array, length: Array | None = None, axis: Array | None = None, *, inverse: int = 1, onesided: int = 1
) -> Array:
    """Return the real parts of the inverse of the whole spectrum: the other half is conjugate, in reverse."""
    known = np.int64(-2) if axis is None else axis.known()
    if axis is None or known is not None:
        place = int(np.asarray(known).item()) % x.ndim
        if length is not None:
            return _inverse_to(x, int_scalar(length), place)
        whole, axis = _whole(x, place), Array(tracing.constant(np.int64(place)))
    else:
        whole = _whole_along(x, op.Cast(axis, to=np.int64))
    return op.Slice(op.DFT(whole, None, axis, inverse=inverse), [0], [1], [-1])


def _inverse_to(x: Array, length: Array, place: int) -> Array:
    """Return the inverse of half a spectrum, cut or filled with zeros to this length along an axis.

    It is the transform of the conjugate spectrum: onnxruntime's inverse rounds 1 / length to float32.
    """
    half = op.Reshape(op.Add(op.Div(length, 2), 1), [1])
    pads = [np.zeros(x.ndim + place, np.int64), half, np.zeros(x.ndim - place - 1, np.int64)]
    first = op.Slice(op.Pad(x, op.Concat(*pads, axis=0)), [0], half, [place])
    mirrored = op.Gather(first, op.Range(op.Div(op.Sub(length, 1), 2), 0, -1), axis=place)
    whole = op.Concat(op.Mul(first, np.array(CONJUGATION, x.dtype)), mirrored, axis=place)
    real = op.Slice(op.DFT(whole, None, np.int64(place)), [0], [1], [-1])
    return op.Div(real, op.Cast(length, to=x.dtype))


def _whole(x: Array, place: int) -> Array:
    """Return the whole spectrum along an axis."""
    count = op.Shape(x, start=place, end=place + 1)
    twin = (*x.shape[:place], x.shape[place] - 2, *x.shape[place + 1 :])
    mirrored = op.Slice(
        x, op.Sub(count, 2), np.zeros(1, np.int64), [place], np.array([-1]), types=[Type(x.dtype, twin)]
    )
    return op.Concat(x, op.Mul(mirrored, np.array(CONJUGATION, x.dtype)), axis=place)


def _whole_along(x: Array, axis: Array) -> Array:
    """The whole spectrum along an axis that only the run knows, which Concat cannot take: the sum of padded halves."""
    along = op.Reshape(axis, [1])
    count, zero = op.Gather(op.Shape(x), along, axis=0), np.zeros(1, np.int64)
    mirrored = op.Mul(op.Slice(x, op.Sub(count, 2), zero, along, [-1]), np.array(CONJUGATION, x.dtype))
    before, after = op.Concat(count, zero, axis=0), op.Concat(zero, op.Sub(count, 2), axis=0)
    sizes = [Type(x.dtype, (*(fresh("size") for _ in range(x.ndim - 1)), x.shape[-1]))]
    halves = op.Pad(x, after, None, along, types=sizes), op.Pad(mirrored, before, None, along, types=sizes)
    return op.Add(*halves, types=sizes)


@fault(
    "stft_of_complex_signal",
    kind="wrong",
    operators=("STFT",),
    says="STFT of a complex signal is wrong.",
    before="1.28",
)
def stft(
    signal: Array, step: Array, window: Array | None = None, length: Array | None = None, *, onesided: int = 1
) -> Array:
    """Return the transform of each frame of a signal [batch, length, 1 or 2], as [batch, frames, frequencies, 2]."""
    if not is_complex(signal.value):
        return op.STFT(signal, step, window, length, onesided=onesided)
    span = int_scalar(length) if window is None and length is not None else op.Size(window)
    size: Dim = fresh("frame") if window is None else window.shape[0]
    last = op.Sub(op.Squeeze(op.Shape(signal, start=1, end=2), [0]), span)
    starts = op.Range(0, op.Add(last, 1), int_scalar(step), types=[Type(np.int64, (fresh("frames"),))])
    taps = op.Range(0, span, 1, types=[Type(np.int64, (size,))])
    read = op.Gather(signal, op.Add(op.Unsqueeze(starts, [1]), taps), axis=1)
    weighted = read if window is None else op.Mul(read, op.Unsqueeze(window, [1]))
    return op.DFT(weighted, None, np.int64(2), onesided=onesided)


SPELT: dict[str, Callable[..., Any]] = {"DFT": transform, "STFT": stft}
