"""Define the earlier meanings of operators of the standard, by those of today.

```
Softmax(x: [2,3,4])   of opset 12   ->   Reshape(Softmax(Flatten(x, axis=1), axis=-1), [2,3,4])
```

The loader moves a node of a version below the one in `CHANGED` into the domain `primsplit.earlier.VERSION`, since a
model and its functions may be of several versions. onnx's own converter does not know these meanings, or converts them
wrongly.
"""

from typing import Any

import numpy as np
import onnx

from primsplit.ir import Type
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, ones_like, reshape_to, zeros_like
from primsplit.tracing.operators import cast_to

EARLIER = "primsplit.earlier"

MOST = float(np.finfo(np.float32).max)
"""The default bound of a Clip."""

PAIRS = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
"""Operators that had attributes for broadcasting. No trait: these are facts of earlier opsets."""
CELLS = sorted(kinds_where(lambda t: t.gates))

CHANGED = {
    **dict.fromkeys((*PAIRS, *CELLS, "Gemm", "PRelu"), 7),
    "BatchNormalization": 14,
    "Cast": 6,
    "Clip": 11,
    "Dropout": 12,
    "GroupNormalization": 21,
    **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), 13),
    "Pad": 11,
    "Resize": 11,
    "Scan": 9,
    "Upsample": 10,
}
"""The version from which on an operator has its meaning of today, or no longer exists.

No trait: these are facts of earlier opsets, whose meanings this module defines.
"""


def _define_pair(kind: str) -> None:
    @defines(f"{EARLIER}::{kind}")
    def pair(
        a: Array, b: Array, *, outputs: int = 1, axis: int | None = None, broadcast: int = 0, consumed_inputs: Any = ()
    ) -> Array:
        """The operator of two arrays, the axes of `b` laid along those of `a` from `axis` on, else along the last."""
        if axis is not None and broadcast:
            behind = a.ndim - axis_of(axis, a.ndim, kind) - b.ndim
            if behind < 0:
                raise ShapeError(f"{kind} lays {b.type} along {a.type} from axis {axis} on, which has too few axes")
            b = reshape_to(b, (*b.shape, *(1,) * behind)) if behind else b
        made: Array = getattr(op, kind)(a, b)
        return made


def _define_cell(kind: str) -> None:
    @defines(f"{EARLIER}::{kind}")
    def cell(*inputs: Array | None, outputs: int = 1, output_sequence: int = 0, **attributes: Any) -> Any:
        """The layer; the names of its outputs in later versions determine which ones exist."""
        return getattr(op, kind)(*inputs, outputs=outputs, **attributes)


for _kind in PAIRS:
    _define_pair(_kind)
for _kind in CELLS:
    _define_cell(_kind)


@defines(f"{EARLIER}::PRelu")
def prelu(x: Array, slope: Array, *, outputs: int = 1, consumed_inputs: Any = ()) -> Array:
    """Return `x` where positive, else `slope x`: one slope, or one per channel, which is axis 1."""
    if slope.ndim == 1 and x.ndim > 2:
        slope = reshape_to(slope, (slope.shape[0], *(1,) * (x.ndim - 2)))
    return op.PRelu(x, slope)


@defines(f"{EARLIER}::Gemm")
def gemm(a: Array, b: Array, c: Array, *, outputs: int = 1, broadcast: int = 0, **attributes: Any) -> Array:
    """`alpha a @ b + beta c`."""
    return op.Gemm(a, b, c, **attributes)


@defines(f"{EARLIER}::Cast")
def cast(x: Array, *, to: str, outputs: int = 1) -> Array:
    """Convert to a dtype that is given by its name."""
    return op.Cast(x, to=onnx.TensorProto.DataType.Value(to.upper()))


@defines(f"{EARLIER}::Clip")
def clip(x: Array, *, outputs: int = 1, min: float = -MOST, max: float = MOST, consumed_inputs: Any = ()) -> Array:
    """Clip to bounds that are attributes, and so the same for every dtype."""
    with np.errstate(over="ignore"):
        bounds = np.array([min, max]).astype(x.dtype)
    return op.Clip(x, *bounds)


@defines(f"{EARLIER}::Pad")
def pad(x: Array, *, paddings: Any, outputs: int = 1, mode: str = "constant", value: float = 0.0) -> Array:
    """Pad by attributes, for every dtype."""
    return op.Pad(x, list(paddings), np.asarray(value, x.dtype), mode=mode)


@defines(f"{EARLIER}::Pad", since=2)
def pad_by_pads(x: Array, *, pads: Any, outputs: int = 1, mode: str = "constant", value: float = 0.0) -> Array:
    """Pad by the attribute `pads`."""
    return op.Pad(x, list(pads), np.asarray(value, x.dtype), mode=mode)


@defines(f"{EARLIER}::Dropout")
def dropout(
    x: Array, *, outputs: int = 1, is_test: int = 0, ratio: float = 0.5, consumed_inputs: Any = ()
) -> tuple[Array, Array]:
    """Set some elements to 0 and scale the others up, unless `is_test`; and return the mask, in the dtype of `x`."""
    if is_test:
        return op.Identity(x), ones_like(x)
    y, mask = op.Dropout(x, np.float32(ratio), np.array(True), outputs=2)
    return y, cast_to(mask, x.dtype)


@defines(f"{EARLIER}::Dropout", since=7)
def dropout_of_inference(x: Array, *, outputs: int = 1, ratio: float = 0.5) -> tuple[Array, Array]:
    """Return the input: since this version a model drops nothing.

    The standard leaves the mask open; onnxruntime's is 0.
    """
    return op.Identity(x), zeros_like(x)


@defines(f"{EARLIER}::Dropout", since=10)
def dropout_with_bools(x: Array, *, outputs: int = 1, ratio: float = 0.5) -> tuple[Array, Array]:
    """Return the input, and a mask of bools that are all False."""
    return op.Identity(x), op.Cast(zeros_like(x), to=np.bool_)


@defines(f"{EARLIER}::BatchNormalization")
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    outputs: int = 1,
    is_test: int = 0,
    spatial: int = 1,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    consumed_inputs: Any = (),
) -> tuple[Array, ...]:
    """Normalize by the batch's own mean and variance, unless `is_test`; `spatial` as in `_normalized`."""
    given = (x, scale, bias, mean, variance)
    return _normalized(given, not is_test, spatial, epsilon, momentum)


@defines(f"{EARLIER}::BatchNormalization", since=7)
def batch_normalization_by_outputs(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    outputs: int = 1,
    spatial: int = 1,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
) -> tuple[Array, ...]:
    """Normalize by the batch's own mean and variance if more than the first output is requested."""
    given = (x, scale, bias, mean, variance)
    return _normalized(given, outputs > 1, spatial, epsilon, momentum)


def _normalized(
    given: tuple[Array, ...], is_training: bool, spatial: int, epsilon: float, momentum: float
) -> tuple[Array, ...]:
    """Return `(x - mean) / sqrt(variance + epsilon) * scale + bias`, by channel, or by element if not `spatial`.

    Five outputs in training: the result, both running statistics, and the batch's own mean and variance.
    """
    x, scale, bias, mean, variance = given
    if spatial and not is_training:
        return (op.BatchNormalization(*given, epsilon=epsilon),)
    if not spatial:
        if is_training:
            raise UnsupportedFunction("BatchNormalization has no training mode with spatial=0")
        return (op.Add(op.Mul(op.Div(op.Sub(x, mean), op.Sqrt(variance + epsilon)), scale), bias),)
    made = op.BatchNormalization(*given, epsilon=epsilon, momentum=momentum, training_mode=1, outputs=3)
    axes = [i for i in range(x.ndim) if i != 1]
    own = op.ReduceMean(x, axes, keepdims=1)
    off = op.Sub(x, own)
    spread = op.ReduceMean(op.Mul(off, off), axes, keepdims=0)
    return (*made, reshape_to(own, (x.shape[1],)), spread)


@defines(f"{EARLIER}::GroupNormalization")
def group_normalization(
    x: Array, scale: Array, bias: Array, *, num_groups: int, outputs: int = 1, epsilon: float = 1e-5
) -> Array:
    """Normalize over each group of channels, with one scale and one bias a group."""
    each = x.shape[1] // num_groups

    def by_channel(values: Array) -> Array:
        column = op.Unsqueeze(values, [1], types=[Type(values.dtype, (num_groups, 1))])
        return reshape_to(expand_to(column, (num_groups, each)), (x.shape[1],))

    told = onnx.TensorProto.DOUBLE if x.dtype == np.float64 else onnx.TensorProto.FLOAT
    channels = by_channel(scale), by_channel(bias)
    return op.GroupNormalization(x, *channels, num_groups=num_groups, epsilon=epsilon, stash_type=told)


def _define_over_all_axes(kind: str) -> None:
    @defines(f"{EARLIER}::{kind}")
    def over_all_axes(x: Array, *, outputs: int = 1, axis: int = 1) -> Array:
        """The operator over all elements of the axes from `axis` on, as one row."""
        made: Array
        if axis_of(axis, max(x.ndim, 1), kind) == x.ndim - 1:
            made = getattr(op, kind)(x, axis=-1)
            return made
        made = getattr(op, kind)(op.Flatten(x, axis=axis), axis=-1)
        return reshape_to(made, x.shape)


for _kind in ("Hardmax", "LogSoftmax", "Softmax"):
    _define_over_all_axes(_kind)


@defines(f"{EARLIER}::Upsample")
def upsample(x: Array, *, height_scale: float, width_scale: float, outputs: int = 1, mode: str = "nearest") -> Array:
    """Enlarge images [batch, channels, height, width]."""
    return _resized(x, np.array([1, 1, height_scale, width_scale], np.float32), mode)


@defines(f"{EARLIER}::Upsample", since=7)
def upsample_by_attribute(x: Array, *, scales: Any, outputs: int = 1, mode: str = "nearest") -> Array:
    """Enlarge an array, by one factor per axis."""
    return _resized(x, np.array(scales, np.float32), mode)


@defines(f"{EARLIER}::Resize", sizing=(1,))
@defines(f"{EARLIER}::Upsample", since=9, sizing=(1,))
def upsample_by_input(x: Array, scales: Array, *, outputs: int = 1, mode: str = "nearest") -> Array:
    """Enlarge or shrink an array, by factors that may be computed."""
    return _resized(x, scales, mode)


def _resized(x: Array, scales: Any, mode: str) -> Array:
    """Resize: element i of the result is at i / scale of the input.

    The nearest is above if the axis shrinks, else below.

    That is how the test cases of opset 10 have it.
    """
    if x.ndim == 0:
        return op.Identity(x)
    kind = "linear" if mode == "bilinear" else mode
    known = scales.known() if isinstance(scales, Array) else scales
    if kind == "nearest" and (known is None or (known < 1).any()):
        x = _resized_by(x, op.Min(scales, np.float32(1)) if known is None else np.minimum(known, 1), kind, "ceil")
        scales = op.Max(scales, np.float32(1)) if known is None else np.maximum(known, 1)
    return _resized_by(x, scales, kind, "floor")


def _resized_by(x: Array, scales: Any, mode: str, nearest: str) -> Array:
    return op.Resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode=nearest)
