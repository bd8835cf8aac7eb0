"""Infer the result types of normalizations and of losses for classification."""

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from primsplit.ir import BFLOAT16, Type
from primsplit.ir.dims import Dim
from primsplit.ops.inference.table import Site, axis_of, rule, typed


@rule("GroupNormalization", "InstanceNormalization")
def like_the_input(site: Site) -> Sequence[Type]:
    """The input's type."""
    return typed(site.type(0).dtype, site.shape(0))


@rule("BatchNormalization")
def batch_normalization(site: Site) -> Sequence[Type]:
    """The input's type; the running statistics have the types of the inputs' ones."""
    return (site.type(0), site.type(3), site.type(4))[: site.outputs]


@rule("LayerNormalization")
def layer_normalization(site: Site) -> Sequence[Type]:
    """The input's type; the statistics have ones from the first normalized axis on."""
    shape = site.shape(0)
    axis = axis_of(site.attribute("axis"), len(shape), site.kind)
    kept: tuple[Dim, ...] = (*shape[:axis], *(1,) * (len(shape) - axis))
    statistics = Type(BFLOAT16 if site.attribute("stash_type") == TensorProto.BFLOAT16 else np.float32, kept)
    return (site.type(0), statistics, statistics)[: site.outputs]


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def classification_loss(site: Site) -> Sequence[Type]:
    """One loss a target, or a scalar; then the logarithms of the probabilities."""
    first, shape = site.type(0), site.shape(0)
    losses = (shape[0], *shape[2:]) if site.attribute("reduction") == "none" else ()
    return (Type(first.dtype, losses), first)[: site.outputs]
