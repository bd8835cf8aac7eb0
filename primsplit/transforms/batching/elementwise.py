"""Batch operators that broadcast their inputs, and those that work on single elements.

```
z = Add(x, y), x: float32[3,4], y: float32[4], y batched   ->   z = Add(x, Unsqueeze(y, [1]))   # y: float32[B,4]
```
"""

import numpy as np

from primsplit.ir.dims import product, same
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.batching.table import Outputs, Shared, Site, batching


@batching(*kinds_where(lambda t: t.elementwise and not (t.broadcasts or t.reads_type or t.ranks)))
def unary(site: Site) -> Outputs:
    """The operator itself."""
    return site.emit(*site.inputs)


@batching(*kinds_where(lambda t: t.broadcasts))
def broadcasting(site: Site) -> Outputs:
    """ONNX aligns axes from the end: a batched operand with fewer axes gets some after the batch axis."""
    rank = max(site.rank(i) for i in range(len(site.inputs)))
    return site.emit(*(site.aligned(i, rank) for i in range(len(site.inputs))))


@batching("CastLike")
def cast_like(site: Site) -> Outputs:
    """Of the second input only the dtype is read."""
    return site.emit(site.whole(0), site.input(1))


@batching("Clip")
def clip(site: Site) -> Outputs:
    """Clip takes bounds without axes: bounds that differ between examples are Max and Min."""
    if site.only(0):
        return site.emit(*site.inputs)
    x = site.whole(0)
    if site.has(1):
        x = op.Max(x, site.aligned(1, site.rank(0)))
    return op.Min(x, site.aligned(2, site.rank(0))) if site.has(2) else x


@batching("QuantizeLinear", "DequantizeLinear")
def quantization(site: Site) -> Outputs:
    """Scales for each example lie along the batch axis, or form a block; scales along an axis are merged with it."""
    axis = site.attributes["axis"] % max(site.rank(0), 1)
    if site.attributes.get("block_size"):
        return site.emit(site.whole(0), *_scales(site), axis=axis + 1)
    if site.only(0):
        return site.emit(*site.inputs, axis=axis + 1)
    if site.rank(1) == 0 and site.rank(0) > 0:
        # A zero point of one element may have an axis where its scale has none; in a batch they are of one rank.
        return site.emit(site.whole(0), *map(_flat, _scales(site)), axis=0)
    if site.rank(1) == 1 and same(site.shape(1)[0], site.shape(0)[axis]):
        return _by_slice(site, axis)
    return None


def _by_slice(site: Site, axis: int) -> Array:
    """Apply the op to each slice along an axis of each example."""
    rank = site.rank(0)
    order = [0, axis + 1, *(i for i in range(1, rank + 1) if i != axis + 1)]
    x = op.Transpose(site.whole(0), perm=order)
    slices, *scales = (reshape_to(v, [product(v.shape[:2]), *v.shape[2:]]) for v in (x, *_scales(site)))
    result = reshape_to(site.emit(slices, *scales, axis=0), x.shape)
    return op.Transpose(result, perm=[order.index(i) for i in range(rank + 1)])


def _scales(site: Site) -> list[Array]:
    return [site.whole(i) for i in range(1, len(site.inputs)) if site.has(i)]


def _flat(x: Array) -> Array:
    return op.Reshape(x, [-1]) if len(x.shape) > 1 else x


@batching("Trilu")
def trilu(site: Site) -> Outputs:
    """The last two axes."""
    return site.emit(*site.inputs) if site.only(0) else None


@batching("EyeLike")
def eye_like(site: Site) -> Outputs:
    """The input gives a shape and a dtype, which are the same for all."""
    from_shape = op.Shape(site.input(0), start=1)
    return Shared(site.emit(op.ConstantOfShape(from_shape, value=np.zeros(1, site.input(0).dtype))))
