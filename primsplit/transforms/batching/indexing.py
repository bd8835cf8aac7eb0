"""Batch operators that pick and put elements.

```
y = Gather(x, i), i batched   ->   y = Gather(x, i)                                        # a shared table
y = Gather(x, i), both batched   ->   y = GatherND(x, Unsqueeze(i, [-1]), batch_dims=1)    # a table for each example
```
"""

import numpy as np

from primsplit.ir.dims import product
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_first, count_up, expand_to, reshape_to
from primsplit.transforms.batching.table import Outputs, Site, batching, behind, with_rank


@batching("Gather")
def gather(site: Site) -> Outputs:
    """Indices of each example pick from a shared table all at once, and from tables of their own by GatherND."""
    axis = site.attributes["axis"] % site.rank(0)
    if site.only(0):
        return site.emit(*site.inputs, axis=axis + 1)
    data, indices = site.input(0), site.input(1)
    if site.only(1):
        return axis_first(site.emit(data, indices, axis=axis), axis)
    table = _brought_behind(data, axis)
    picked = op.GatherND(table, op.Unsqueeze(indices, [-1]), batch_dims=1)
    return _put_behind(picked, site.rank(1), axis)


def _brought_behind(x: Array, axis: int) -> Array:
    """Move one axis of each example right after the batch axis."""
    if axis == 0:
        return x
    others = [i for i in range(1, len(x.shape)) if i != axis + 1]
    return op.Transpose(x, perm=[0, axis + 1, *others])


def _put_behind(x: Array, count: int, axis: int) -> Array:
    """Move the first `count` axes of each example after `axis` others."""
    if axis == 0 or count == 0:
        return x
    picked, before = range(1, 1 + count), range(1 + count, 1 + count + axis)
    rest = range(1 + count + axis, len(x.shape))
    return op.Transpose(x, perm=[0, *before, *picked, *rest])


@batching("GatherElements", "ScatterElements")
def elements(site: Site) -> Outputs:
    """The axis moves one to the right."""
    inputs = [site.whole(i) for i in range(len(site.inputs))]
    return site.emit(*inputs, axis=behind(site.attributes["axis"]))


@batching("GatherND")
def gather_nd(site: Site) -> Outputs:
    """The batch axis is one more that indices and data share; a shared table needs none."""
    shared = site.attributes["batch_dims"]
    if site.only(1) and shared == 0:
        return site.emit(*site.inputs)
    return site.emit(site.whole(0), site.whole(1), batch_dims=shared + 1)


@batching("ScatterND")
def scatter_nd(site: Site) -> Outputs:
    """Each index gets the number of its example in front."""
    indices = site.whole(1)
    shape = indices.shape
    numbers = op.Unsqueeze(count_up(site.size), list(range(1, len(shape))))
    numbers = expand_to(numbers, (*shape[:-1], 1))
    return site.emit(site.whole(0), op.Concat(numbers, indices, axis=-1), site.whole(2))


@batching("OneHot")
def one_hot(site: Site) -> Outputs:
    """Values for each example are chosen by a mask."""
    axis = behind(site.attributes["axis"]) if site.is_batched(0) else site.attributes["axis"]
    if not site.is_batched(2):
        return site.emit(*site.inputs, axis=axis)
    hot = op.OneHot(site.input(0), site.input(1), np.array([0, 1], np.int64), axis=axis)
    rank = site.rank(0) + 1
    off, on = (op.Gather(site.input(2), np.int64(i), axis=1) for i in range(2))
    return op.Where(op.Cast(hot, to=np.bool_), with_rank(on, rank), with_rank(off, rank))


@batching("ReverseSequence")
def reverse_sequence(site: Site) -> Outputs:
    """The examples' columns are columns of one batch, time first."""
    time, batch = site.attributes["time_axis"], site.attributes["batch_axis"]
    x, lengths = site.whole(0), site.whole(1)
    rest = range(3, len(x.shape))
    order = [1 + time, 0, 1 + batch, *rest]
    columns = op.Transpose(x, perm=order)
    steps, size, count, *others = columns.shape
    merged = reshape_to(columns, [steps, product([size, count]), *others])
    turned = op.ReverseSequence(merged, reshape_to(lengths, [product([size, count])]), time_axis=0, batch_axis=1)
    return op.Transpose(reshape_to(turned, columns.shape), perm=[int(i) for i in np.argsort(order)])
