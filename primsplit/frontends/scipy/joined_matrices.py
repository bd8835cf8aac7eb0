"""Sparse matrices joined from others, some with traced elements: SciPy's names, with dense results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.assembled import Assembled, dense, is_sparse
from primsplit.frontends.scipy.operands import of_length
from primsplit.ir.errors import ShapeError
from primsplit.numpy.creation import eye
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import zeros

__all__ = ["FUNCTIONS"]


def _made(array: Any, parts: Sequence[Any], dtype: Any = None) -> Assembled:
    """A matrix of parts, which is one of SciPy's older classes unless some part is of the newer."""
    sparse = [p for p in parts if is_sparse(p)]
    is_matrix = all(p.is_matrix if isinstance(p, Assembled) else type(p).__name__.endswith("_matrix") for p in sparse)
    found = array_like(array)
    return Assembled(found if dtype is None else cast_to(found, dtype), is_matrix=is_matrix)


def _kron(A: Any, B: Any, format: Any = None) -> Assembled:
    """Kronecker's product."""
    return _made(np.kron(dense(A), dense(B)), (A, B))


def _kronsum(A: Any, B: Any, format: Any = None) -> Assembled:
    """Kronecker's sum: I x A + B x I."""
    first, second = dense(A), dense(B)
    found = np.kron(eye(second.shape[0]), first) + np.kron(second, eye(first.shape[0]))
    return _made(found, (A, B))


def _vstack(blocks: Sequence[Any], format: Any = None, dtype: Any = None) -> Assembled:
    """Matrices one below the other."""
    return _made(np.concatenate([dense(b) for b in blocks], axis=0), blocks, dtype)


def _hstack(blocks: Sequence[Any], format: Any = None, dtype: Any = None) -> Assembled:
    """Matrices side by side."""
    return _made(np.concatenate([dense(b) for b in blocks], axis=1), blocks, dtype)


def _block_array(blocks: Sequence[Sequence[Any]], format: Any = None, dtype: Any = None) -> Assembled:
    """Rows of matrices, zeros for None. Raises ShapeError where a row or a column has None alone."""
    given = [[None if b is None else dense(b) for b in row] for row in blocks]
    heights = [_size(row, 0) for row in given]
    widths = [_size(column, 1) for column in zip(*given, strict=True)]
    rows = [
        np.concatenate([_filled(b, height, width) for b, width in zip(row, widths, strict=True)], axis=1)
        for row, height in zip(given, heights, strict=True)
    ]
    return _made(np.concatenate(rows, axis=0), [b for row in blocks for b in row if b is not None], dtype)


def _size(blocks: Sequence[Any], axis: int) -> Any:
    found = next((b.shape[axis] for b in blocks if b is not None), None)
    if found is None:
        raise ShapeError("a row or a column of blocks has None alone", place=tracing.user_place())
    return found


def _filled(block: Any, height: Any, width: Any) -> Any:
    if block is None:
        return zeros((height, width), np.dtype(np.float64))
    return of_length(of_length(block, height, 0), width, 1)


def _block_diag(mats: Sequence[Any], format: Any = None, dtype: Any = None) -> Assembled:
    """Matrices along the diagonal; a number is a matrix of its own."""
    given = [m if is_sparse(m) else np.atleast_2d(array_like(m)) for m in mats]
    blocks = [[m if i == j else None for j in range(len(given))] for i, m in enumerate(given)]
    return _block_array(blocks, format, dtype)


def _tril(A: Any, k: int = 0, format: Any = None) -> Assembled:
    """The lower triangle."""
    return _made(np.tril(dense(A), k), (A,))


def _triu(A: Any, k: int = 0, format: Any = None) -> Assembled:
    """The upper triangle."""
    return _made(np.triu(dense(A), k), (A,))


FUNCTIONS = {
    "kron": _kron, "kronsum": _kronsum, "vstack": _vstack, "hstack": _hstack, "bmat": _block_array,
    "block_array": _block_array, "block_diag": _block_diag, "tril": _tril, "triu": _triu,
}  # fmt: skip
"""By SciPy's names."""
