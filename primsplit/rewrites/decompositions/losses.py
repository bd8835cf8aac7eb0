"""Write losses of classification that are summed or averaged as those of each target, and a reduction of them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array


def is_reduced(kind: str, attributes: Mapping[str, Any]) -> bool:
    """Whether an operator with these attributes is a sum or a mean of losses."""
    return kind in SPELT and attributes.get("reduction", "mean") != "none"


def negative_log_likelihood(
    x: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Array:
    """The loss of each target, reduced. `x` is [N, C, ...], the target [N, ...]."""
    losses = op.NegativeLogLikelihoodLoss(x, target, weight, ignore_index=ignore_index, reduction="none")
    return _reduced(losses, target, weight, ignore_index, reduction)


def softmax_cross_entropy(
    scores: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Array, Array]:
    """The negative log likelihoods of the softmax of the scores, reduced; and the logarithms of the softmax."""
    losses, logarithms = op.SoftmaxCrossEntropyLoss(
        scores, target, weight, ignore_index=ignore_index, reduction="none", outputs=2
    )
    return _reduced(losses, target, weight, ignore_index, reduction), logarithms


def _reduced(losses: Array, target: Array, weight: Array | None, ignored: int | None, reduction: str) -> Array:
    """Return the sum, or the mean by the weights of the targets that are not ignored."""
    total = op.ReduceSum(losses, keepdims=0)
    if reduction == "sum":
        return total
    if weight is None and ignored is None:
        return op.ReduceMean(losses, keepdims=0)
    counted = None if ignored is None else op.Not(op.Equal(target, np.asarray(ignored, target.dtype)))
    if weight is None:
        return total / op.ReduceSum(op.CastLike(counted, losses), keepdims=0)
    places = target if counted is None else op.Where(counted, target, np.zeros((), target.dtype))
    weights = op.Gather(weight, places)
    weights = weights if counted is None else op.Where(counted, weights, np.zeros((), weights.dtype))
    return total / op.ReduceSum(weights, keepdims=0)


SPELT: dict[str, Callable[..., Any]] = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
