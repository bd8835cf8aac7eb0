"""ONNX's operators as NumPy functions of their inputs and attributes, where NumPy has them directly."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.helper

from primsplit.testing.images import IMAGES
from primsplit.testing.normalizations import NORMALIZATIONS
from primsplit.testing.recurrent import SEQUENCES
from primsplit.testing.windows import WINDOWED

AnyArray = npt.NDArray[Any]


def _divide(x: AnyArray, y: AnyArray) -> AnyArray:
    """Integers are truncated towards zero."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    magnitude = np.abs(x) // np.abs(y)
    return (magnitude * np.sign(x) * np.sign(y)).astype(x.dtype)


def _modulo(x: AnyArray, y: AnyArray, *, fmod: int = 0) -> AnyArray:
    return np.fmod(x, y) if fmod else np.mod(x, y)


def _power(x: AnyArray, y: AnyArray) -> AnyArray:
    return np.power(x, y).astype(x.dtype)


def _cast(x: AnyArray, *, to: int, saturate: int = 1) -> AnyArray:
    return x.astype(onnx.helper.tensor_dtype_to_np_dtype(to))


def _sizes(array: AnyArray) -> tuple[int, ...]:
    return tuple(int(n) for n in array.reshape(-1))


def _shape(x: AnyArray, *, start: int = 0, end: int | None = None) -> AnyArray:
    return np.array(x.shape[slice(start, end)], dtype=np.int64)


def _filled(sizes: AnyArray, *, value: AnyArray | None = None) -> AnyArray:
    fill = np.zeros(1, np.float32) if value is None else value
    return np.full(_sizes(sizes), fill.reshape(-1)[0], fill.dtype)


def _expand(x: AnyArray, sizes: AnyArray) -> AnyArray:
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, _sizes(sizes))))


def _reshape(x: AnyArray, sizes: AnyArray, *, allowzero: int = 0) -> AnyArray:
    wanted = [x.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(_sizes(sizes))]
    if -1 in wanted and x.size == 0:
        rest = int(np.prod([n for n in wanted if n != -1]))
        wanted[wanted.index(-1)] = x.size // rest if rest else 0
    return x.reshape(wanted)


def _squeeze(x: AnyArray, axes: AnyArray | None = None) -> AnyArray:
    return np.squeeze(x) if axes is None else np.squeeze(x, axis=_sizes(axes))


def _unsqueeze(x: AnyArray, axes: AnyArray) -> AnyArray:
    return np.expand_dims(x, _sizes(axes))


def _reduction(function: Callable[..., Any]) -> Callable[..., AnyArray]:
    def reduced(
        x: AnyArray, axes: AnyArray | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> AnyArray:
        chosen = () if axes is None else _sizes(axes)
        if not chosen and noop_with_empty_axes:
            return x
        found = np.asarray(function(x, axis=chosen or None, keepdims=bool(keepdims)))
        return found.astype(x.dtype)

    return reduced


def _mean(x: AnyArray, *, axis: tuple[int, ...] | None, keepdims: bool) -> AnyArray:
    """NaN for no elements, without np.mean's warning."""
    total = np.asarray(np.sum(x, axis=axis, keepdims=keepdims))
    return np.asarray(total / (x.size // max(total.size, 1)))


def _gather(x: AnyArray, indices: AnyArray, *, axis: int = 0) -> AnyArray:
    return np.asarray(np.take(x, indices, axis=axis))


def _gather_elements(x: AnyArray, indices: AnyArray, *, axis: int = 0) -> AnyArray:
    """The other axes of the indices may be shorter; onnx.reference refuses that, and misreads a negative axis."""
    along = axis % x.ndim
    cut = tuple(slice(None) if i == along else slice(n) for i, n in enumerate(indices.shape))
    return np.take_along_axis(x[cut], indices, axis=along)


def _one_hot(indices: AnyArray, depth: AnyArray, values: AnyArray, *, axis: int = -1) -> AnyArray:
    """All off where an index is out of range; onnx before 1.23 takes it modulo the depth."""
    size = int(depth.reshape(()))
    places = np.where(indices < 0, indices + size, indices)
    hits = np.moveaxis(places[..., np.newaxis] == np.arange(size), -1, axis)
    return np.asarray(np.where(hits, values[1], values[0]))


def _slice(
    x: AnyArray, starts: AnyArray, ends: AnyArray, axes: AnyArray | None = None, steps: AnyArray | None = None
) -> AnyArray:
    """Starts and ends are clamped as the standard requires: with a negative step, from -1 to the last element."""
    begin, end = _sizes(starts), _sizes(ends)
    chosen = range(len(begin)) if axes is None else _sizes(axes)
    strides = (1,) * len(begin) if steps is None else _sizes(steps)
    for given, limit, axis, step in zip(begin, end, chosen, strides, strict=True):
        size = x.shape[axis]
        first, last = (n + size if n < 0 else n for n in (given, limit))
        if step > 0:
            index = np.arange(min(max(first, 0), size), min(max(last, 0), size), step)
        else:
            index = np.arange(min(max(first, 0), size - 1), min(max(last, -1), size - 1), step)
        x = np.take(x, index, axis=axis)
    return x


def _concat(*arrays: AnyArray, axis: int) -> AnyArray:
    return np.concatenate(arrays, axis)


def _transpose(x: AnyArray, *, perm: Sequence[int] | None = None) -> AnyArray:
    return np.transpose(x, perm)


def _where(condition: AnyArray, x: AnyArray, y: AnyArray) -> AnyArray:
    return np.where(condition, x, y)


def _range(start: AnyArray, limit: AnyArray, delta: AnyArray) -> AnyArray:
    return np.arange(start.reshape(-1)[0], limit.reshape(-1)[0], delta.reshape(-1)[0], dtype=start.dtype)


def _rectified(x: AnyArray) -> AnyArray:
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def _sigmoid(x: AnyArray) -> AnyArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _error_function(x: AnyArray) -> AnyArray:
    """The error function in double precision, which onnx.reference lacks."""
    return np.asarray(_erf(x), x.dtype)


def _gelu(x: AnyArray, *, approximate: str = "none") -> AnyArray:
    wide = x.astype(np.float64)
    if approximate == "tanh":
        inner = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    else:
        inner = _erf(wide / math.sqrt(2))
    return np.asarray(0.5 * wide * (1 + inner), x.dtype)


def _hard_swish(x: AnyArray) -> AnyArray:
    return np.asarray(x * np.clip(x.astype(np.float64) / 6 + 0.5, 0, 1), x.dtype)


def _pad(
    x: AnyArray, pads: AnyArray, fill: AnyArray | None = None, axes: AnyArray | None = None, *, mode: str = "constant"
) -> AnyArray:
    """Negative pads cut before anything is added."""
    chosen = range(x.ndim) if axes is None else [a % x.ndim for a in _sizes(axes)]
    before, after = np.split(np.asarray(pads), 2)
    widths = [(0, 0)] * x.ndim
    for axis, left, right in zip(chosen, before, after, strict=True):
        size = x.shape[axis]
        x = np.take(x, np.arange(max(-left, 0), size - max(-right, 0)), axis=axis)
        widths[axis] = (max(left, 0), max(right, 0))
    if mode != "constant":
        padded: AnyArray = np.pad(x, widths, mode=mode)  # type: ignore[call-overload]
        return padded
    value = 0 if fill is None else fill.reshape(-1)[0]
    return np.pad(x, widths, mode="constant", constant_values=value)


def _sum(*arrays: AnyArray) -> AnyArray:
    total = arrays[0]
    for array in arrays[1:]:
        total = np.add(total, array)
    return total


NUMPY: dict[str, Callable[..., Any]] = {
    "Abs": np.abs, "Acos": np.arccos, "Acosh": np.arccosh, "Add": np.add, "And": np.logical_and, "Asin": np.arcsin,
    "Asinh": np.arcsinh, "Atan": np.arctan, "Atanh": np.arctanh, "Cast": _cast, "Ceil": np.ceil, "Concat": _concat,
    "ConstantOfShape": _filled, "Cos": np.cos, "Cosh": np.cosh, "Div": _divide, "Equal": np.equal,
    "Erf": _error_function, "Exp": np.exp, "Expand": _expand, "Floor": np.floor, "Gather": _gather,
    "GatherElements": _gather_elements, "Gelu": _gelu, "OneHot": _one_hot,
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "HardSwish": _hard_swish, "Identity": np.array,
    "IsNaN": np.isnan, "Less": np.less, "LessOrEqual": np.less_equal, "Log": np.log, "MatMul": np.matmul,
    "Mod": _modulo, "Mul": np.multiply, "Neg": np.negative, "Not": np.logical_not, "Or": np.logical_or, "Pad": _pad,
    "Pow": _power, "Range": _range, "Reciprocal": np.reciprocal, "ReduceMean": _reduction(_mean),
    "ReduceProd": _reduction(np.prod), "ReduceSum": _reduction(np.sum), "Relu": _rectified, "Reshape": _reshape,
    "Round": np.round, "Shape": _shape, "Sigmoid": _sigmoid, "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh,
    "Slice": _slice, "Sqrt": np.sqrt, "Squeeze": _squeeze, "Sub": np.subtract, "Sum": _sum, "Tan": np.tan,
    "Tanh": np.tanh, "Transpose": _transpose, "Unsqueeze": _unsqueeze, "Where": _where, "Xor": np.logical_xor,
    **WINDOWED,
    **IMAGES,
    **NORMALIZATIONS,
    **SEQUENCES,
}  # fmt: skip
"""One function per operator, of its inputs in order (None for an absent one) and its attributes by keyword."""
