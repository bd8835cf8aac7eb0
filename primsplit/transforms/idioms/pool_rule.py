"""The derivative rule of the maximum of windows that lie side by side.

Equal maxima share the cotangent. In most runs no window has two, which one sum shows; then nothing is counted.
"""

from dataclasses import dataclass

import numpy as np

from primsplit import tracing
from primsplit.numpy.extrema import extremum
from primsplit.ops import op
from primsplit.rules.pooling import repeated
from primsplit.rules.table import Pullback
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.regions import emit_if, record


@dataclass(frozen=True, slots=True)
class PooledMax:
    """The rule of the call of a maximum of windows of this height and width in float32 pictures [N, C, H, W]."""

    kernel: tuple[int, int]

    def call(self, x: Array) -> Array:
        """Record the call, whose derivatives of every order are by this rule."""
        body = record("max_pool", [x.type], lambda pictures: [self.pooled(pictures).value])
        return Array(tracing.emit_call("max_pool", body, [x.value], {"rule": self})[0])

    def pooled(self, x: Array) -> Array:
        """Return the maxima, those of np.max: MaxPool passes over some NaNs, and -inf is the least number to it."""
        y = op.MaxPool(x, kernel_shape=list(self.kernel), strides=list(self.kernel))
        is_nan = op.IsNaN(op.ReduceSum(op.Clip(x, -1.0, 1.0), keepdims=0))
        is_least = op.LessOrEqual(op.ReduceMin(y, keepdims=0), np.finfo(np.float32).min)
        mended = record("mended", [], lambda: [extremum("max", self.parted(x), (3, 5), False).value])
        maxima = record("maxima", [], lambda: [op.Identity(y).value])
        return Array(emit_if(op.Or(is_nan, is_least).value, mended, maxima, [y.type])[0])

    def parted(self, x: Array) -> Array:
        """Return the pictures with two axes for each window."""
        height, width = self.kernel
        *outer, rows, columns = x.shape
        found: Array = reshape_to(x, (*outer, rows // height, height, columns // width, width))
        return found

    def __call__(self, x: Array) -> tuple[Array, Pullback]:
        """Return the maxima and their pullback."""
        y = self.call(x)

        def pullback(dy: Array) -> Array:
            winners = op.Cast(op.Equal(x, repeated(y, self.kernel)), to=x.dtype)
            # A window with a NaN has no winner, any other one or more: as many as windows in each picture is one each.
            numbers = op.ReduceSum(op.Cast(op.Equal(y, y), to=x.dtype), [2, 3], keepdims=0)
            surplus = op.ReduceSum(op.ReduceSum(winners, [2, 3], keepdims=0) - numbers, keepdims=0)
            alone = record("alone", [], lambda: [op.Mul(winners, repeated(dy, self.kernel)).value])
            shared = record("shared", [], lambda: [self.shared(winners, dy).value])
            return Array(emit_if(op.Equal(surplus, 0.0).value, alone, shared, [x.type])[0])

        return y, pullback

    def shared(self, winners: Array, dy: Array) -> Array:
        """Return the share of each winner in the cotangent of its window."""
        parted = self.parted(winners)
        count = op.Max(op.ReduceSum(parted, [3, 5], keepdims=0), 1.0)
        found: Array = op.Mul(winners, repeated(op.Div(dy, count), self.kernel))
        return found
