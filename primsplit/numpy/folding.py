"""Applies a ufunc to one element after the other along an axis, for ufuncs without an ONNX reduction or scan.

    np.bitwise_or.reduce(x)      # x int64[3]
    becomes
    BitwiseOr(BitwiseOr(BitwiseOr(0, x[0]), x[1]), x[2])

Few elements are folded one by one; many, or a number known only at run time, are folded in a loop.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import BFLOAT16, Type, dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import END, array_like, slab
from primsplit.numpy.cumulative import cumsum
from primsplit.numpy.reductions import total
from primsplit.numpy.ufuncs import cast_to, select
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, full
from primsplit.tracing.control.scanning import scan

UNROLLED = 64
"""Up to so many elements are folded one by one."""


def folding_dtype(ufunc: np.ufunc, x: Array, dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """Return the dtype in which a ufunc folds these numbers. Raises TypeError where NumPy does not fold them."""
    if x.dtype == BFLOAT16:
        return np.dtype(dtype or x.dtype)
    kinds: Any = (None, x.dtype, None)
    asked = {} if dtype is None else {"signature": (np.dtype(dtype), None, None)}
    found: np.dtype[Any] = ufunc.resolve_dtypes(kinds, casting="unsafe", reduction=True, **asked)[0]
    return found


def reduced_by(ufunc: np.ufunc, rows: Array, initial: Any, masks: Array | None) -> Array:
    """The rows folded into one, from a number if there is one; those that a mask hides are passed over.

    Without a number the first row is where it begins: a run in which there is none fails. Raises ShapeError.
    """
    if initial is not None:
        start = expand_to(cast_to(array_like(initial), rows.dtype), rows.shape[1:])
        return _folded(ufunc, start, rows, masks)
    if dims.same(rows.shape[0], 0):
        raise ShapeError(f"np.{ufunc.__name__}.reduce of no elements", place=tracing.user_place())
    first, rest = op.Gather(rows, np.array(0), axis=0), slab(rows, 0, 1, END)
    if ufunc is np.subtract:
        return op.Sub(first, cast_to(total(rest, 0), rows.dtype))
    return _folded(ufunc, first, rest, None)


def _folded(ufunc: np.ufunc, start: Array, rows: Array, masks: Array | None) -> Array:
    def step(done: Array, row: Array, mask: Array | None) -> Array:
        new: Array = ufunc(done, row)
        return new if mask is None else select(mask, new, done)

    size = rows.shape[0]
    if not isinstance(size, int) or size > UNROLLED:
        found, _ = scan(lambda done, each: (step(done, *each), None), start, (rows, masks))
        return Array(found.value)
    for i in range(size):
        mask = None if masks is None else op.Gather(masks, np.array(i), axis=0)
        start = step(start, op.Gather(rows, np.array(i), axis=0), mask)
    return start


def accumulated(ufunc: np.ufunc, rows: Array) -> Array:
    """The first row, the first two folded into one, the first three, ..."""
    size = rows.shape[0]
    if dims.same(size, 0):
        return rows
    first, rest = slab(rows, 0, 0, 1), slab(rows, 0, 1, END)
    # A run in which there are no rows begins with zeros, which nobody reads.
    some = (
        first
        if dims.at_least(size, 1)
        else op.Concat(rows, full((1, *rows.shape[1:]), np.zeros((), rows.dtype)), axis=0)
    )
    start = op.Gather(some, np.array(0), axis=0)
    if ufunc is np.subtract:
        later: Any = op.Sub(op.Unsqueeze(start, [0]), cast_to(cumsum(rest, 0), rows.dtype))
    elif isinstance(size, int) and size <= UNROLLED:
        steps = [start]
        for i in range(1, size):
            steps.append(ufunc(steps[-1], op.Gather(rows, np.array(i), axis=0)))
        return op.Concat(*(op.Unsqueeze(s, [0]) for s in steps), axis=0)
    else:
        _, later = scan(lambda done, row: (ufunc(done, row),) * 2, start, rest)
    return op.Concat(first, Array(later.value), axis=0, types=[Type(rows.dtype, rows.shape)])
