"""Derivative rules of normalizations that are no affine function of standardized values: Lp, MeanVariance, LRN.

LpNormalization has the gradient 0 where the norm is 0, as its value there, and sign(0) = 0 for p = 1.
MeanVarianceNormalization has, where the deviation is 0, only the part of the gradient that keeps the deviation fixed.
"""

import functools
import operator
from collections.abc import Sequence

import numpy as np

from primsplit.numpy.quotients import length_quotient, signed
from primsplit.ops import op
from primsplit.rules.normalization import mean_over
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to


@rrule("LpNormalization")
def lp_normalization(x: Array, *, axis: int, p: int) -> tuple[Array, Pullback]:
    """`y = x / n`: `(dy - v sum(dy y)) / n` with v = y for p = 2 and v = sign(x) for p = 1."""
    y = op.LpNormalization(x, axis=axis, p=p)

    def pullback(dy: Array) -> Array:
        norm = op.ReduceSum(op.Abs(x), [axis], keepdims=1) if p == 1 else op.ReduceL2(x, [axis], keepdims=1)
        along = op.ReduceSum(dy * y, [axis], keepdims=1)
        lost = signed(along, x) if p == 1 else op.Mul(y, along, types=[x.type])
        found: Array = length_quotient(dy - lost, expand_to(norm, x.shape))
        return found

    return y, pullback


@rrule("MeanVarianceNormalization")
def mean_variance_normalization(x: Array, *, axes: Sequence[int]) -> tuple[Array, Pullback]:
    """`y = c / (s + 1e-9)` with c the deviations from the mean and s their root mean square."""
    y = op.MeanVarianceNormalization(x, axes=list(axes))

    def pullback(dy: Array) -> Array:
        centred = x - mean_over(x, axes)
        deviation = op.Sqrt(mean_over(centred * centred, axes))
        vanishes = op.Equal(deviation, 0.0)
        divisor = deviation + 1e-9
        along = mean_over(dy * centred, axes) / (divisor * op.Where(vanishes, 1.0, deviation))
        d_centred = (dy - centred * op.Where(vanishes, 0.0, along)) / divisor
        return d_centred - mean_over(d_centred, axes)

    return y, pullback


@rrule("LRN")
def local_response_normalization(
    x: Array, *, size: int, alpha: float, beta: float, bias: float
) -> tuple[Array, Pullback]:
    """`y = x s**-beta` with s the bias plus `alpha / size` times the squares in a window of channels.

    Each element's cotangent sums over the windows that contain it: the window, reversed.
    """
    y = op.LRN(x, size=size, alpha=alpha, beta=beta, bias=bias)
    before, after = (size - 1) // 2, size // 2

    def pullback(dy: Array) -> Array:
        total = window_sum(x * x, before, after) * (alpha / size) + bias
        power = op.Pow(total, -beta)
        reached = window_sum(dy * x * power / total, after, before)
        return dy * power - x * reached * (2.0 * alpha * beta / size)

    return y, pullback


def window_sum(x: Array, before: int, after: int) -> Array:
    """Return the sum over the channels from `before` in front of each to `after` behind it, cut off at the ends."""
    axis = np.array([1], np.int64)
    # Every axis is named: onnxruntime moves a Transpose wrongly past a Pad of some axes.
    rest = [0] * (len(x.shape) - 2)
    padded = op.Pad(x, [0, before, *rest, 0, after, *rest], np.zeros((), x.dtype))
    count = op.Shape(x, start=1, end=2)
    starts = [np.array([tap], np.int64) for tap in range(before + after + 1)]
    parts = (op.Slice(padded, start, op.Add(count, start), axis, types=[x.type]) for start in starts)
    return functools.reduce(operator.add, parts)
