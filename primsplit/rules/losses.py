"""Derivative rules of the classification losses.

Each element of the target picks one class: its loss is `-w log p` of that class, w the class's weight (1 without
weights); 0 where the target is `ignore_index`. The mean divides by the sum of the weights picked, and is NaN where that
is 0, as in PyTorch; an ignored target has no gradient then either. Class weights have a gradient too; PyTorch computes
none.
"""

from dataclasses import dataclass

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import Dim, product
from primsplit.numpy.axes import size_as
from primsplit.ops import op
from primsplit.rules.halves import computed_wide
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros

CLASSES = np.array([1], np.int64)


@dataclass(frozen=True, slots=True)
class Picked:
    """The logarithm of each target's class: `places` is the class; both have an axis of classes of size 1.

    `counted` is None without an ignored index, `weights` None if every class weighs 1 and none is ignored.
    """

    places: Array
    logarithms: Array
    counted: Array | None
    weights: Array | None
    reduction: str

    @property
    def losses(self) -> Array:
        """The loss of each target, with its axis of classes."""
        losses = op.Neg(self.logarithms)
        if self.weights is not None:
            losses = losses * self.weights
        return losses if self.counted is None else op.Where(self.counted, losses, 0.0)

    def weight(self) -> Array:
        """Return the sum of the weights, which the mean divides by."""
        shape, dtype = self.logarithms.shape, self.logarithms.dtype
        if self.weights is None:
            return size_as(product(shape), dtype)
        return op.ReduceSum(self.weights, keepdims=0)

    def reduced(self) -> Array:
        """Return the operator's loss."""
        if self.reduction == "none":
            return op.Squeeze(self.losses, CLASSES)
        total = op.ReduceSum(self.losses, keepdims=0)
        return total if self.reduction == "sum" else total / self.weight()

    def shares(self, dz: Array) -> Array:
        """Return the cotangent of each target's loss; of size 1 if it is the same for all."""
        if self.reduction == "none":
            return op.Unsqueeze(dz, CLASSES)
        return dz if self.reduction == "sum" else dz / self.weight()

    def pulled(self, shares: Array) -> Array:
        """Return the cotangent of `logarithms`."""
        weighted = op.Neg(shares) if self.weights is None else op.Neg(shares * self.weights)
        if self.counted is not None and self.reduction == "mean":
            weighted = op.Where(self.counted, weighted, 0.0)  # the share of none is infinite
        return op.Expand(weighted, op.Shape(self.logarithms), types=[self.logarithms.type])

    def pulled_to_weight(self, shares: Array, loss: Array, weight: Array) -> Array:
        """The cotangent of the class weights: the effect of each target's weight on the loss, summed by class."""
        change = op.Neg(self.logarithms)
        if self.reduction == "mean":
            change = change - loss
        change = change * shares
        if self.counted is not None:
            change = op.Where(self.counted, change, 0.0)
        flat = op.Reshape(change, [-1])
        places = op.Reshape(self.places, [-1, 1])
        return op.ScatterND(zeros(weight.shape, weight.dtype), places, flat, reduction="add", types=[weight.type])


def pick(logarithms: Array, target: Array, weight: Array | None, *, ignore_index: int | None, reduction: str) -> Picked:
    """Return the targets' logarithms and weights; an ignored target, which may be no class at all, reads class 0."""
    places = op.Unsqueeze(op.Cast(target, to=np.int64) if target.dtype != np.int64 else target, CLASSES)
    counted = None
    if ignore_index is not None:
        counted = op.Not(op.Equal(places, ignore_index))
        places = op.Where(counted, places, 0)
    shape: tuple[Dim, ...] = (logarithms.shape[0], 1, *logarithms.shape[2:])
    picked = op.GatherElements(logarithms, places, axis=1, types=[Type(logarithms.dtype, shape)])
    weights = None
    if weight is not None:
        weights = op.Gather(weight, places, types=[picked.type])
        weights = weights if counted is None else op.Where(counted, weights, 0.0)
    elif counted is not None:
        weights = op.Cast(counted, to=logarithms.dtype, types=[picked.type])
    return Picked(places, picked, counted, weights, reduction)


@rrule("NegativeLogLikelihoodLoss")
@computed_wide
def negative_log_likelihood(
    x: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None = None, reduction: str
) -> tuple[Array, Pullback]:
    """Each target's cotangent goes to the logarithm that it picked."""
    picked = pick(x, target, weight, ignore_index=ignore_index, reduction=reduction)
    loss = picked.reduced()

    def pullback(dz: Array) -> list[Array | None]:
        shares = picked.shares(dz)
        nothing = zeros(x.shape, x.dtype)
        dx = op.ScatterElements(nothing, picked.places, picked.pulled(shares), axis=1, types=[x.type])
        rest = [] if weight is None else [picked.pulled_to_weight(shares, loss, weight)]
        return [dx, None, *rest]

    return loss, pullback


@rrule("SoftmaxCrossEntropyLoss")
@computed_wide
def softmax_cross_entropy(
    scores: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None = None, reduction: str
) -> tuple[tuple[Array, Array], Pullback]:
    """`p c`, less c at the target's class, where c is the cotangent of the target's loss times its weight.

    Log-softmax and one lookup take half the time of the operator. The second output is the logarithms of p.
    """
    logarithms = op.LogSoftmax(scores, axis=1)
    picked = pick(logarithms, target, weight, ignore_index=ignore_index, reduction=reduction)
    loss = picked.reduced()

    def pullback(dz: Array | None, d_logarithms: Array | None = None) -> list[Array | None]:
        probabilities = op.Exp(logarithms)
        dx: Array | None = None
        rest: list[Array | None] = [] if weight is None else [None]
        if dz is not None:
            shares = picked.shares(dz)
            pulled = picked.pulled(shares)
            spread = op.Mul(probabilities, op.Neg(pulled), types=[scores.type])
            dx = op.ScatterElements(spread, picked.places, pulled, axis=1, reduction="add", types=[scores.type])
            rest = [] if weight is None else [picked.pulled_to_weight(shares, loss, weight)]
        if d_logarithms is not None:
            through = d_logarithms - probabilities * op.ReduceSum(d_logarithms, CLASSES, keepdims=1)
            dx = through if dx is None else dx + through
        return [dx, None, *rest]

    return (loss, logarithms), pullback
