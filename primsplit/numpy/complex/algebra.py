"""Linear algebra of complex arrays, built from `products`, `systems` and `singular`."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.complex.dispatch import PRODUCTS, offers
from primsplit.numpy.complex.operands import as_complex, operand
from primsplit.numpy.linear.spectral import MISSING, unit_cutoff
from primsplit.tracing.array import FUNCTIONS
from primsplit.tracing.complex_array import refused


@offers(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    """The product of matrices."""
    return PRODUCTS["matmul"](operand(x1), operand(x2))


@offers(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors along an axis, of which the first is conjugated."""
    pair: list[Any] = [operand(x) for x in (x1, x2)]
    return PRODUCTS["vecdot"](*(np.moveaxis(x, axis, -1) for x in pair))


@offers(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of matrices, one after the other, from the right where the last is a vector."""
    factors: list[Any] = [operand(a) for a in arrays]
    if len(factors) < 2 or out is not None:
        raise refused("np.linalg.multi_dot of less than two arrays, or with out=")
    if factors[-1].ndim == 1:
        return functools.reduce(lambda right, left: np.dot(left, right), factors[::-1])
    return functools.reduce(np.dot, factors)


@offers(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The condition number: of singular values for p None, 2 and -2, else |A| |A^-1| in that norm.

    Infinite, where the matrix has no NaN, for what would be NaN.
    """
    z: Any = as_complex(x)
    if p in {None, 2, -2}:
        s = np.linalg.svdvals(z)
        found: Any = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        found = np.linalg.matrix_norm(z, ord=p) * np.linalg.matrix_norm(np.linalg.inv(z), ord=p)
    is_known = ~FUNCTIONS[np.any](np.isnan(z), axis=(-2, -1))
    return np.where(np.isnan(found) & is_known, np.asarray(np.inf, found.dtype), found)


@offers(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = MISSING) -> Any:
    """The number of singular values above max(m, n) units in the last place of the largest, or above `tol`."""
    z: Any = as_complex(A)
    rtol = None if rtol is MISSING else rtol
    if tol is not None and rtol is not None:
        raise ShapeError("matrix_rank takes `tol` or `rtol`, not both", place=tracing.user_place())
    if z.ndim < 2:
        return np.any(z).astype(np.int64)
    s: Any = np.linalg.svd(z, compute_uv=False, hermitian=hermitian)
    if tol is None:
        share: Any = unit_cutoff(z.real, s) if rtol is None else np.expand_dims(operand(rtol), -1)
        bound = np.max(s, axis=-1, keepdims=True) * share
    else:
        bound = np.expand_dims(operand(tol), -1)
    return np.sum((s > bound).astype(np.int64), axis=-1)


@offers(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of tensordot(a, x, x.ndim) = b."""
    left: Any = as_complex(a)
    right: Any = as_complex(b)
    if axes is not None:
        left = np.transpose(left, [i for i in range(left.ndim) if i not in axes] + list(axes))
    rest = left.shape[right.ndim :]
    matrix = np.reshape(left, (dims.product(right.shape), dims.product(rest)))
    return np.reshape(np.linalg.solve(matrix, np.ravel(right)), rest)


@offers(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of tensordot(a, ., ind)."""
    z: Any = as_complex(a)
    left, right = z.shape[:ind], z.shape[ind:]
    matrix = np.reshape(z, (dims.product(left), dims.product(right)))
    return np.reshape(np.linalg.inv(matrix), (*right, *left))
