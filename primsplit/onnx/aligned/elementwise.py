"""Record elementwise operators on values of unknown rank, and those along an axis, or on a batch and its channels."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type
from primsplit.onnx.aligned.node import END, Aligned, Form, Node, along, from_front, led, of_sizes, trailed
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.ops import op
from primsplit.ops.inference.reduction import REDUCTIONS
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array

LIKE_FIRST = {
    **dict.fromkeys(("Clip", "Dropout", "Trilu", f"{EARLIER}::Clip", f"{EARLIER}::Dropout"), -1),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "TopK"), -1),
    **dict.fromkeys(("ReverseSequence", "Split"), 0),
    **dict.fromkeys((f"{EARLIER}::Hardmax", f"{EARLIER}::LogSoftmax", f"{EARLIER}::Softmax"), 1),
}
"""Operators whose results have as many axes as the first input; the default of an attribute `axis`.

No trait: a form of this module, also for operators of earlier opsets.
"""
FROM_FRONT = frozenset(
    {"BatchNormalization", "GroupNormalization", "InstanceNormalization", "MeanVarianceNormalization"}
    | {f"{EARLIER}::BatchNormalization"}
)
"""Operators that count the first input's axes from the front; outputs beside the first are vectors.

No trait: a form of this module, also for an operator of earlier opsets.
"""


def _pointwise(node: Node) -> list[Aligned]:
    """The result has the most axes of any input."""
    ranks = [node.rank(i) for i in range(len(node.values))]
    most = ranks[0] if len(ranks) == 1 else op.Max(*ranks)
    return [Aligned(x, most) for x in node.record(*node.arrays())]


def _like_first(node: Node) -> list[Aligned] | None:
    if not node.is_open_first_alone():
        return None
    return along(node, node.attribute("axis", LIKE_FIRST[node.kind]))


def _cast_like(node: Node) -> Sequence[Aligned | Array] | None:
    """The second input gives only a dtype, and is not read."""
    like = node.value(1)
    if like is None:
        return None
    source = node.aligned(0)
    made = op.Cast(source.wide, to=like.type.dtype, **node.attributes)
    return [Aligned(made, source.rank) if node.is_open(0) else made]


def _along_input(node: Node) -> list[Aligned] | None:
    """The axis is an input, which may be computed."""
    axes = node.integers(1)
    if axes is not None:
        return along(node, axes[0])
    source = node.aligned(0)
    place = source.from_back(op.Reshape(node.array(1), np.zeros(0, np.int64)))
    return [Aligned(x, source.rank) for x in node.record(source.wide, place)]


def _reduction(node: Node) -> Sequence[Aligned | Array]:
    """Reduce along some axes, or all."""
    axes, keep, source = node.integers(1), node.attribute("keepdims", 1), node.aligned(0)
    if axes is None:
        return _reduced_at_run_time(node)
    if not axes and not node.attribute("noop_with_empty_axes", 0):
        (made,) = node.record(source.wide)
        return [Aligned(made, source.rank) if keep else made]
    given = as_array(np.array(axes, np.int64))
    (made,) = node.record(source.wide, given if max(axes, default=-1) < 0 else source.from_back(given))
    return [Aligned(made, source.rank if keep else op.Sub(source.rank, np.array([len(axes)])))]


def _reduced_at_run_time(node: Node) -> list[Aligned]:
    """Reduce along axes that only the run knows, and remove them after the reduction."""
    source = node.aligned(0)
    places = source.from_back(node.given(1))
    (made,) = node.record(source.wide, places, keepdims=1)
    if node.attribute("keepdims", 1):
        return [Aligned(made, source.rank)]
    count = len(source.wide.shape)
    every = np.arange(count)
    hits = op.Equal(op.Unsqueeze(op.Where(op.Less(places, 0), op.Add(places, count), places), [1]), every)
    gone = op.Greater(op.ReduceSum(op.Cast(hits, to=np.int64), [0], keepdims=0), 0)
    if not node.attribute("noop_with_empty_axes", 0):
        gone = op.Or(gone, op.Equal(op.Shape(places), 0))
    kept = op.And(op.Not(gone), op.GreaterOrEqual(every, op.Sub(np.array([count]), source.rank)))
    sizes = op.Compress(op.Shape(made), kept, axis=0)
    return [of_sizes(made, sizes, op.Shape(sizes), count)]


def _arg_extremum(node: Node) -> list[Aligned]:
    axis, source = node.attribute("axis", 0), node.aligned(0)
    (made,) = node.record(source.wide if axis < 0 else source.front())
    rank = source.rank if node.attribute("keepdims", 1) else op.Sub(source.rank, np.array([1]))
    return [Aligned(made, rank) if axis < 0 else from_front(made, rank)]


def _normalized_layers(node: Node) -> list[Aligned]:
    """Stretch scale and bias to the axes from `axis` on, to which they belong, if these count from the front."""
    axis = node.attribute("axis", -1)
    if axis < 0:
        for position in (1, 2):
            node.stretch(position, -axis)
        return along(node, axis)
    source = node.aligned(0)
    count = len(source.wide.shape)
    shape = op.Slice(source.own_shape(), [axis], [END])
    behind = op.Sub(source.rank, np.array([axis]))
    stretched = led(shape, behind, count - axis)
    sides = [node.aligned(i).wide for i in range(1, len(node.values)) if node.value(i) is not None]
    sizes = trailed(shape, behind, count - axis)
    weights = [op.Reshape(op.Expand(x, stretched), sizes, allowzero=1) for x in sides]
    return [from_front(x, source.rank) for x in node.record(source.front(), *weights)]


def _from_front(node: Node) -> list[Aligned | Array] | None:
    if not node.is_open_first_alone():
        return None
    source = node.aligned(0)
    made = node.record(source.front(), *node.rest())
    return [from_front(made[0], source.rank), *made[1:]]


def _pooled(node: Node) -> list[Aligned]:
    """Pool over the image's axes as two: onnxruntime pools along three at most."""
    source = node.aligned(0)
    count = len(source.wide.shape)
    (made,) = node.record(_folded(source, 2, 4))
    return [from_front(op.Unsqueeze(made, list(range(4, count))) if count > 4 else made, source.rank)]


def _response(node: Node) -> list[Aligned]:
    """Normalize with the image's axes as two: only the channels are normalized over."""
    source = node.aligned(0)
    (made,) = node.record(_folded(source, 2, 4))
    return [of_sizes(made, source.own_shape(), source.rank, len(source.wide.shape))]


def _folded(x: Aligned, kept: int, count: int) -> Array:
    """Return the elements with the first axes as they are, the others as one, and so many in all."""
    shape = x.own_shape()
    rest = op.ReduceProd(op.Slice(shape, [kept], [END]), [0], keepdims=1)
    sizes = op.Concat(op.Slice(shape, [0], [kept]), rest, np.ones(count - kept - 1, np.int64), axis=0)
    return op.Reshape(x.wide, op.Reshape(sizes, [count]), allowzero=1)


def _spectrum(node: Node) -> list[Aligned] | None:
    """The last axis holds real and imaginary parts; axes of size 1 are put before it."""
    axes = node.integers(2)
    if not node.is_open_first_alone():
        return None
    source = node.aligned(0)
    if axes is None:
        axis = source.from_back(node.given(2))
        return [Aligned(x, source.rank) for x in node.record(source.wide, node.array(1), axis)]
    if (axes[0] if axes else -2) < 0:
        return [Aligned(x, source.rank) for x in node.record(source.wide, *node.rest())]
    count = len(source.wide.shape)
    (made,) = node.record(source.opened(-1, count), *node.rest())
    shape = op.Shape(made)
    sizes = op.Concat(op.Slice(shape, [0], op.Sub(source.rank, np.array([1]))), op.Slice(shape, [-1], [END]), axis=0)
    return [of_sizes(made, sizes, source.rank, count)]


def _signals(node: Node) -> list[Array] | None:
    """Signals of real numbers may lack the last axis."""
    if not node.is_open_first_alone():
        return None
    source = node.aligned(0)
    signals = op.Reshape(source.wide, trailed(source.own_shape(), source.rank, 3), allowzero=1)
    return node.record(signals, *node.rest())


def _loss(node: Node) -> list[Aligned | Array]:
    """Merge the further axes of scores [batch, classes, ...] and labels [batch, ...]."""
    scores, labels = node.aligned(0), node.aligned(1)
    made: list[Aligned | Array] = [*node.record(_folded(scores, 2, 3), _folded(labels, 1, 2), *node.arrays()[2:])]
    likes = (labels if node.attribute("reduction") in {"none", b"none"} else None, scores)
    return [
        x if like is None or isinstance(x, Aligned) else of_sizes(x, like.own_shape(), like.rank, len(like.wide.shape))
        for x, like in zip(made, likes, strict=False)
    ]


def _quantized(node: Node) -> Sequence[Aligned | Array] | None:
    """A scale for all, per entry of an axis, or per block of entries: then of the same rank."""
    if node.attribute("block_size", 0):
        counts = [count for i in range(3) if (count := node.given_rank(i)) is not None]
        return node.settled(dict.fromkeys(node.open_ones(), counts[0])) if counts else None
    axis, known, count = node.attribute("axis", 1), node.given_rank(0), node.given_rank(1)
    if count is None and known is not None and not -known <= axis < known:
        count = 0
    if count is None:
        return _scaled_along(node, axis)
    for position in (1, 2):
        node.settle(position, count)
    return along(node, axis if count else -1) if known is None else node.record(*node.arrays())


def _scaled_along(node: Node, axis: int) -> list[Aligned] | list[Array]:
    """Repeat a scale and a zero point, which may be one for all, along the axis."""
    source, is_open = node.aligned(0), node.is_open(0)
    x = source.front() if is_open and axis >= 0 else source.wide
    length = op.Shape(x, start=axis, end=axis + 1 if axis != -1 else END)
    flat = [op.Reshape(Array(v), [-1]) for v in node.values[1:] if v is not None]
    # Of another number of scales, which the operator refuses, no run gets further.
    made = node.record(x, *(op.Expand(v, length, types=[Type(v.dtype, (x.shape[axis],))]) for v in flat))
    if not is_open:
        return made
    return [from_front(made[0], source.rank) if axis >= 0 else Aligned(made[0], source.rank)]


FORMS: dict[str, Form] = {
    **dict.fromkeys(kinds_where(lambda t: t.elementwise, in_files=True), _pointwise),
    **dict.fromkeys(LIKE_FIRST, _like_first),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg_extremum),
    **dict.fromkeys(("CumProd", "CumSum"), _along_input),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), _quantized),
    **dict.fromkeys(FROM_FRONT, _from_front),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _normalized_layers),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _loss),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _pooled),
    "CastLike": _cast_like,
    "DFT": _spectrum,
    "LRN": _response,
    "STFT": _signals,
}
