"""Diagonals and triangles: diag, diagonal, trace, triu, tril, fill_diagonal."""

from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, as_count_or_none, one_axis
from primsplit.numpy.indexing import as_written
from primsplit.numpy.layout import read_only_view, reshape
from primsplit.numpy.ufuncs import call, select
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import count_up, expand_to, reshape_to, transpose, zeros, zeros_like


def diagonal_length(rows: Dim, columns: Dim, offset: int) -> Dim:
    """Return the number of elements of the diagonal that starts `offset` columns to the right."""
    down, right = max(0, -offset), max(0, offset)
    return dims.maximum(0, dims.minimum(rows - down, columns - right))


def diagonal_places(length: Dim, offset: int) -> Array:
    """Row and column of each element of a diagonal: int64[length, 2]."""
    start = np.array([[max(0, -offset), max(0, offset)]], np.int64)
    if isinstance(length, int):
        return Array(tracing.constant(np.arange(length)[:, None] + start))
    return op.Add(op.Unsqueeze(count_up(length), [1]), start)


@implements(np.diagonal)
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the planes of two axes, along a new last axis: a view that cannot be written to."""
    x = array_like(x)
    return read_only_view(x, lambda source: diagonals(source, offset, axis1, axis2))


def diagonals(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    """The diagonals of the planes of two axes, along a new last axis."""
    if x.ndim < 2:
        raise ShapeError("diag requires an array of at least two dimensions", place=tracing.user_place())
    first, second = one_axis(axis1, x.ndim), one_axis(axis2, x.ndim)
    if first == second:
        raise ShapeError("axis1 and axis2 cannot be the same", place=tracing.user_place())
    rest = [i for i in range(x.ndim) if i not in {first, second}]
    length = diagonal_length(x.shape[first], x.shape[second], offset)
    picked = op.GatherND(transpose(x, [first, second, *rest]), diagonal_places(length, offset))
    return transpose(picked, [*range(1, picked.ndim), 0])


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of the last two axes."""
    return diagonal(x, offset, -2, -1)


@implements(np.trace)
def trace_of(
    x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: npt.DTypeLike | None = None, out: Any = None
) -> Any:
    """The sums of the diagonals."""
    return call(np.sum, diagonals(array_like(x), offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """The sums of the diagonals of the last two axes."""
    return trace_of(x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    """The matrix with this diagonal, or the diagonal of a matrix: a view that cannot be written to."""
    v = array_like(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError("Input must be 1- or 2-d.", place=tracing.user_place())
    side = v.shape[0] + abs(k)
    return op.ScatterND(zeros((side, side), v.dtype), diagonal_places(v.shape[0], k), v)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with these elements, in a row, as its diagonal."""
    return diag(reshape(v, -1), k)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    """Zeros below the k-th diagonal."""
    return _triangle(m, k, upper=1)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    """Zeros above the k-th diagonal."""
    return _triangle(m, k, upper=0)


def _triangle(m: Any, k: int, *, upper: int) -> Array:
    m = array_like(m)
    if m.ndim == 1:
        m = expand_to(m, (m.shape[0], m.shape[0]))
    if m.ndim == 0:
        raise ShapeError("a triangle needs an array with at least one axis", place=tracing.user_place())
    if m.dtype.kind in "fV" or m.dtype in {np.dtype(np.int64), np.dtype(bool)}:
        return op.Trilu(m, np.array(k, np.int64), upper=upper) if k else op.Trilu(m, upper=upper)
    rows, columns = (count_up(d) for d in m.shape[-2:])
    distance = op.Sub(op.Unsqueeze(columns, [0]), op.Unsqueeze(rows, [1]))
    kept = op.GreaterOrEqual(distance, k) if upper else op.LessOrEqual(distance, k)
    return select(kept, m, zeros_like(m))


@implements(np.fill_diagonal)
def fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    """Write `val`, repeated as needed, to the main diagonal of an array of two axes, or of more of one size."""
    if a.ndim < 2:
        raise ShapeError("array must be at least 2-d", place=tracing.user_place())
    if wrap and a.ndim == 2:
        _fill_wrapped(a, val)
        return
    length = diagonal_length(a.shape[0], a.shape[1], 0)
    places = expand_to(op.Unsqueeze(count_up(length), [1]), (length, a.ndim))
    new = _along(as_written(val, a), length)
    a.assign(op.ScatterND(Array(a.value), places, new))


def _along(value: Array, length: Dim) -> Array:
    """The value, a scalar or a row that is repeated or cut, as a row of this length."""
    return expand_to(value, (length,)) if value.ndim == 0 else call(np.resize, value, (length,))


def _fill_wrapped(a: Array, val: Any) -> None:
    """Every (columns + 1)-th element of all rows in a row."""
    rows, columns = a.shape
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise ShapeError("fill_diagonal(wrap=True) needs an array of fixed shape", place=tracing.user_place())
    places = np.arange(0, rows * columns, columns + 1)
    row = reshape_to(Array(a.value), (rows * columns,))
    filled = op.ScatterND(row, places[:, None], _along(as_written(val, a), len(places)))
    a.assign(reshape_to(filled, a.shape))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Array, k: int = 0) -> Any:
    """Return the indices of a matrix's elements on and above the k-th diagonal."""
    return triu_indices(*_sizes_of_matrix(arr, k))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Array, k: int = 0) -> Any:
    """Return the indices of a matrix's elements on and below the k-th diagonal."""
    return tril_indices(*_sizes_of_matrix(arr, k))


def _sizes_of_matrix(x: Array, k: int) -> tuple[Dim, int, Dim]:
    if x.ndim != 2:
        raise ShapeError("input array must be 2-d", place=tracing.user_place())
    return x.shape[0], k, x.shape[1]


def triu_indices(n: Dim, k: int = 0, m: Dim | None = None) -> Any:
    """As in NumPy; the sizes may be known only at run time."""
    return _places_of_triangle(n, k, m, upper=True)


def tril_indices(n: Dim, k: int = 0, m: Dim | None = None) -> Any:
    """As in NumPy; the sizes may be known only at run time."""
    return _places_of_triangle(n, k, m, upper=False)


def _places_of_triangle(n: Dim, k: int, m: Dim | None, *, upper: bool) -> Any:
    n = as_count_or_none(n)
    m = n if m is None else as_count_or_none(m)
    if isinstance(n, int) and isinstance(m, int):
        return np.triu_indices(n, k, m) if upper else np.tril_indices(n, k, m)
    rows, columns = count_up(n), count_up(m)
    distance = op.Sub(op.Unsqueeze(columns, [0]), op.Unsqueeze(rows, [1]))
    return call(np.nonzero, op.GreaterOrEqual(distance, k) if upper else op.LessOrEqual(distance, k))


@implements(np.diag_indices_from)
def diag_indices_from(arr: Array) -> Any:
    """Return the indices of the main diagonal of an array whose sizes are all equal."""
    if arr.ndim < 2:
        raise ShapeError("input array must be at least 2-d", place=tracing.user_place())
    if not all(dims.could_be(d, arr.shape[0]) for d in arr.shape):
        raise ShapeError("All dimensions of input must be of equal length", place=tracing.user_place())
    return diag_indices(next((d for d in arr.shape if isinstance(d, int)), arr.shape[0]), arr.ndim)


def diag_indices(n: Dim, ndim: int = 2) -> Any:
    """As in NumPy; the size may be known only at run time."""
    n = as_count_or_none(n)
    return np.diag_indices(n, ndim) if isinstance(n, int) else (count_up(n),) * ndim
