"""Batch operators that arrange elements: axes move one to the right, shapes get the batch size in front.

```
y = Transpose(x, perm=[1,0])   ->   y = Transpose(x, perm=[0,2,1])
```
"""

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import is_one
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.batching.table import Outputs, Shared, Site, batching, behind, behind_all, with_rank


@batching("Shape")
def shape(site: Site) -> Outputs:
    """The sizes of one example, which all share."""
    window = range(site.rank(0))[slice(site.attributes.get("start") or 0, site.attributes.get("end"))]
    start, stop = (window[0] + 1, window[-1] + 2) if len(window) else (1, 1)
    return Shared(op.Shape(site.input(0), start=start, end=stop))


@batching("Size")
def size(site: Site) -> Outputs:
    """Return the number of elements of one example."""
    return Shared(op.ReduceProd(op.Shape(site.input(0), start=1), [0], keepdims=0))


@batching("Transpose")
def transpose(site: Site) -> Outputs:
    """The batch axis stays in front."""
    given = site.attributes.get("perm")
    order = range(site.rank(0))[::-1] if given is None else given
    return site.emit(site.input(0), perm=[0, *(axis + 1 for axis in order)])


@batching("Reshape")
def reshape(site: Site) -> Outputs:
    """Each example in its new shape; a vector of sizes that only the run knows gets the batch size in front."""
    known = site.op.inputs[1]
    wanted = site.result().shape
    if known is not None and known.sizes is not None and wanted is not None and all(map(tracing.is_readable, wanted)):
        return reshape_to(site.input(0), (site.size, *wanted))
    sizes = _told_sizes(site)
    whole = op.Concat(Array(tracing.size_vector([site.size])), sizes, axis=0)
    return op.Reshape(site.input(0), whole, allowzero=1, types=site.results())


def _told_sizes(site: Site) -> Array:
    """Return the sizes that each example gets, with -1 and 0 computed: for no examples -1 could not be inferred."""
    sizes, shape = site.input(1), op.Shape(site.input(0), start=1)
    if not site.attributes["allowzero"]:
        count = site.rank(0)
        padded = op.Pad(shape, op.Concat([0], op.Max(op.Sub(op.Shape(sizes), count), 0), axis=0), np.int64(1))
        sizes = op.Where(op.Equal(sizes, 0), op.Slice(padded, [0], op.Shape(sizes)), sizes)
    is_open = op.Less(sizes, 0)
    others = op.ReduceProd(op.Where(is_open, np.int64(1), sizes), [0], keepdims=1)
    rest = op.Div(op.ReduceProd(shape, [0], keepdims=1), op.Max(others, 1))
    return op.Where(is_open, rest, sizes)


@batching("Flatten")
def flatten(site: Site) -> Outputs:
    """Each example with two axes."""
    return reshape_to(site.input(0), (site.size, *(site.result().shape or ())))


@batching("Squeeze")
def squeeze(site: Site) -> Outputs:
    """The axes, moved and explicit: a batch of one example stays a batch."""
    if site.has(1):
        return site.emit(site.input(0), behind_all(site.input(1)))
    axes = [i + 1 for i, d in enumerate(site.shape(0)) if is_one(d)]
    return site.emit(site.input(0), Array(tracing.constant(np.array(axes, np.int64))))


@batching("Unsqueeze")
def unsqueeze(site: Site) -> Outputs:
    """The axes move one to the right."""
    return site.emit(site.input(0), behind_all(site.input(1)))


@batching("Expand")
def expand(site: Site) -> Outputs:
    """The shape with ones in front: the batch keeps its size."""
    rank = len(site.result().shape or ())
    count = site.shape(1)[0]
    if not isinstance(count, int):
        return None
    lead = np.ones(1 + rank - count, np.int64)
    return op.Expand(with_rank(site.input(0), rank), op.Concat(lead, site.input(1), axis=0))


@batching("Tile")
def tile(site: Site) -> Outputs:
    """The batch axis is not repeated."""
    return op.Tile(site.input(0), op.Concat(np.ones(1, np.int64), site.input(1), axis=0))


@batching("Concat")
def concat(site: Site) -> Outputs:
    """Shared parts are repeated."""
    parts = [site.whole(i) for i in range(len(site.inputs))]
    return site.emit(*parts, axis=behind(site.attributes["axis"]))


@batching("Split")
def split(site: Site) -> Outputs:
    """The axis moves one to the right."""
    return site.emit_all(*site.inputs, axis=behind(site.attributes["axis"]))


@batching("Slice")
def slice_(site: Site) -> Outputs:
    """The axes, moved and explicit."""
    if site.has(3):
        axes = behind_all(site.input(3))
    else:
        count = site.shape(1)[0]
        if not isinstance(count, int):
            return None
        axes = Array(tracing.constant(np.arange(1, count + 1, dtype=site.input(1).dtype)))
    steps = [site.input(4)] if site.has(4) else []
    return site.emit(site.input(0), site.input(1), site.input(2), axes, *steps)


@batching("Pad")
def pad(site: Site) -> Outputs:
    """The batch axis is not padded; a fill value for each example is put where a padded mask says."""
    filling = site.inputs[2] if site.has(2) else None
    if not site.is_batched(2):
        return site.emit(site.input(0), *_pads(site, filling))
    x = site.whole(0)
    ones = op.Expand(np.int64(1), op.Shape(x, start=1), types=[Type(np.int64, site.shape(0))])
    named = [site.input(3)] if site.has(3) else []
    inside = op.Cast(op.Pad(ones, site.input(1), np.int64(0), *named), to=np.bool_)
    outside = op.Unsqueeze(site.input(2), list(range(1, site.rank(0) + 1))) if site.rank(0) else site.input(2)
    return op.Where(inside, site.emit(x, *_pads(site, None)), outside)


def _pads(site: Site, filling: Array | None) -> list[Array | None]:
    """Return the inputs of Pad after the first: pads for every axis, if the named axes are known.

    onnxruntime moves a Transpose past a Pad of some axes wrongly.
    """
    pads, rank = site.input(1), site.rank(0)
    if site.has(3):
        axes, known = site.input(3).known(), pads.known()
        if axes is None or known is None:
            return [pads, filling, behind_all(site.input(3))]
        whole = np.zeros((2, rank + 1), np.int64)
        whole[:, axes % rank + 1] = known.reshape(2, -1)
        return [Array(tracing.constant(whole.reshape(-1))), filling]
    none = np.zeros(1, np.int64)
    before, after = op.Slice(pads, [0], [rank]), op.Slice(pads, [rank], [2 * rank])
    return [op.Concat(none, before, none, after, axis=0), filling]
