"""Normalizations in float64, written from means over axes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.ops import op
from primsplit.passes.compositions.axes import along, vector


def instance_normalization(x: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over the axes from 2 on, then scaled and shifted by channel."""
    rank = x.ndim
    axes = vector(range(2, rank))
    centred = x - op.ReduceMean(x, axes, keepdims=1)
    variance = op.ReduceMean(centred * centred, axes, keepdims=1)
    return centred / op.Sqrt(variance + epsilon) * along(scale, 1, rank) + along(bias, 1, rank)


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
