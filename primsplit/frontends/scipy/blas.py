"""scipy.linalg.blas for traced arrays: products of matrices and vectors, added to another array.

BLAS has no derivatives; these functions are written in operators that have them, so alpha, beta, the factors and the
added array all have gradients. Of C = alpha op(A) op(B) + beta C, dalpha is the sum of op(A) op(B) dC, dbeta that of C
dC, dC_in is beta dC, and op(A) and op(B) have alpha dC op(B)^T and alpha op(A)^T dC.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.frontends.scipy.operands import not_empty
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.products import matrix_product
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.hooks import HOOKS

__all__ = ["dgemm", "dgemv", "sgemm", "sgemv"]


def _gemm(dtype: npt.DTypeLike, name: str) -> Callable[..., Any]:
    def gemm(
        alpha: Any,
        a: Any,
        b: Any,
        beta: Any = 0.0,
        c: Any = None,
        trans_a: int = 0,
        trans_b: int = 0,
        overwrite_c: int = 0,
    ) -> Any:
        """`alpha op(a) op(b) + beta c`; with a beta of 0, `c` is not read, whatever is in it.

        `trans_a` and `trans_b` are 1 or 2 for a transposed factor. With `overwrite_c` a traced `c` is not to be read
        any more: whether SciPy has then written to it depends on its memory layout. Raises ShapeError.
        """
        left = _matrix(a, dtype, "a", name, transposed=bool(trans_a))
        right = _matrix(b, dtype, "b", name, transposed=bool(trans_b))
        _check_fits(left.shape[1], right.shape[0], f"{name} cannot multiply {left.type} and {right.type}")
        product = _scaled(matrix_product(left, right), alpha)
        return _added(product, beta, c, overwritten=bool(overwrite_c), name=name)

    gemm.__name__ = name
    return gemm


def _gemv(dtype: npt.DTypeLike, name: str) -> Callable[..., Any]:
    def gemv(
        alpha: Any,
        a: Any,
        x: Any,
        beta: Any = 0.0,
        y: Any = None,
        offx: int = 0,
        incx: int = 1,
        offy: int = 0,
        incy: int = 1,
        trans: int = 0,
        overwrite_y: int = 0,
    ) -> Any:
        """`alpha op(a) x + beta y`; with a beta of 0, `y` is not read, whatever is in it. See `dgemm`.

        Raises UnsupportedFunction for offsets and strides, which slices say. A matrix without elements is refused, as
        by BLAS.
        """
        if (offx, incx, offy, incy) != (0, 1, 0, 1):
            raise UnsupportedFunction(
                f"{name} with offsets or strides has no form for traced arrays",
                place=tracing.user_place(),
                cure="Give it slices: x[offx::incx].",
            )
        matrix = not_empty(_matrix(a, dtype, "a", name, transposed=bool(trans)))
        vector = cast_to(array_like(x), dtype)
        if len(vector.shape) != 1:
            raise ShapeError(f"{name} takes a vector as x, not {vector.type}", place=tracing.user_place())
        _check_fits(matrix.shape[1], vector.shape[0], f"{name} cannot multiply {matrix.type} and {vector.type}")
        product = _scaled(matrix_product(matrix, vector), alpha)
        return _added(product, beta, y, overwritten=bool(overwrite_y), name=name)

    gemv.__name__ = name
    return gemv


def _matrix(x: Any, dtype: npt.DTypeLike, which: str, name: str, *, transposed: bool) -> Array:
    """A factor as it is multiplied; a vector is a column, as SciPy reads it."""
    array = cast_to(array_like(x), dtype)
    if len(array.shape) == 1:
        array = op.Unsqueeze(array, [1])
    if len(array.shape) != 2:
        raise ShapeError(f"{name} takes a matrix as {which}, not {array.type}", place=tracing.user_place())
    return op.Transpose(array, perm=[1, 0]) if transposed else array


def _check_fits(left: dims.Dim, right: dims.Dim, told: str) -> None:
    if not dims.could_be(left, right):
        raise ShapeError(told, place=tracing.user_place())


def _scaled(product: Array, alpha: Any) -> Array:
    if _is_number(alpha, 1):
        return product
    return op.Mul(product, cast_to(array_like(alpha), product.dtype))


def _is_number(value: Any, number: int) -> bool:
    """Whether a value is known to equal this number."""
    known = value.known() if isinstance(value, Array) else value
    return isinstance(known, int | float | np.ndarray | np.generic) and np.ndim(known) == 0 and bool(known == number)


def _added(product: Array, beta: Any, c: Any, *, overwritten: bool, name: str) -> Array:
    """The product and beta times `c`, which an array of zeros stands for where there is none."""
    if c is None:
        return product
    given = array_like(c)
    before = cast_to(given, product.dtype)
    same = len(before.shape) == len(product.shape) and all(map(dims.could_be, before.shape, product.shape))
    if not same:
        raise ShapeError(f"{name} cannot add a {before.type} to a {product.type}", place=tracing.user_place())
    found = product if _is_number(beta, 0) else op.Add(product, _times_beta(before, beta))
    if overwritten and isinstance(c, Array):
        c.poison()
    return found


def _times_beta(c: Array, beta: Any) -> Array:
    """`beta c`, where a beta that turns out to be 0 makes 0 also of what is not finite, as BLAS has it.

    Such an element counts as 0 in the derivative by beta too; the others count as they are, so that it is right at 0.
    """
    if _is_number(beta, 1):
        return c
    factor = cast_to(array_like(beta), c.dtype)
    if isinstance(beta, Array) and beta.known() is None:
        unread = op.And(op.Equal(factor, 0.0), op.Not(HOOKS.apply_ufunc(np.isfinite, "__call__", c)))
        c = op.Where(unread, np.zeros((), c.dtype), c)
    return op.Mul(c, factor)


dgemm = _gemm(np.float64, "dgemm")
sgemm = _gemm(np.float32, "sgemm")
dgemv = _gemv(np.float64, "dgemv")
sgemv = _gemv(np.float32, "sgemv")
