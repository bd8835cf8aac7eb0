"""Compute for Col2Im, with an image or block known only at run time, where each tap lies in the padded image."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from primsplit.ir import Type
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class Folded:
    """Indices into the flat padded image, [taps * windows]; the padding; the sizes, int64."""

    places: Array
    before: tuple[int, ...]
    after: tuple[int, ...]
    sizes: Array


def folded(
    image_shape: Array,
    block_shape: Array,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> Folded:
    """Return the indices for vectors of a known length. Raises PrimsplitError for others."""
    rank = image_shape.shape[0]
    if not isinstance(rank, int):
        raise PrimsplitError("Col2Im needs the number of axes of its image before the run")
    steps, spread, ends = strides or [1] * rank, dilations or [1] * rank, list(pads or [0] * (2 * rank))
    before, after = tuple(ends[:rank]), tuple(ends[rank:])
    sizes = op.Add(image_shape, np.add(before, after).astype(np.int64))
    places = op.Reshape(np.int64(0), [1] * (2 * rank))
    for axis in range(rank):
        size, block = (op.Squeeze(op.Slice(v, [axis], [axis + 1], [0]), [0]) for v in (sizes, block_shape))
        span = op.Add(op.Mul(op.Sub(block, 1), spread[axis]), 1)
        count = op.Add(op.Div(op.Sub(size, span), steps[axis]), 1)
        taps, windows = op.Mul(op.Range(0, block, 1), spread[axis]), op.Mul(op.Range(0, count, 1), steps[axis])
        at = op.Add(
            op.Unsqueeze(taps, [i for i in range(2 * rank) if i != axis]),
            op.Unsqueeze(windows, [i for i in range(2 * rank) if i != rank + axis]),
        )
        places = op.Add(op.Mul(places, size), at)
    flat = op.Reshape(places, [-1], types=[Type(np.int64, (fresh("places"),))])
    return Folded(flat, before, after, sizes)


def added_up(x: Array, found: Folded) -> Array:
    """Add up the elements of [N, C * taps, windows] at the same index: [N, C, image sizes, padding included]."""
    n, rank = x.shape[0], found.sizes.shape[0]
    places = op.Shape(found.places)
    # A -1 in its place could not be inferred where there are no images.
    channels = op.Div(op.ReduceProd(op.Shape(x, start=1), keepdims=1), op.Max(places, 1))
    rows = op.Reshape(x, op.Concat(op.Shape(x, start=0, end=1), channels, places, axis=0), allowzero=1)
    front = op.Transpose(rows, perm=[2, 0, 1])
    start = op.ConstantOfShape(
        op.Concat(op.ReduceProd(found.sizes, keepdims=1), op.Shape(rows, start=0, end=2), axis=0),
        value=np.zeros(1, x.dtype),
    )
    image = op.ScatterND(start, op.Unsqueeze(found.places, [1]), front, reduction="add")
    shape = op.Concat(op.Shape(rows, start=0, end=2), found.sizes, axis=0)
    declared = Type(x.dtype, (n, rows.shape[1], *(fresh("folded") for _ in range(int(rank)))))
    return op.Reshape(op.Transpose(image, perm=[1, 2, 0]), shape, types=[declared])
