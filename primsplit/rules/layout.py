"""Derivative rules of operators that move elements: reshape, transpose, concatenate, split, slice, pad, tile.

```
z = Transpose(x, perm=[2,0,1])    ->   dx = Transpose(dz, perm=[1,2,0])
z = Slice(x, [2], [5], [0])       ->   dx = Pad(dz, [2, 3])            # x: float32[8]
```
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ops import op
from primsplit.ops.inference import slice_size
from primsplit.ops.schema import text
from primsplit.rules.indexing import part, scatter_along
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import (
    full,
    inverse_permutation,
    reshape_like,
    reshape_to,
    size_scalar,
    sum_to,
    transpose,
    zeros,
)


@rrule("Transpose")
def transpose_rule(x: Array, *, perm: list[int] | None = None) -> tuple[Array, Pullback]:
    """Transposing back uses the inverse permutation."""
    order = list(range(len(x.shape)))[::-1] if perm is None else perm
    z = op.Transpose(x, perm=order)

    def pullback(dz: Array) -> tuple[Array]:
        return (op.Transpose(dz, perm=inverse_permutation(order)),)

    return z, pullback


@rrule("Reshape")
def reshape(x: Array, shape: Array, *, allowzero: int) -> tuple[Array, Pullback]:
    """The cotangent in the input's shape."""
    z = op.Reshape(x, shape, allowzero=allowzero)

    def pullback(dz: Array) -> tuple[Array, None]:
        return reshape_like(dz, x), None

    return z, pullback


@rrule("Flatten")
def flatten(x: Array, *, axis: int) -> tuple[Array, Pullback]:
    """The cotangent in the input's shape."""
    z = op.Flatten(x, axis=axis)

    def pullback(dz: Array) -> tuple[Array]:
        return (reshape_to(dz, x.shape),)

    return z, pullback


@rrule("Squeeze")
def squeeze(x: Array, axes: Array | None = None) -> tuple[Array, Pullback]:
    """The cotangent in the input's shape."""
    z = op.Squeeze(x, axes)

    def pullback(dz: Array) -> list[Array | None]:
        return [reshape_like(dz, x)] if axes is None else [op.Unsqueeze(dz, axes, types=[x.type]), None]

    return z, pullback


@rrule("Unsqueeze")
def unsqueeze(x: Array, axes: Array) -> tuple[Array, Pullback]:
    """Squeezing undoes it; its axes are a vector, where a single one may be a number here."""
    z = op.Unsqueeze(x, axes)

    def pullback(dz: Array) -> tuple[Array, None]:
        vector = axes if axes.ndim else op.Reshape(axes, [1])
        return op.Squeeze(dz, vector, types=[x.type]), None

    return z, pullback


@rrule("Expand")
def expand(x: Array, shape: Array) -> tuple[Array, Pullback]:
    """The sum over the axes that were stretched."""
    z = op.Expand(x, shape)

    def pullback(dz: Array) -> tuple[Array, None]:
        return sum_to(dz, x.shape), None

    return z, pullback


@rrule("Tile")
def tile(x: Array, repeats: Array) -> tuple[Array, Pullback]:
    """The sum over the copies: each axis is cut into (copies, size)."""
    z = op.Tile(x, repeats)

    def pullback(dz: Array) -> tuple[Array, None]:
        rank = len(x.shape)
        counts = repeats.value.sizes
        if counts is not None and all(isinstance(c, int) for c in counts):
            once = [i for i, c in enumerate(counts) if c == 1]
            cut = [d for i, pair in enumerate(zip(counts, x.shape, strict=True)) for d in (pair[i in once :])]
            starts = np.cumsum([0, *(1 if i in once else 2 for i in range(rank))])
            axes = [int(starts[i]) for i in range(rank) if i not in once]
            return (op.ReduceSum(reshape_to(dz, cut), axes, keepdims=0) if axes else dz), None
        pairs = op.Concat(op.Unsqueeze(repeats, [1]), op.Unsqueeze(op.Shape(x), [1]), axis=1)
        cut_apart = op.Reshape(dz, op.Reshape(pairs, [2 * rank]), allowzero=1)
        declared = [Type(dz.dtype, x.shape)]
        return op.ReduceSum(cut_apart, list(range(0, 2 * rank, 2)), keepdims=0, types=declared), None

    return z, pullback


@rrule("Concat")
def concat(*parts: Array, axis: int) -> tuple[Array, Pullback]:
    """The cotangent, split where the parts met."""
    z = op.Concat(*parts, axis=axis)

    def pullback(dz: Array) -> Sequence[Array]:
        if len(parts) == 1:
            return (dz,)
        sizes = Array(tracing.size_vector([p.shape[axis] for p in parts]))
        kinds = [Type(dz.dtype, p.shape) for p in parts]
        found: Sequence[Array] = op.Split(dz, sizes, axis=axis, outputs=len(parts), types=kinds)
        return found

    return z, pullback


@rrule("Split")
def split(
    x: Array, sizes: Array | None = None, *, axis: int, num_outputs: int | None = None
) -> tuple[Sequence[Array], Pullback]:
    """The cotangents of the parts, concatenated; zeros for a part that nobody used."""
    parts: Sequence[Array] = op.Split(x, sizes, axis=axis, num_outputs=num_outputs)

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        known = [zeros(part.shape, x.dtype) if dz is None else dz for part, dz in zip(parts, cotangents, strict=True)]
        joined = op.Concat(*known, axis=axis, types=[x.type])
        return [joined, None][: 1 if sizes is None else 2]

    return parts, pullback


@rrule("Slice")
def slice_rule(
    x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> tuple[Array, Pullback]:
    """The cotangent with zeros where nothing was picked.

    Steps of 1 and -1 pad; others scatter along their axis. Axes or steps that only the run knows scatter each element
    to its position.
    """
    z = op.Slice(x, starts, ends, axes, steps)
    others = [None] * (2 if axes is None and steps is None else 3 if steps is None else 4)

    def pullback(dz: Array) -> list[Array | None]:
        is_counted = isinstance(starts.shape[0], int)
        if not is_counted or any(v is not None and v.known() is None for v in (axes, steps)):
            return [_by_position(dz), *others]
        cuts = _Cuts(x, starts, ends, axes, steps)
        for position, axis in enumerate(cuts.axes):
            if not cuts.is_padded(position):
                shape = (*dz.shape[:axis], x.shape[axis], *dz.shape[axis + 1 :])
                dz = scatter_along(dz, shape, cuts.picked(position), axis)
        return [cuts.padded(dz), *others]

    def _by_position(dz: Array) -> Array:
        count = dims.product(x.shape)
        positions = op.Slice(reshape_to(op.Range(0, size_scalar(count), 1), x.shape), starts, ends, axes, steps)
        start = zeros([count], dz.dtype)
        filled = op.ScatterND(start, op.Reshape(positions, [-1, 1]), op.Reshape(dz, [-1]), reduction="add")
        return reshape_to(filled, x.shape)

    return z, pullback


class _Cuts:
    """The bounds of a Slice, axis by axis."""

    def __init__(self, x: Array, starts: Array, ends: Array, axes: Array | None, steps: Array | None) -> None:
        self.x = x
        self.starts, self.ends = starts, ends
        count = starts.shape[0]
        assert isinstance(count, int)
        named = None if axes is None else axes.known()
        self.axes = [int(a) % len(x.shape) for a in (range(count) if named is None else named)]
        self.steps = steps
        known = None if steps is None else steps.known()
        self.step = [1] * count if known is None else [int(s) for s in known]

    def literal(self, position: int) -> tuple[int, int] | None:
        """Return the bounds, if both are numbers."""
        bounds = [v.value.sizes for v in (self.starts, self.ends)]
        if bounds[0] is None or bounds[1] is None:
            return None
        start, end = bounds[0][position], bounds[1][position]
        return (start, end) if isinstance(start, int) and isinstance(end, int) else None

    def is_padded(self, position: int) -> bool:
        """Whether padding undoes the cut of this axis."""
        return self.step[position] == 1 or (self.step[position] == -1 and self.literal(position) is not None)

    def picked(self, position: int) -> Array:
        """Return the indices that the cut of this axis picks."""
        size, bounds, step = self.x.shape[self.axes[position]], self.literal(position), self.step[position]
        if isinstance(size, int) and bounds is not None:
            return Array(tracing.constant(np.arange(size)[slice(*bounds, step)]))
        counted = op.Range(0, size_scalar(size), 1)
        start, end = (op.Cast(part(b, position), to=np.int64) for b in (self.starts, self.ends))
        return op.Slice(counted, start, end, [0], [step])

    def padded(self, dz: Array) -> Array:
        """Return `dz` with zeros on both sides along the padded axes."""
        chosen = [p for p in range(len(self.axes)) if self.is_padded(p)]
        backward = [p for p in chosen if self.step[p] == -1]
        if backward:
            count = len(backward)
            dz = op.Slice(dz, [-1] * count, [-(2**62)] * count, [self.axes[p] for p in backward], [-1] * count)
        rank = len(self.x.shape)
        fronts: list[Any] = [0] * rank
        backs: list[Any] = [0] * rank
        for position in chosen:
            fronts[self.axes[position]], backs[self.axes[position]] = self.pads(position, dz)
        if not chosen or all(isinstance(d, int) and d == 0 for d in (*fronts, *backs)):
            return dz
        # Every axis is padded: onnxruntime's optimizer moves a Transpose past a Pad of some axes wrongly.
        return op.Pad(dz, _vector([*fronts, *backs]), types=[self.x.type])

    def pads(self, position: int, dz: Array) -> tuple[Any, Any]:
        """Return how many zeros go before and after, as sizes or int64 vectors of one element."""
        axis = self.axes[position]
        size = self.x.shape[axis]
        bounds = self.literal(position)
        if bounds is None:
            return self._pads_at_run_time(position, dz)
        step = self.step[position]
        kept = slice_size(size, *bounds, step)
        start = bounds[0]
        if step == 1:
            first = dims.maximum(0, size + start) if start < 0 else dims.minimum(start, size)
        else:
            last = dims.maximum(-1, size + start) if start < 0 else dims.minimum(start, size - 1)
            first = dims.maximum(0, last - kept + 1)
        return first, size - first - kept

    def _pads_at_run_time(self, position: int, dz: Array) -> tuple[Array, Array]:
        axis = self.axes[position]
        size = Array(tracing.size_of(self.x.shape[axis]))
        start = op.Cast(part(self.starts, position), to=np.int64)
        counted = op.Where(op.Less(start, 0), start + size, start)
        front = op.Max(op.Min(counted, size), np.zeros(1, np.int64))
        kept = op.Shape(dz, start=axis, end=axis + 1)
        return front, size - front - kept


def _vector(parts: Sequence[Any]) -> Array:
    """Return an int64 vector of sizes and vectors of one element."""
    if not any(isinstance(p, Array) for p in parts):
        return Array(tracing.size_vector(parts))
    return op.Concat(*(p if isinstance(p, Array) else Array(tracing.size_of(p)) for p in parts), axis=0)


@rrule("Pad")
def pad(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, *, mode: str | bytes
) -> tuple[Array, Pullback]:
    """The cotangent of the middle; the margins that reflect, edge and wrap copied add to their source."""
    z = op.Pad(x, pads, value, axes, mode=mode)
    count = 4 if axes is not None else 3 if value is not None else 2

    def pullback(dz: Array) -> list[Array | None]:
        if text(mode) == "constant":
            dx = op.Pad(dz, op.Neg(pads) if pads.known() is None else -pads.known(), None, axes, types=[x.type])  # type: ignore[operator]
            inside = op.Pad(full(x.shape, np.ones((), x.dtype)), pads, None, axes, types=[z.type])
            d_value = None if value is None else reshape_to(op.ReduceSum(dz * (1 - inside), keepdims=0), value.shape)
            return [dx, None, d_value, None][:count]
        return [_unpadded(dz, x, pads, axes, text(mode)), None, None, None][:count]

    return z, pullback


def _unpadded(dz: Array, x: Array, pads: Array, axes: Array | None, mode: str) -> Array:
    """Add, along each padded axis, every slice to the slice that it is a copy of."""
    named = None if axes is None else axes.known()
    used = list(range(len(x.shape))) if named is None else [int(a) % len(x.shape) for a in named]
    known = pads.known()
    for position, axis in enumerate(used):
        pair = [position, position + len(used)]
        if known is not None and not known[pair].any():
            continue
        counted = op.Range(0, size_scalar(x.shape[axis]), 1)
        ends = op.Gather(pads, pair) if known is None else known[pair]
        source = op.Pad(counted, ends, mode=mode, types=[Type(np.int64, (dz.shape[axis],))])
        dz = scatter_along(dz, (*dz.shape[:axis], x.shape[axis], *dz.shape[axis + 1 :]), source, axis)
    return dz


@rrule("Trilu")
def trilu(x: Array, k: Array | None = None, *, upper: int) -> tuple[Array, Pullback]:
    """The same triangle of the cotangent."""
    z = op.Trilu(x, k, upper=upper)

    def pullback(dz: Array) -> list[Array | None]:
        return [op.Trilu(dz, k, upper=upper), None][: 1 if k is None else 2]

    return z, pullback


@rrule("ReverseSequence")
def reverse_sequence(x: Array, lengths: Array, *, batch_axis: int, time_axis: int) -> tuple[Array, Pullback]:
    """Reversing again puts the cotangent back."""
    z = op.ReverseSequence(x, lengths, batch_axis=batch_axis, time_axis=time_axis)

    def pullback(dz: Array) -> tuple[Array, None]:
        return op.ReverseSequence(dz, lengths, batch_axis=batch_axis, time_axis=time_axis), None

    return z, pullback


@rrule("DepthToSpace")
def depth_to_space(x: Array, *, blocksize: int, mode: str | bytes) -> tuple[Array, Pullback]:
    """Blocks of the picture return to channels; CRD counts the channel before the place in the block, DCR after it."""
    z = op.DepthToSpace(x, blocksize=blocksize, mode=mode)

    def pullback(dz: Array) -> tuple[Array]:
        if text(mode) == "DCR":
            return (op.SpaceToDepth(dz, blocksize=blocksize, types=[x.type]),)
        n, c = dz.shape[:2]
        b = blocksize
        cut = reshape_to(dz, (n, c, x.shape[2], b, x.shape[3], b))
        return (reshape_to(transpose(cut, (0, 1, 3, 5, 2, 4)), x.shape),)

    return z, pullback


@rrule("SpaceToDepth")
def space_to_depth(x: Array, *, blocksize: int) -> tuple[Array, Pullback]:
    """Channels return to blocks of the picture."""
    z = op.SpaceToDepth(x, blocksize=blocksize)

    def pullback(dz: Array) -> tuple[Array]:
        return (op.DepthToSpace(dz, blocksize=blocksize, mode="DCR", types=[x.type]),)

    return z, pullback
