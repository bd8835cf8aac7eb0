"""NumPy's convolution and correlation of two vectors."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import reaching
from primsplit.numpy.products import computed, operands
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import reshape_to


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The convolution of two vectors; see `_full` for its cost."""
    a, v = (_vector(x) for x in operands(a, v))
    middle = (dims.minimum(a.shape[0], v.shape[0]) - 1) // 2
    return _window(all_sums(a, v), mode, a, v, middle)


def all_sums(a: Array, v: Array) -> Array:
    """The convolution of two vectors of one dtype, either of which may be empty."""
    return computed(_full, a, v)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The correlation of two vectors: the sums of a[n + k] v[n] for every shift k.

    Raises UndecidableSize for mode "same" where only the run can tell which vector is longer.
    """
    a, v = (_vector(x) for x in operands(a, v))
    middle: Dim = 0
    if mode == "same":
        middle = (v.shape[0] - 1) // 2 if a.shape[0] >= v.shape[0] else a.shape[0] // 2
    turned = op.Slice(v, [-1], [-(2**31)], [0], [-1], types=[v.type])
    return _window(all_sums(a, turned), mode, a, v, middle)


def _vector(x: Array) -> Array:
    """A vector, of which a run that gives it no elements fails. Raises ShapeError."""
    if len(x.shape) > 1:
        raise ShapeError("convolve and correlate take vectors", place=tracing.user_place())
    if not x.shape:
        return op.Unsqueeze(x, [0])
    if dims.same(x.shape[0], 0):
        error = ShapeError("what is convolved cannot be empty", place=tracing.user_place())
        error.numpys = ValueError(error.what)
        raise error
    return reaching(x, 0, 1)


def _full(a: Array, v: Array) -> Array:
    """All N + M - 1 sums: the outer product [M, N], its row i pushed i places to the right, summed over rows.

    Pushing is padding each row with M zeros and cutting the run of all rows into rows one shorter. Cost: 2 N M
    operations, and the memory traffic of five passes over N M elements.
    """
    n, m = a.shape[0], v.shape[0]
    rows = op.MatMul(op.Unsqueeze(v, [1]), op.Unsqueeze(a, [0]))
    padded = op.Pad(rows, [0, 0, 0, m], types=[Type(a.dtype, (m, n + m))])
    run = reshape_to(padded, [m * (n + m)])
    length = m * (n + m - 1)
    cut = op.Slice(run, [0], [length], [0], types=[Type(a.dtype, (length,))])
    return op.ReduceSum(reshape_to(cut, [m, n + m - 1]), [0], keepdims=0)


def _window(full: Array, mode: str, a: Array, v: Array, middle: Dim) -> Array:
    """The part of the full convolution that the mode keeps."""
    longer, shorter = dims.maximum(a.shape[0], v.shape[0]), dims.minimum(a.shape[0], v.shape[0])
    windows = {"same": (middle, longer), "valid": (shorter - 1, longer - shorter + 1)}
    if mode == "full":
        return full
    if mode not in windows:
        raise ShapeError(f"mode must be 'full', 'same' or 'valid', not {mode!r}", place=tracing.user_place())
    first, count = windows[mode]
    return op.Slice(full, [first], [first + count], [0], types=[Type(full.dtype, (count,))])
