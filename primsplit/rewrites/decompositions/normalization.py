"""Decompose normalizations: those in float64 to means over axes, those of groups to those of instances."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import product
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.decompositions.axes import along, vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to
from primsplit.tracing.operators import cast_to


def instance_normalization(x: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over the axes from 2 on, then scaled and shifted by channel."""
    rank = x.ndim
    axes = vector(range(2, rank))
    centred = x - op.ReduceMean(x, axes, keepdims=1)
    variance = op.ReduceMean(centred * centred, axes, keepdims=1)
    return centred / op.Sqrt(variance + epsilon) * along(scale, 1, rank) + along(bias, 1, rank)


def batch_statistics(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, *, epsilon: float
) -> tuple[Array, Array, Array]:
    """Normalize a batch by its own mean and variance, which are the other results.

    They are the running statistics of a momentum of 0. onnxruntime's kernel overwrites the running statistics that it
    reads, so it gets neither an input, nor a constant, nor one value twice, but new vectors.
    """
    axes = [i for i in range(x.ndim) if i != 1]
    first = op.Slice(x, vector([0] * len(axes)), vector([1] * len(axes)), vector(axes))
    scratch = op.ReduceSum(first, vector(axes), keepdims=0, types=[Type(x.dtype, mean.shape)])
    scratch = op.CastLike(scratch, mean) if mean.dtype != x.dtype else scratch
    made: tuple[Array, Array, Array] = op.BatchNormalization(
        x, scale, bias, scratch, op.Neg(scratch), epsilon=epsilon, momentum=0.0, training_mode=1, outputs=3,
        types=[x.type, mean.type, variance.type],
    )  # fmt: skip
    return made


@fault(
    "batch_normalization_overwrites_statistics",
    kind="wrong",
    operators=("BatchNormalization",),
    says="BatchNormalization in training mode writes its running statistics over those that it is given.",
)
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 1,
) -> tuple[Array, Array, Array]:
    """BatchNormalization in training mode: by the batch's statistics; returns new running statistics too."""
    y, of_mean, of_variance = batch_statistics(x, scale, bias, mean, variance, epsilon=epsilon)
    share = 1.0 - momentum
    return y, mean * momentum + of_mean * share, variance * momentum + of_variance * share


@fault(
    "float64_group_normalization_in_float32",
    kind="wrong",
    operators=("GroupNormalization",),
    says="GroupNormalization of float64 is computed in float32.",
)
@fault(
    "group_normalization_by_the_mean_of_squares",
    kind="wrong",
    operators=("GroupNormalization",),
    says="GroupNormalization has the mean of squares less the square of the mean for the variance: NaN far from 0.",
)
@fault(
    "group_normalization_of_no_images",
    kind="refuses",
    operators=("GroupNormalization",),
    says="GroupNormalization of no images is refused when it runs.",
)
def group_normalization(
    x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    """An InstanceNormalization of the groups, then scaled and shifted by channel.

    float64 stays float64, whatever `stash_type` says.
    """
    rows = (x.shape[0], num_groups, product(x.shape[1:]) // num_groups)
    wide = reshape_to(x if x.dtype == np.float64 else op.Cast(x, to=stash_type), rows)
    ones, zeros = (full((num_groups,), np.asarray(number, wide.dtype)) for number in (1, 0))
    of_groups = op.InstanceNormalization if wide.dtype == np.float32 else instance_normalization
    standard = cast_to(reshape_to(of_groups(wide, ones, zeros, epsilon=epsilon), x.shape), x.dtype)
    return standard * along(scale, 1, x.ndim) + along(bias, 1, x.ndim)


def mean_variance_normalization(x: Array, *, axes: Sequence[int] = (0, 2, 3)) -> Array:
    """(x - mean) / (deviation + 1e-9) over some axes, as the standard's function body has it."""
    centred = x - op.ReduceMean(x, vector(axes), keepdims=1)
    variance = op.ReduceMean(centred * centred, vector(axes), keepdims=1)
    return centred / (op.Sqrt(variance) + 1e-9)


def lrn(x: Array, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Array:
    """x / (bias + alpha / size times the sum of squares over a window of channels)**beta; the ends cut windows off."""
    before = (size - 1) // 2
    after = size - 1 - before
    padded = op.Pad(x * x, vector([before, after]), np.zeros((), x.dtype), vector([1]))
    count = op.Shape(x, start=1, end=2)
    taps = [op.Slice(padded, vector([k]), op.Add(count, vector([k])), vector([1])) for k in range(size)]
    total = taps[0]
    for tap in taps[1:]:
        total = total + tap
    return x / op.Pow(total * (alpha / size) + bias, np.asarray(beta, x.dtype))


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "InstanceNormalization": instance_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "LRN": lrn,
}
