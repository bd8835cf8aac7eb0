"""Decompose AffineGrid in float64, whose positions onnxruntime before 1.26 computes in float32."""

import numpy as np

from primsplit.ir import Type
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


@fault(
    "float64_affine_grid_in_float32",
    kind="wrong",
    operators=("AffineGrid",),
    says="AffineGrid of float64 is computed in float32.",
    before="1.25",
)
def affine_grid(theta: Array, size: Array, *, align_corners: int = 0) -> Array:
    """Multiply theta [n, r, r + 1] by each position of an image of the size [n, channels, ...]: [n, ..., r].

    A position is its coordinates, first that along the last axis of the image, and a 1. They are the middles of pixels
    between -1 and 1, or with `align_corners` go from -1 to 1; a single pixel is then at 1, as in onnxruntime.
    """
    given = size.shape[0]
    rank = given - 2 if isinstance(given, int) else 3 if theta.shape[1] == 3 else 2
    shape = op.Slice(size, [2], [rank + 2])
    spread = tuple(fresh("pixels") for _ in range(rank))
    places = []
    for axis in reversed(range(rank)):
        count = op.Squeeze(op.Slice(size, [axis + 2], [axis + 3]), [0])
        pixels = op.Cast(op.Range(0, count, 1, types=[Type(np.int64, (spread[axis],))]), to=theta.dtype)
        along = _coordinates(pixels, op.Cast(count, to=theta.dtype), align_corners)
        wide = op.Unsqueeze(along, [i + 1 for i in range(rank - 1 - axis)])
        places.append(op.Expand(wide, shape, types=[Type(theta.dtype, spread)]))
    places.append(op.Expand(np.ones((), theta.dtype), shape, types=[Type(theta.dtype, spread)]))
    points = op.Concat(*(op.Unsqueeze(p, [rank]) for p in places), axis=rank)
    # As one product of matrices: onnxruntime does not broadcast a stack of no matrices.
    total, images = fresh("places"), theta.shape[0]
    count = op.ReduceProd(shape, [0], keepdims=1)
    listed = op.Reshape(points, op.Concat(count, [rank + 1], axis=0), allowzero=1)
    listed = op.Identity(listed, types=[Type(theta.dtype, (total, rank + 1))])
    rows = op.MatMul(reshape_to(theta, (images * rank, rank + 1)), op.Transpose(listed, perm=[1, 0]))
    stacked = op.Transpose(reshape_to(rows, (images, rank, total)), perm=[0, 2, 1])
    return op.Reshape(stacked, op.Concat(op.Slice(size, [0], [1]), shape, [rank], axis=0), allowzero=1)


def _coordinates(pixels: Array, count: Array, align_corners: int) -> Array:
    if not align_corners:
        return (2.0 * pixels + 1.0 - count) / count
    last = count - 1.0
    return op.Where(op.Equal(last, 0.0), 1.0, (2.0 * pixels - last) / op.Max(last, 1.0))
