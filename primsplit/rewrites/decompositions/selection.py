"""Decompose one-hot encodings, positions and distinct rows in the dtypes that onnxruntime leaves out."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import dims
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.decompositions.axes import along, from_front, positions, size
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros


def one_hot(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """values[1] where the position along a new axis is the index, values[0] elsewhere, also for indices out of range.

    Negative indices count from the end, as in ONNX. values is [off, on].
    """
    depth = op.Reshape(op.Cast(depth, to=np.int64), np.array([1]))
    indices = op.Cast(indices, to=np.int64)
    indices = op.Where(op.Less(indices, 0), op.Add(indices, depth), indices)
    rank = indices.ndim + 1
    axis = from_front(axis, rank)
    hits = op.Equal(op.Unsqueeze(indices, np.array([axis])), along(positions(depth), axis, rank))
    off, on = (op.Gather(as_number(values), np.array(i)) for i in (0, 1))
    return op.Cast(op.Where(hits, on, off), to=values.dtype)


def as_number(values: Array) -> Array:
    """Return the same values in a dtype that Where has a kernel for and that holds them exactly."""
    wider = {"bool": np.uint8, "int16": np.int32, "uint16": np.int32, "uint64": np.int64, "bfloat16": np.float32}
    dtype = wider.get(values.dtype.name)
    return values if dtype is None else op.Cast(values, to=dtype)


def non_zero(x: Array) -> Array:
    """Return the positions of the elements that are not 0, as int64[rank, count]; NaN is not 0."""
    return op.NonZero(op.Not(op.Equal(x, np.zeros((), x.dtype))))


def hardmax(x: Array, *, axis: int = -1) -> Array:
    """1 at the first maximum along an axis, else 0."""
    axis = from_front(axis, x.ndim)
    if dims.at_least(x.shape[axis], 1):
        first = op.ArgMax(x, axis=axis, keepdims=1)
    else:  # ArgMax refuses an axis without elements
        ends = np.eye(1, 2 * x.ndim, x.ndim + axis, np.int64)[0]
        first = op.ArgMax(op.Pad(x, ends, np.asarray(-np.inf, x.dtype)), axis=axis, keepdims=1)
    return op.Cast(op.Equal(first, along(positions(size(x, axis)), axis, x.ndim)), to=x.dtype)


def mean(*arrays: Array) -> Array:
    """Return the mean of several arrays, which broadcast."""
    total = functools.reduce(op.Add, arrays)
    return op.Div(total, np.asarray(len(arrays), total.dtype))


def eye_like(x: Array, *, k: int = 0, dtype: int | None = None) -> Array:
    """1 on a diagonal, by default in the dtype of `x`, whose shape alone is read."""
    ones = op.EyeLike(zeros(x.shape, np.dtype(np.int64)), k=k)
    return op.Cast(ones, to=x.dtype if dtype is None else dtype)


@fault(
    "unique_of_rows_of_nothing",
    kind="aborts",
    operators=("Unique",),
    says="Unique along an axis of rows without elements ends the process.",
)
def unique_rows(x: Array, *, axis: int, sorted: int = 1) -> tuple[Array, ...]:
    """Unique along an axis if another may be empty, which ends onnxruntime's process: a 0 is appended to each row."""
    axis = from_front(axis, x.ndim)
    order = [axis, *(i for i in range(x.ndim) if i != axis)]
    front = op.Transpose(x, perm=order)
    rows = reshape_to(front, (front.shape[0], dims.product(front.shape[1:])))
    longer = op.Concat(rows, zeros((front.shape[0], 1), x.dtype), axis=1)
    values, *places = op.Unique(longer, axis=0, sorted=sorted, outputs=4)
    kept = reshape_to(op.Slice(values, [0], [-1], [1]), (values.shape[0], *front.shape[1:]))
    return op.Transpose(kept, perm=np.argsort(order).tolist()), *places


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "EyeLike": eye_like,
    "OneHot": one_hot,
    "NonZero": non_zero,
    "Hardmax": hardmax,
    "Mean": mean,
}

SPELT: dict[str, Callable[..., Any]] = {"Unique": unique_rows}
