"""Builds the windows of an axis as an array, and sums them back into the axis, without a list of indices.

The axis of length L is repeated A times, and the result is cut into rows of L + d instead of L. Row `a` then begins `a
* d` further to the right: `x[s * i + d * a]` is a cut of these rows, and the transpose goes the same way back. It costs
a few passes over A L elements, where a Gather does arithmetic for each.
"""

from dataclasses import dataclass

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape
from primsplit.numpy.keys import END
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to, transpose


@dataclass(frozen=True, slots=True)
class Windows:
    """`count` windows that are `stride` apart, each of `taps` elements that are `dilation` apart."""

    stride: int
    count: Dim
    dilation: int
    taps: Dim

    @property
    def length(self) -> Dim:
        """From the first element to the last."""
        return dims.maximum(0, self.stride * (self.count - 1) + self.dilation * (self.taps - 1) + 1)


def unfolded(x: Array, windows: Windows) -> Array:
    """[..., L] to [..., taps, count]; L is the length of the windows."""
    lead, length = x.shape[:-1], x.shape[-1]
    taps, dilation = windows.taps, windows.dilation
    repeated = expand_to(op.Unsqueeze(x, [-2]), (*lead, taps, length))
    run = reshape_to(repeated, (*lead, taps * length))
    rows = reshape_to(_grown(run, taps * dilation), (*lead, taps, length + dilation))
    return cut(rows, -1, 0, windows.count, windows.stride)


def folded(x: Array, windows: Windows, size: Dim) -> Array:
    """[..., taps, count] to [..., L]: the transpose of `unfolded`, which adds up what comes from the same element.

    `size` is L, where there are windows; where there are none, it may be less than their length.
    """
    lead, taps, dilation = x.shape[:-2], windows.taps, windows.dilation
    spread = dilated(x, windows.stride)
    length = spread.shape[-1]
    rows = _grown(spread, taps * dilation)
    row = dims.maximum(0, length + (taps - 1) * dilation)  # of no taps, too
    run = reshape_to(rows, (*lead, taps * (length + taps * dilation)))
    kept = cut(run, -1, 0, taps * row)
    total = op.ReduceSum(reshape_to(kept, (*lead, taps, row)), [-2], keepdims=0)
    return cut(total, -1, 0, size)


def dilated(x: Array, stride: int) -> Array:
    """[..., N] to [..., N * stride], with zeros behind each element."""
    if stride == 1:
        return x
    apart = op.Unsqueeze(x, [-1])
    pads = [0] * (2 * apart.ndim - 1) + [stride - 1]
    shape = (*apart.shape[:-1], stride)
    return reshape_to(op.Pad(apart, pads, types=[Type(x.dtype, shape)]), (*x.shape[:-1], x.shape[-1] * stride))


def _grown(x: Array, by: Dim) -> Array:
    """The last axis with zeros behind it."""
    pads = [*[0] * (2 * x.ndim - 1), by]
    return op.Pad(x, pads, types=[Type(x.dtype, (*x.shape[:-1], x.shape[-1] + by))])


def cut(x: Array, axis: int, start: Dim, count: Dim, step: int = 1) -> Array:
    """`count` elements of an axis from `start` on, each `step` after the one before."""
    axis %= x.ndim
    shape: Shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    if step == 1 and dims.same(start, 0) and dims.same(count, x.shape[axis]):
        return x
    end = start + count if step == 1 else start + (count - 1) * step + 1
    steps = [] if step == 1 else [[step]]
    return op.Slice(x, [start], [end], [axis], *steps, types=[Type(x.dtype, shape)])


def cut_before(x: Array, axis: int, start: Dim, count: Dim, stop: Dim) -> Array:
    """The elements of an axis from `start` to before `stop`, which are `count`, none where the stop is below the start.

    A stop that is a known number of places from the end of the axis is told so: no size is computed for it.
    """
    behind = stop - x.shape[axis]
    if not isinstance(behind, int) or isinstance(stop, int) or behind > 0:
        return cut(x, axis, start, count)
    if behind == 0 and dims.same(start, 0):
        return x
    shape: Shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return op.Slice(x, [start], [behind or END], [axis], types=[Type(x.dtype, shape)])


def turned(x: Array, axis: int) -> Array:
    """The array with an axis from its end to its front."""
    return op.Slice(x, [-1], [-END], [axis], [-1], types=[x.type])


def last(x: Array, axis: int) -> Array:
    """The array with an axis behind the others."""
    return transpose(x, [*(i for i in range(x.ndim) if i != axis), axis])
