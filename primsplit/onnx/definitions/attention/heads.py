"""Lay out attention: heads packed in the last axis or on an axis of their own, and groups of heads that share keys."""

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


def split_heads(x: Array, heads: int) -> Array:
    """Return [batch, length, heads * size] as [batch, heads, length, size]."""
    return op.Transpose(unpacked(x, heads), perm=[0, 2, 1, 3])


def unpacked(x: Array, heads: int) -> Array:
    """Return [batch, length, heads * size] as [batch, length, heads, size]. Raises ShapeError if it does not divide."""
    batch, length, hidden = x.shape
    if heads < 1 or (isinstance(hidden, int) and hidden % heads):
        raise ShapeError(f"{hidden} features cannot be split into {heads} heads")
    size = hidden // heads
    declared = [Type(x.dtype, (batch, length, heads, size))]
    if isinstance(size, int) and size:
        return op.Reshape(x, [0, 0, heads, size], types=declared)
    return reshape_to(x, (batch, length, heads, size))


def joined_heads(x: Array) -> Array:
    """Return [batch, heads, length, size] as [batch, length, heads * size]."""
    return packed(op.Transpose(x, perm=[0, 2, 1, 3]))


def packed(x: Array) -> Array:
    """Return [batch, length, heads, size] as [batch, length, heads * size]."""
    batch, length, heads, size = x.shape
    hidden = heads * size
    if isinstance(hidden, int) and hidden:
        return op.Reshape(x, [0, 0, hidden], types=[Type(x.dtype, (batch, length, hidden))])
    return reshape_to(x, (batch, length, hidden))


def grouped(x: Array, key_heads: Dim) -> Array:
    """Return [batch, heads, length, size] with heads that share a key in one matrix: [batch, key heads, rows, size].

    Raises ShapeError if the heads cannot be divided among the keys' heads.
    """
    batch, heads, length, size = x.shape
    if dims.same(heads, key_heads):
        return x
    if isinstance(heads, int) and isinstance(key_heads, int) and (key_heads < 1 or heads % key_heads):
        raise ShapeError(f"{heads} heads of queries cannot share {key_heads} heads of keys")
    return reshape_to(x, (batch, key_heads, (heads // key_heads) * length, size))


def ungrouped(x: Array, heads: Dim, length: Dim) -> Array:
    """Undo `grouped`."""
    return reshape_to(x, (x.shape[0], heads, length, x.shape[-1])) if not dims.same(x.shape[1], heads) else x


def counted(start: Dim, size: Dim) -> Array:
    """Return start, start + 1, ...: an int64 vector of this size."""
    low, high = (np.int64(d) if isinstance(d, int) else d for d in (start, start + size))
    return op.Range(low, high, np.int64(1), types=[Type(np.int64, (size,))])


def default_scale(q: Array) -> Array | float:
    """Return 1 / sqrt(size of a head)."""
    size = q.shape[-1]
    if isinstance(size, int):
        return float(1 / np.sqrt(max(size, 1)))
    return op.Reciprocal(op.Sqrt(size_as(size, q.dtype)))


def scaled(q: Array, k: Array, scale: Array | float) -> tuple[Array, Array]:
    """Scale queries and keys; in 16 bits each by the root, so that their product does not overflow."""
    if q.dtype.itemsize > 2 or (isinstance(scale, float) and scale < 0):
        return op.Mul(q, scale), k
    root = float(np.sqrt(scale)) if isinstance(scale, float) else op.Sqrt(scale)
    return op.Mul(q, root), op.Mul(k, root)
