"""Batch operators that run along axes: reductions, softmaxes, cumulative sums, extrema, sorting.

```
y = ReduceSum(x, [0])   ->   y = ReduceSum(x, [1])
```
"""

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import product, same_shape
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.batching.table import Outputs, Site, batching, behind, behind_all

REDUCTIONS = kinds_where(lambda t: t.reduces)


@batching(*REDUCTIONS)
def reduction(site: Site) -> Outputs:
    """The axes move one to the right.

    No axes means all of them, also for a vector that only the run knows to be empty.
    """
    x, rank = site.input(0), site.rank(0)
    everything = np.arange(1, rank + 1, dtype=np.int64)
    if not site.has(1) or same_shape(site.shape(1), (0,)):
        if site.attributes["noop_with_empty_axes"] or not rank:
            return site.emit(x, Array(tracing.constant(everything[:0])), noop_with_empty_axes=1)
        return site.emit(x, Array(tracing.constant(everything)))
    axes = site.input(1)
    # onnxruntime gives what is empty a wrong shape where axes are counted from the end.
    axes = op.Add(op.Mod(axes, rank), 1) if axes.known() is None and rank else behind_all(axes)
    if axes.known() is None and not site.attributes["noop_with_empty_axes"]:
        count = op.Size(axes)
        axes = op.Concat(axes, op.Slice(everything, [0], op.Where(op.Equal(count, 0), [rank], [0])), axis=0)
    return site.emit(x, axes)


@batching("ArgMax", "ArgMin", "Hardmax", "LogSoftmax", "LpNormalization", "Softmax")
def along_an_axis(site: Site) -> Outputs:
    """The axis moves one to the right, counted from the front, which onnxruntime needs for empty arrays."""
    return site.emit(*site.inputs, axis=site.attributes["axis"] % site.rank(0) + 1)


@batching("TopK")
def top_k(site: Site) -> Outputs:
    """The axis moves one to the right; the count is the same for all."""
    return site.emit_all(*site.inputs, axis=behind(site.attributes["axis"]))


@batching("CumSum")
def cumulative(site: Site) -> Outputs:
    """The axis moves one to the right."""
    return site.emit(site.input(0), behind_all(site.input(1))) if site.only(0) else None


@batching("Compress")
def compress(site: Site) -> Outputs:
    """The condition is the same for all; without an axis each example is a row."""
    axis = site.attributes.get("axis")
    if axis is not None:
        return site.emit(*site.inputs, axis=behind(axis))
    rows = reshape_to(site.input(0), [site.size, product(site.shape(0))])
    return site.emit(rows, site.input(1), axis=1)


@batching("Det")
def determinant(site: Site) -> Outputs:
    """The last two axes are the matrix."""
    return site.emit(site.input(0))


@batching("DFT")
def fourier(site: Site) -> Outputs:
    """The axis moves one to the right; by default it is the last but one."""
    if not site.has(2):
        return site.emit(*site.inputs)
    return site.emit(site.input(0), site.inputs[1], behind_all(site.input(2)))
