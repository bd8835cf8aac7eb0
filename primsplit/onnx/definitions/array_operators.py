"""Define operators of `com.microsoft` on arrays: older spellings of the standard's, distances, inverses, transforms."""

from typing import Any

import numpy as np

from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.linear import inv
from primsplit.onnx.definitions.attention.heads import counted
from primsplit.onnx.definitions.spectra import transform
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array


@defines("com.microsoft::Trilu")
def trilu(x: Array, k: Array | None = None, *, outputs: int = 1, upper: int = 1) -> Any:
    """Return the upper or lower triangle of each matrix."""
    return op.Trilu(x, k, upper=upper)


@defines("com.microsoft::GatherND")
def gather_nd(data: Array, indices: Array, *, outputs: int = 1) -> Any:
    """Gather slices by their indices along the first axes, which may be 32-bit integers here."""
    return op.GatherND(data, op.Cast(indices, to="int64"))


@defines("com.microsoft::ExpandDims")
def expand_dims(x: Array, axis: Array, *, outputs: int = 1) -> Any:
    """Return `x` with an axis of size 1. Raises ShapeError if only the run knows which."""
    sizes = axis.value.sizes
    if sizes is None or len(sizes) != 1 or not isinstance(sizes[0], int):
        raise ShapeError("the axis of ExpandDims is known only at run time")
    return op.Unsqueeze(x, [sizes[0]])


@defines("com.microsoft::Unique")
def unique(x: Array, *, outputs: int = 1) -> tuple[Any, Any, Any]:
    """The distinct elements of a vector in their order, the index of each element among them, and their counts."""
    y, _, inverse, counts = op.Unique(x, sorted=0, outputs=4)
    return y, inverse, counts


@defines("com.microsoft::Range")
def arange(start: Array, limit: Array, delta: Array | None = None, *, outputs: int = 1) -> Any:
    """Return `start, start + delta, ...` below the limit; the numbers may have an axis of one element."""
    step = np.ones((), start.dtype) if delta is None else _scalar(delta)
    return op.Range(_scalar(start), _scalar(limit), step)


def _scalar(x: Array) -> Any:
    return op.Squeeze(x, [0]) if len(x.shape) == 1 else x


@defines("com.microsoft::Pad")
def pad(x: Array, pads: Array, value: Array | None = None, *, outputs: int = 1, mode: str = "constant") -> Any:
    """The standard's Pad, whose `pads` may have an axis more, and `value` one of one element."""
    flat = op.Reshape(pads, [-1]) if len(pads.shape) == 2 else pads
    return op.Pad(x, flat, None if value is None else _scalar(value), mode=mode)


_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@defines("com.microsoft::GridSample")
def grid_sample(
    x: Array,
    grid: Array,
    *,
    outputs: int = 1,
    align_corners: int = 0,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Any:
    """The standard's GridSample, whose modes had other names."""
    return op.GridSample(x, grid, align_corners=align_corners, mode=_MODES.get(mode, mode), padding_mode=padding_mode)


@defines("com.microsoft::Inverse")
def inverse(x: Array, *, outputs: int = 1) -> Any:
    """Return the inverse of each matrix, computed in float32 for float16."""
    return op.CastLike(inv(op.Cast(x, to="float32")), x) if x.dtype == np.float16 else inv(x)


@defines("com.microsoft::CDist")
def distances(a: Array, b: Array, *, outputs: int = 1, metric: str = "sqeuclidean") -> Any:
    """Return the distance of each row of `a` to each row of `b`, or its square.

    That of equal rows has the gradient 0.
    """
    if metric not in {"sqeuclidean", "euclidean"}:
        raise UnsupportedFunction(f"CDist of metric {metric} is not supported")
    difference = op.Sub(op.Unsqueeze(a, [1]), op.Unsqueeze(b, [0]))
    if metric == "euclidean":
        return op.ReduceL2(difference, [-1], keepdims=0)
    return op.ReduceSum(op.Mul(difference, difference), [-1], keepdims=0)


@defines("com.microsoft::UnfoldTensor")
def unfold(x: Array, *, outputs: int = 1, dim: int = -1, size: int, step: int = 1) -> Any:
    """Return windows of `size` elements along an axis, `step` apart, as a last axis."""
    rank = len(x.shape)
    axis = axis_of(dim, rank, "UnfoldTensor")
    length = x.shape[axis]
    count = (length - size) // step + 1
    starts = op.Mul(counted(0, count), np.int64(step))
    indices = op.Add(op.Unsqueeze(starts, [1]), np.arange(size))
    windows = op.Gather(x, indices, axis=axis)
    order = [i for i in range(rank + 1) if i != axis + 1]
    return op.Transpose(windows, perm=[*order, axis + 1])


@defines("com.microsoft::ComplexMul")
def complex_mul(a: Array, b: Array, *, outputs: int = 1) -> Any:
    """Return products of complex numbers, whose parts are the last axis."""
    (x, y), (u, v) = _parts(a), _parts(b)
    return op.Concat(x * u - y * v, x * v + y * u, axis=-1)


@defines("com.microsoft::ComplexMulConj")
def complex_mul_conjugate(a: Array, b: Array, *, outputs: int = 1) -> Any:
    """Return `a` times the conjugate of `b`."""
    (x, y), (u, v) = _parts(a), _parts(b)
    return op.Concat(x * u + y * v, y * u - x * v, axis=-1)


def _parts(x: Array) -> Any:
    return op.Split(x, axis=-1, num_outputs=2, outputs=2)


@defines("com.microsoft::Rfft")
def real_transform(x: Array, *, outputs: int = 1, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Any:
    """Return the Fourier transform of the last axes, the half that determines the other, its parts as a last axis.

    Raises UnsupportedFunction for a normalized or whole one.
    """
    _check_transform(normalized, onesided)
    rank = len(x.shape)
    found = transform(op.Unsqueeze(x, [rank]), rank - 1, onesided=1)
    for axis in range(rank - 2, rank - 1 - signal_ndim, -1):
        found = transform(found, axis)
    return found


@defines("com.microsoft::Irfft")
def inverse_real_transform(
    x: Array, *, outputs: int = 1, normalized: int = 0, onesided: int = 1, signal_ndim: int
) -> Any:
    """Return the signal, of an even length, whose half transform is along the last axes but one."""
    _check_transform(normalized, onesided)
    rank = len(x.shape) - 1
    for axis in range(rank - signal_ndim, rank - 1):
        x = transform(x, axis, inverse=1)
    return op.Squeeze(transform(x, rank - 1, inverse=1, onesided=1), [rank])


def _check_transform(normalized: int, onesided: int) -> None:
    if normalized or not onesided:
        raise UnsupportedFunction("a normalized or whole Fourier transform of com.microsoft is not supported")


@defines("com.microsoft::BiasSoftmax")
def bias_softmax(x: Array, bias: Array, *, outputs: int = 1, axis: int = 1, is_inner_broadcast: int) -> Any:
    """The softmax of `x + bias` over all axes from `axis` on.

    The bias broadcasts from the left where `is_inner_broadcast`, its axes before `axis` being those of `x`.
    """
    rank = len(x.shape)
    first = axis_of(axis, rank, "BiasSoftmax")
    missing = rank - len(bias.shape)
    if missing:
        bias = op.Unsqueeze(bias, list(range(first - missing, first)) if is_inner_broadcast else list(range(missing)))
    total = op.Add(x, bias, types=[x.type])
    if first == rank - 1:
        return op.Softmax(total, axis=-1)
    return op.Reshape(op.Softmax(op.Flatten(total, axis=first), axis=-1), op.Shape(x), types=[x.type])
