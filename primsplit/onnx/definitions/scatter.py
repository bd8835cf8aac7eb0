"""Define TensorScatter: write new rows to a cache of keys or values."""

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.errors import ShapeError
from primsplit.onnx.definitions.attention.heads import counted
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing import size_vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import inverse_permutation, transpose


@defines("TensorScatter")
def tensor_scatter(
    past_cache: Array,
    update: Array,
    write_indices: Array | None = None,
    *,
    outputs: int = 1,
    axis: int = -2,
    mode: str = "linear",
) -> Array:
    """Return the cache with `update` written along `axis` from the index of each sample of the batch on.

    `circular` continues at the start when the end is reached; `linear` fails at run time there.
    """
    rank = len(past_cache.shape)
    place = axis_of(axis, rank, "TensorScatter")
    if not place:
        raise ShapeError("TensorScatter writes along an axis that is not the batch")
    order = [0, place, *(i for i in range(1, rank) if i != place)]
    batch, length, longest = update.shape[0], update.shape[place], past_cache.shape[place]
    rows = op.Unsqueeze(counted(0, length), [0])
    if write_indices is not None:
        rows = op.Add(rows, op.Unsqueeze(write_indices, [1]))
    if mode == "circular":
        rows = op.Mod(rows, dims.maximum(longest, 1))
    shape = size_vector([batch, length])
    declared = [Type(np.int64, (batch, length))]
    samples = op.Expand(op.Unsqueeze(counted(0, batch), [1]), shape, types=declared)
    both = [op.Unsqueeze(x, [2]) for x in (samples, op.Expand(rows, shape, types=declared))]
    made = op.ScatterND(transpose(past_cache, order), op.Concat(*both, axis=2), transpose(update, order))
    return transpose(made, inverse_permutation(order))
