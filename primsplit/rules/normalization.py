"""Derivative rules of normalizations by mean and variance.

With `n = (x - mean) r`, `r = 1 / sqrt(variance + epsilon)` and `g` the cotangent of `n`, the cotangent of `x` is `r (g
- mean(g) - n mean(g n))` (Ioffe and Szegedy 2015, section 3; Ba, Kiros and Hinton 2016). Statistics of 16-bit inputs
are computed in float32, as PyTorch does.

The statistics of BatchNormalization's running outputs divide by the number of elements, as in the standard; PyTorch's
running variance divides by one less.
"""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, at_least, floor_divide, product, same_shape
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.ops import op
from primsplit.rewrites.decompositions.normalization import batch_statistics
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to, sum_to


def inner_dtype(x: Array) -> np.dtype[Any]:
    """Return the dtype in which statistics are computed: float32 at least."""
    return np.dtype(np.float64 if x.dtype == np.float64 else np.float32)


def as_dtype(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return `x` in this dtype, by a Cast if needed."""
    return x if x.dtype == dtype else op.Cast(x, to=dtype)


@dataclass(frozen=True, slots=True)
class Standardized:
    """Deviations from the mean over some axes, divided by the standard deviation, whose reciprocal is `scale`."""

    value: Array
    scale: Array
    axes: Sequence[int]

    def mean(self, x: Array) -> Array:
        """Return the mean over the axes, kept as ones."""
        return mean_over(x, self.axes)

    def pulled(self, dn: Array) -> Array:
        """Return the cotangent of the input, from that of `value`."""
        centred = dn - self.mean(dn)
        return self.scale * (centred - self.value * self.mean(dn * self.value))


def mean_over(x: Array, axes: Sequence[int]) -> Array:
    """Return the mean over these axes, which are kept as ones; without axes, the array."""
    return op.ReduceMean(x, list(axes), keepdims=1) if axes else x


def standardize(x: Array, axes: Sequence[int], epsilon: float) -> Standardized:
    """Return the deviations and the reciprocal standard deviation, in the dtype of `x`."""
    centred = x - mean_over(x, axes)
    scale = op.Reciprocal(op.Sqrt(mean_over(centred * centred, axes) + epsilon))
    return Standardized(centred * scale, scale, axes)


def by_channel(x: Array, rank: int) -> Array:
    """Reshape a vector over the channels to broadcast along axis 1 of an array of this rank."""
    return op.Unsqueeze(x, list(range(1, rank - 1))) if rank > 2 else x


def over_channels(x: Array, like: Array) -> Array:
    """Return the sum over all axes but the channels', in the shape of a vector over the channels."""
    axes = [i for i in range(len(x.shape)) if i != 1]
    total: Array = op.ReduceSum(x, axes, keepdims=0, types=[Type(x.dtype, like.shape)])
    return total


def _scaled(dy: Array, scale: Array, like: Array) -> Array:
    return op.Mul(dy, scale, types=[Type(dy.dtype, like.shape)])


def _with_channels(kind: str, x: Array) -> int:
    """Return the rank. Raises ShapeError if there is no axis of channels."""
    if len(x.shape) < 2:
        raise ShapeError(f"the gradient of {kind} needs an input with an axis of channels", place=tracing.user_place())
    return len(x.shape)


@rrule("BatchNormalization")
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> tuple[Any, Pullback]:
    """By the running statistics, or in training mode by those of the batch, through which the gradient flows too."""
    _with_channels("BatchNormalization", x)
    if training_mode:
        return _batch_in_training(x, scale, bias, mean, variance, epsilon, momentum)
    return _batch_in_inference(x, scale, bias, mean, variance, epsilon)


def _batch_in_inference(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float
) -> tuple[Any, Pullback]:
    """An affine function of x by channel; the mean and the variance have cotangents too."""
    rank, inner = len(x.shape), inner_dtype(x)
    y = op.BatchNormalization(x, scale, bias, mean, variance, epsilon=epsilon)

    def pullback(dy: Array) -> list[Array]:
        reciprocal = op.Reciprocal(op.Sqrt(as_dtype(variance, inner) + epsilon))
        slope = as_dtype(scale, inner) * reciprocal
        wide = as_dtype(dy, inner)
        deviation = op.Sub(as_dtype(x, inner), by_channel(as_dtype(mean, inner), rank), types=[wide.type])
        total = over_channels(wide, bias)
        d_scale = op.Mul(over_channels(wide * deviation, scale), reciprocal, types=[Type(inner, scale.shape)])
        d_variance = d_scale * slope * reciprocal * -0.5
        return [
            as_dtype(_scaled(wide, by_channel(slope, rank), x), x.dtype),
            as_dtype(d_scale, scale.dtype),
            as_dtype(total, bias.dtype),
            as_dtype(sum_to(-(total * slope), mean.shape), mean.dtype),
            as_dtype(sum_to(d_variance, variance.shape), variance.dtype),
        ]

    return y, pullback


def _batch_in_training(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, momentum: float
) -> tuple[Any, Pullback]:
    """With momentum 0 the operator returns the batch's own mean and variance.

    The running ones are computed from them.
    """
    rank, inner = len(x.shape), inner_dtype(x)
    y, batch_mean, batch_variance = batch_statistics(x, scale, bias, mean, variance, epsilon=epsilon)
    running_mean = mean * momentum + batch_mean * (1.0 - momentum)
    running_variance = variance * momentum + batch_variance * (1.0 - momentum)
    count = size_as(product(d for i, d in enumerate(x.shape) if i != 1), inner)

    def pullback(dy: Array | None, d_mean: Array | None = None, d_variance: Array | None = None) -> list[Array | None]:
        centre = by_channel(as_dtype(batch_mean, inner), rank)
        deviation = op.Sub(as_dtype(x, inner), centre, types=[Type(inner, x.shape)])
        parts: list[Array] = []
        cotangents: list[Array | None] = [None, None, None]
        if dy is not None:
            reciprocal = op.Reciprocal(op.Sqrt(as_dtype(batch_variance, inner) + epsilon))
            dx, *cotangents[1:] = _pulled_by_channel(as_dtype(dy, inner), deviation, reciprocal, scale, bias, count)
            parts.append(dx)
        if d_mean is not None:
            share = by_channel(as_dtype(d_mean, inner) * (1.0 - momentum) / count, rank)
            parts.append(op.Expand(share, op.Shape(x), types=[deviation.type]))
        if d_variance is not None:
            share = by_channel(as_dtype(d_variance, inner) * (2.0 * (1.0 - momentum)) / count, rank)
            parts.append(_scaled(deviation, share, x))
        if parts:
            cotangents[0] = as_dtype(functools.reduce(operator.add, parts), x.dtype)
        return [*cotangents, *(None if d is None else d * momentum for d in (d_mean, d_variance))]

    return (y, running_mean, running_variance), pullback


def _pulled_by_channel(
    dy: Array, deviation: Array, reciprocal: Array, scale: Array, bias: Array, count: Array
) -> list[Array]:
    """The cotangents of input, scale and bias from that of the result, for statistics over all but the channels."""
    rank = len(dy.shape)
    value = _scaled(deviation, by_channel(reciprocal, rank), dy)
    total, matched = over_channels(dy, bias), over_channels(dy * value, scale)
    centred = op.Sub(dy, by_channel(total / count, rank), types=[dy.type])
    centred = centred - _scaled(value, by_channel(matched / count, rank), dy)
    dx = _scaled(centred, by_channel(as_dtype(scale, dy.dtype) * reciprocal, rank), dy)
    return [dx, as_dtype(matched, scale.dtype), as_dtype(total, bias.dtype)]


@rrule("InstanceNormalization")
def instance_normalization(x: Array, scale: Array, bias: Array, *, epsilon: float) -> tuple[Array, Pullback]:
    """By the statistics of each channel of each sample, which are recomputed from x."""
    rank, inner = _with_channels("InstanceNormalization", x), inner_dtype(x)
    y = op.InstanceNormalization(x, scale, bias, epsilon=epsilon)

    def pullback(dy: Array) -> list[Array]:
        wide = as_dtype(dy, inner)
        standardized = standardize(as_dtype(x, inner), range(2, rank), epsilon)
        dn = _scaled(wide, by_channel(as_dtype(scale, inner), rank), x)
        return [
            as_dtype(standardized.pulled(dn), x.dtype),
            as_dtype(over_channels(wide * standardized.value, scale), scale.dtype),
            as_dtype(over_channels(wide, bias), bias.dtype),
        ]

    return y, pullback


@rrule("GroupNormalization")
def group_normalization(
    x: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, stash_type: int
) -> tuple[Array, Pullback]:
    """By the statistics of each group of channels of each sample, which are recomputed from x."""
    rank, inner = _with_channels("GroupNormalization", x), inner_dtype(x)
    y = op.GroupNormalization(x, scale, bias, epsilon=epsilon, num_groups=num_groups, stash_type=stash_type)
    apart = [i for i in range(rank) if i != 1]
    rows: tuple[Dim, ...] = (x.shape[0], num_groups, floor_divide(product(x.shape[1:]), num_groups))

    def pullback(dy: Array) -> list[Array]:
        wide = as_dtype(dy, inner)
        standardized = standardize(reshape_to(as_dtype(x, inner), rows), [2], epsilon)
        dn = reshape_to(_scaled(wide, by_channel(as_dtype(scale, inner), rank), x), rows)
        matched, total = (
            op.ReduceSum(a, apart, keepdims=0) for a in (wide * reshape_to(standardized.value, x.shape), wide)
        )
        # onnxruntime takes one scale for all channels too, which only a run of unknown sizes may show.
        return [
            as_dtype(reshape_to(standardized.pulled(dn), x.shape), x.dtype),
            as_dtype(sum_to(matched, scale.shape), scale.dtype),
            as_dtype(sum_to(total, bias.shape), bias.dtype),
        ]

    return y, pullback


@rrule("LayerNormalization")
def layer_normalization(
    x: Array, scale: Array, bias: Array | None = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Any, Pullback]:
    """By the statistics over the axes from `axis` on, which are outputs of the operator: they cost nothing.

    If they are narrower than the input (float64, or a stash in bfloat16), they are recomputed.
    """
    rank, inner = len(x.shape), inner_dtype(x)
    axes = range(axis % rank, rank)
    y, mean, reciprocal = op.LayerNormalization(
        x, scale, bias, axis=axis, epsilon=epsilon, stash_type=stash_type, outputs=3
    )

    def pullback(dy: Array | None, d_mean: Array | None = None, d_scale: Array | None = None) -> list[Array | None]:
        if mean.dtype == inner:
            standardized = Standardized((as_dtype(x, inner) - mean) * reciprocal, reciprocal, axes)
        else:
            standardized = standardize(as_dtype(x, inner), axes, epsilon)
        parts: list[Array] = []
        of_scale_and_bias: list[Array | None] = [None, None]
        if dy is not None:
            wide, weights = as_dtype(dy, inner), as_dtype(scale, inner)
            dx_of_y, sums = pulled_norm(standardized, wide, weights, bias)
            parts.append(dx_of_y)
            of_scale_and_bias = [None if d is None else as_dtype(d, scale.dtype) for d in sums]
        count = size_as(product(x.shape[i] for i in axes), inner)
        if d_mean is not None:
            share = as_dtype(d_mean, inner) / count
            parts.append(op.Expand(share, op.Shape(x), types=[Type(inner, x.shape)]))
        if d_scale is not None:
            parts.append(
                standardized.value * (standardized.scale * standardized.scale * (as_dtype(d_scale, inner) / -count))
            )
        dx = as_dtype(functools.reduce(operator.add, parts), x.dtype)
        return [dx, *of_scale_and_bias[: 1 if bias is None else 2]]

    return (y, mean, reciprocal), pullback


LONG = 16
"""From this many elements on, rows are differentiated by products: in short rows their rounding is visible."""


Pulled = tuple[Array, list[Array | None]]
"""The cotangent of the input, and those of scale and bias."""


def pulled_norm(made: Standardized, dy: Array, scale: Array, bias: Array | None) -> Pulled:
    """Return the cotangents of a norm along the last axes, whose result is `made.value * scale + bias`."""
    pull = _pulled_by_rows if _has_long_rows(made, scale, bias) else _pulled_apart
    return pull(made, dy, scale, bias)


def _has_long_rows(made: Standardized, scale: Array, bias: Array | None) -> bool:
    """Whether products are faster than sums; never in float64."""
    row = made.value.shape[made.axes[0] :]
    is_whole = all(a is None or same_shape(a.shape, row) for a in (scale, bias))
    return is_whole and made.value.dtype == np.float32 and at_least(product(row), LONG)


def _pulled_apart(made: Standardized, dy: Array, scale: Array, bias: Array | None) -> Pulled:
    """Return the cotangents for a scale and bias of any shapes that broadcast to the input's."""
    d_scale = sum_to(dy * made.value, scale.shape)
    return made.pulled(_scaled(dy, scale, dy)), [d_scale, None if bias is None else sum_to(dy, bias.shape)]


def _pulled_by_rows(made: Standardized, dy: Array, scale: Array, bias: Array | None) -> Pulled:
    """Return the cotangents for a scale and bias of one number for each element of a row: sums are products.

    With rows [R, K], mean(g) and mean(g n) of g = dy scale are products of dy and dy n with scale / K.
    """
    width = product(scale.shape)
    rows = (product(dy.shape[: made.axes[0]]), width)
    g, n = reshape_to(dy, rows), reshape_to(made.value, rows)
    matched, weights = g * n, reshape_to(scale, (1, width))
    one, nil = (full((rows[0],), np.asarray(number, dy.dtype)) for number in (1, 0))
    share = weights / size_as(width, dy.dtype)
    mean, slope = (reshape_to(op.Gemm(share, a, transB=1), (rows[0],)) for a in (g, matched))
    line = op.BatchNormalization(op.Unsqueeze(n, [0]), slope, mean, nil, one, epsilon=0.0)
    dx = (g * weights - op.Squeeze(line, [0])) * reshape_to(made.scale, (rows[0], 1))
    sums = [reshape_to(op.MatMul(one, a), scale.shape) for a in (matched, g)]
    return reshape_to(dx, dy.shape), [sums[0], None if bias is None else sums[1]]
