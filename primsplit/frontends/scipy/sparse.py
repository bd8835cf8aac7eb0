"""Products of SciPy's sparse matrices, which are constants, with traced arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.calls.primitive import primitive, rrule

__all__ = ["product"]

DENSE = 8
"""A matrix of fewer elements than so many times those that are not 0 is multiplied as a dense one."""

EVEN = 4
"""Rows may be filled up to so many times the elements that are not 0; a matrix with a longer row is scattered."""


def product(a: Any, x: Any) -> Any:
    """`a @ x` for a sparse matrix (anything with SciPy's `tocsr`) and an array of one axis or two.

    Costs the elements of `a` that are not 0, forward and back. Raises ShapeError where the sizes do not fit.
    """
    x = array_like(x)
    rows, columns = a.shape
    if len(x.shape) not in {1, 2} or not dims.could_be(x.shape[0], columns):
        raise ShapeError(
            f"a sparse matrix of shape {rows, columns} times an array of shape ({','.join(map(str, x.shape))})",
            place=tracing.user_place(),
        )
    wide = np.result_type(a.dtype, x.dtype)
    if wide.kind == "c" or rows * columns <= DENSE * max(a.nnz, 1):
        return np.matmul(a.toarray(), x)
    x = reshape_to(cast_to(x, wide), (columns, *x.shape[1:]))
    made = a.astype(wide).tocsr()
    made.sum_duplicates()
    forth, back = _filled(made), _filled(made.T.tocsr())
    if forth is None or back is None:
        return _scattered(made, x)
    return _by_rows(x, *forth, *back)


def _filled(a: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """The elements of each row and their columns, [rows, longest row], short rows filled with 0; None where uneven."""
    counts = np.diff(a.indptr)
    longest = int(counts.max(initial=0))
    if counts.size * longest > EVEN * max(a.nnz, 1):
        return None
    values, places = np.zeros((counts.size, longest), a.dtype), np.zeros((counts.size, longest), np.int64)
    row = np.repeat(np.arange(counts.size), counts)
    place = np.arange(a.nnz) - np.repeat(a.indptr[:-1], counts)
    values[row, place], places[row, place] = a.data, a.indices
    return values, places


@primitive
def _by_rows(x: Any, values: Any, places: Any, back_values: Any, back_places: Any) -> Any:
    """The sums, row by row, of values times the elements of `x` at their places."""
    picked = np.take(x, places, axis=0)
    return np.sum(picked * (values if picked.ndim == 2 else values[:, :, None]), axis=1)


@rrule(_by_rows)
def _by_rows_rule(x: Any, *sides: Any) -> tuple[Any, Callable[..., Any]]:
    """dx = A^T dz, by the rows of A^T: nothing is scattered."""
    forth, back = sides[:2], sides[2:]

    def pullback(dz: Array) -> tuple[Any, ...]:
        return (_by_rows(dz, *back, *forth), None, None, None, None)

    return _by_rows(x, *sides), pullback


def _scattered(a: Any, x: Array) -> Array:
    """The product of a matrix with a few long rows or columns: each element's share is added at its row."""
    listed = a.tocoo()
    data = listed.data if len(x.shape) == 1 else listed.data[:, None]
    shares = op.Mul(op.Gather(x, listed.col.astype(np.int64), axis=0), data)
    start = zeros((a.shape[0], *x.shape[1:]), x.dtype)
    return op.ScatterND(start, listed.row.astype(np.int64)[:, None], shares, reduction="add")
