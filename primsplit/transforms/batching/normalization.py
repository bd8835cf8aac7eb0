"""Batch normalizations: over the images of all examples, or with their channels side by side."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import Shape, product
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to
from primsplit.transforms.batching.folding import folded, side_by_side, unfolded
from primsplit.transforms.batching.table import Outputs, Site, batching, behind


@batching("BatchNormalization")
def batch_normalization(site: Site) -> Outputs:
    """With shared statistics, over all images; else the channels of the examples become channels of one batch."""
    training = site.attributes.get("training_mode", 0)
    if site.only(0) and not training:
        return unfolded(site.emit(folded(site.input(0)), *site.inputs[1:]), site)
    x = site.whole(0)
    if site.rank(0) == 1:
        return None
    numbers = [reshape_to(p, [product(p.shape)]) for p in (site.whole(i) for i in range(1, 5))]
    y, *statistics = site.emit_all(side_by_side(x), *numbers)
    count, channels, *rest = site.shape(0)
    apart = reshape_to(y, [count, site.size, channels, *rest])
    whole = op.Transpose(apart, perm=[1, 0, *range(2, len(apart.shape))])
    return [whole, *(reshape_to(s, [site.size, channels]) for s in statistics)]


@batching("GroupNormalization", "InstanceNormalization")
def by_image(site: Site) -> Outputs:
    """Over all images; a scale and a bias for each example are applied to the standardized values."""
    x = folded(site.whole(0))
    if site.only(0):
        return unfolded(site.emit(x, *site.inputs[1:]), site)
    ones, zeros = (_filled(site.shape(1), x.dtype, value) for value in (1, 0))
    standard = unfolded(site.emit(x, ones, zeros), site)
    scale, bias = (_by_channel(site, i) for i in (1, 2))
    return op.Add(op.Mul(standard, scale), bias)


def _filled(shape: Shape, dtype: np.dtype[Any], value: float) -> Array:
    number = Array(tracing.constant(np.full([1] * len(shape), value, dtype)))
    return expand_to(number, shape)


def _by_channel(site: Site, position: int) -> Array:
    """Reshape numbers of the channels, [C] or [B, C], to broadcast with [B, N, C, ...]."""
    x = site.input(position)
    places = list(range(-(site.rank(0) - 2), 0))
    x = op.Unsqueeze(x, places) if places else x
    return op.Unsqueeze(x, [1]) if site.is_batched(position) else x


@batching("LayerNormalization")
def layer_normalization(site: Site) -> Outputs:
    """The axis moves one to the right; a scale and a bias for each example are applied to the standardized values."""
    place = behind(site.attributes["axis"])
    if site.only(0):
        return site.emit_all(*site.inputs, axis=place)
    x = site.whole(0)
    y, *statistics = site.emit_all(x, _filled(site.shape(1), x.dtype, 1), axis=place)
    y = op.Mul(y, site.aligned(1, site.rank(0)))
    return [op.Add(y, site.aligned(2, site.rank(0))) if site.has(2) else y, *statistics]


@batching("MeanVarianceNormalization")
def mean_variance(site: Site) -> Outputs:
    """The axes move one to the right."""
    return site.emit(site.input(0), axes=[behind(a) for a in site.attributes["axes"]])
