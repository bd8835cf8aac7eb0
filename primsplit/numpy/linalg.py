"""np.linalg: cholesky, solve, inv, det, slogdet, qr, lstsq, pinv, matrix_power; what is refused, and the way out."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array, implements
from primsplit.broadcasting import expand_to, full, reshape_to
from primsplit.dims import Dim, Shape, product
from primsplit.errors import DtypeError, PrimsplitError, ShapeError, UnsupportedFunction
from primsplit.infer import broadcast_shapes
from primsplit.ir import Const, Op, Value
from primsplit.numpy.dense import cholesky as cholesky_unit
from primsplit.numpy.dense import determinant, lu
from primsplit.numpy.dense import qr as qr_unit
from primsplit.numpy.dense.loop import identity_like, swapped, upper
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.numpy.products import matrix_product, operand
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op


class QRResult(NamedTuple):
    """What np.linalg.qr returns."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What np.linalg.slogdet returns."""

    sign: Array
    logabsdet: Array


def matrices(*values: Any) -> list[Array]:
    """The values in the float dtype that np.linalg computes in: integers become float64.

    Raises ShapeError for a first value that is no matrix, DtypeError for float16, as NumPy does.
    """
    arrays = [operand(v) for v in values]
    dtypes = [a.dtype if a.type.is_float else np.dtype(np.float64) for a in arrays]
    dtype = np.result_type(*dtypes)
    if dtype.itemsize < 4:
        raise DtypeError(f"np.linalg does not take {dtype}", place=tracing.user_place(), cure="Convert to float32.")
    if len(arrays[0].shape) < 2:
        raise ShapeError("np.linalg takes arrays with at least two axes", place=tracing.user_place())
    return [cast_to(a, dtype) for a in arrays]


def square(*values: Any) -> list[Array]:
    """`matrices`, the first of which is square. Raises ShapeError where it can never be."""
    arrays = matrices(*values)
    rows, columns = arrays[0].shape[-2:]
    if not dims.could_be(rows, columns):
        raise ShapeError(f"the matrix must be square, not {rows} by {columns}", place=tracing.user_place())
    return [_with_rows(arrays[0], rows, axis=-1), *arrays[1:]]


def _with_rows(x: Array, size: Dim, *, axis: int) -> Array:
    """`x` whose axis has this size at run time, or the run fails."""
    if dims.same(x.shape[axis], size):
        return x
    shape = list(x.shape)
    shape[axis] = size
    return reshape_to(x, shape)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """The lower (or upper) triangular factor; reads the same triangle of `a`, which alone has a gradient.

    NaN, where NumPy raises, for a matrix that is not positive definite.
    """
    (a,) = square(a)
    return swapped(cholesky_unit.cholesky(swapped(a))) if upper else cholesky_unit.cholesky(a)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    """The solution of A x = b; `b` is a vector only if it has one axis. Inf or NaN, where NumPy raises, if singular.

    Where A is seen to be triangular (a Cholesky factor, its transpose, np.tril), by substitution: a fifth of the time.
    """
    a, b = square(a, b)
    unit = _solver(a)
    if len(b.shape) == 1:
        return op.Squeeze(solve_matrix(a, op.Unsqueeze(b, [1]), unit), [-1])
    return solve_matrix(a, b, unit)


def _solver(a: Array) -> Callable[[Array, Array], Array]:
    """Elimination, or substitution where the ops recorded so far show that the matrix is triangular."""
    value: Value | None = a.value
    turned = False
    for made in reversed(tracing.current().ops):
        if not any(v is value for v in made.outputs):
            continue
        rank = len(a.shape)
        if made.kind == "Transpose" and made.attributes["perm"] == [*range(rank - 2), rank - 1, rank - 2]:
            value, turned = made.inputs[0], not turned
            continue
        is_lower = _triangle(made)
        return lu.solve if is_lower is None else partial(solve_triangular, lower=is_lower != turned)
    return lu.solve


def _triangle(made: Op) -> bool | None:
    """True for an op that makes lower triangles, False for upper ones, else None."""
    if getattr(made.attributes.get("rule"), "primitive", None) is cholesky_unit.cholesky:
        return True
    if made.kind != "Trilu":
        return None
    offset = made.inputs[1] if len(made.inputs) > 1 else None
    if offset is not None and not isinstance(offset, Const):
        return None
    diagonal = 0 if offset is None else int(offset.numpy())
    is_upper = bool(made.attributes.get("upper", 1))
    beyond = diagonal < 0 if is_upper else diagonal > 0
    return None if beyond else not is_upper


def solve_matrix(a: Array, b: Array, unit: Callable[[Array, Array], Array]) -> Array:
    """`unit(a, b)` with the batch axes of both broadcast; one matrix for many right-hand sides is factored once."""
    if not dims.could_be(a.shape[-1], b.shape[-2]):
        raise ShapeError(
            f"a matrix of {a.shape[-1]} columns and a right-hand side of {b.shape[-2]} rows", place=tracing.user_place()
        )
    b = _with_rows(b, a.shape[-1], axis=-2)
    if len(a.shape) == 2 and len(b.shape) > 2:
        return _side_by_side(a, b, unit)
    batch = _batch(a.shape[:-2], b.shape[:-2])
    return unit(expand_to(a, (*batch, *a.shape[-2:])), expand_to(b, (*batch, *b.shape[-2:])))


def _batch(a: Shape, b: Shape) -> Shape:
    try:
        return broadcast_shapes(a, b)
    except ShapeError as error:
        error.place = tracing.user_place()
        raise


def _side_by_side(a: Array, b: Array, unit: Callable[[Array, Array], Array]) -> Array:
    """The right-hand sides [..., n, k] as the columns of one matrix."""
    rank = len(b.shape)
    front = op.Transpose(b, perm=[rank - 2, *range(rank - 2), rank - 1])
    found = unit(a, reshape_to(front, [b.shape[-2], product((*b.shape[:-2], b.shape[-1]))]))
    return op.Transpose(reshape_to(found, front.shape), perm=[*range(1, rank - 1), 0, rank - 1])


@implements(np.linalg.inv)
def inv(a: Any) -> Array:
    """The inverse, by solving for the identity. Inf or NaN, where NumPy raises, if singular."""
    (a,) = square(a)
    return _solver(a)(a, identity_like(a))


@implements(np.linalg.det)
def det(a: Any) -> Array:
    """The determinant. Up to 3 by 3 by its polynomial; else by elimination, with the cofactors as its gradient.

    The gradient is right at singular matrices too. The second derivative of a singular matrix larger than 3 by 3
    is NaN.
    """
    (a,) = square(a)
    if isinstance(a.shape[-1], int) and a.shape[-1] <= len(_SMALL) - 1:
        return _SMALL[a.shape[-1]](a)
    found: Array = determinant.determinant_with(a, *lu.factor(a))
    return found


def _entries(a: Array) -> list[list[Array]]:
    count = a.shape[-1]
    rows = [op.Gather(a, np.array(i), axis=-2) for i in range(int(count))]
    return [[op.Gather(r, np.array(j), axis=-1) for j in range(len(rows))] for r in rows]


def _det0(a: Array) -> Array:
    return full(a.shape[:-2], a.dtype.type(1))


def _det1(a: Array) -> Array:
    return _entries(a)[0][0]


def _det2(a: Array) -> Array:
    (a, b), (c, d) = _entries(a)
    return op.Sub(op.Mul(a, d), op.Mul(b, c))


def _det3(m: Array) -> Array:
    (a, b, c), (d, e, f), (g, h, i) = _entries(m)
    first = op.Mul(a, op.Sub(op.Mul(e, i), op.Mul(f, h)))
    second = op.Mul(b, op.Sub(op.Mul(f, g), op.Mul(d, i)))
    third = op.Mul(c, op.Sub(op.Mul(d, h), op.Mul(e, g)))
    return op.Add(op.Add(first, second), third)


_SMALL: tuple[Callable[[Array], Array], ...] = (_det0, _det1, _det2, _det3)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """Sign and log of the absolute determinant; 0 and -inf if singular, where the gradient is inf or NaN."""
    (a,) = square(a)
    factors = lu.factor(a)
    sign = determinant.determinant_sign(factors[1], factors[2])
    return SlogdetResult(
        op.Identity(sign, types=[_batch_type(a)]),
        determinant.log_determinant_with(a, *factors),
    )


def _batch_type(a: Array) -> Any:
    return type(a.type)(a.dtype, a.shape[:-2])


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R with orthonormal columns of Q, LAPACK's signs. The gradient needs full rank of the first columns.

    A wide matrix is [X Y] with a square X = Q U: then R = [U, Q^T Y].
    """
    (a,) = matrices(a)
    if mode == "complete":
        q = qr_unit.complete_q(a)
        return QRResult(q, upper(op.MatMul(swapped(q), a)))
    if mode not in {"reduced", "r"}:
        raise UnsupportedFunction(
            f"np.linalg.qr with mode={mode!r} has no form for traced arrays",
            place=tracing.user_place(),
            cure="Use mode='reduced' or mode='r'.",
        )
    q, r = _reduced_qr(a)
    return r if mode == "r" else QRResult(q, r)


def _reduced_qr(a: Array) -> tuple[Array, Array]:
    rows, columns = a.shape[-2:]
    if dims.at_least(rows, columns):
        found: tuple[Array, Array] = qr_unit.tall_qr(a)
        return found
    count = dims.minimum(rows, columns)
    kept = type(a.type)(a.dtype, (*a.shape[:-1], count))
    rest = type(a.type)(a.dtype, (*a.shape[:-1], columns - count))
    tall = op.Slice(a, [0], [count], [-1], types=[kept])
    beyond = op.Slice(a, [count], [columns], [-1], types=[rest])
    q, r = qr_unit.tall_qr(tall)
    joined = type(a.type)(a.dtype, (*a.shape[:-2], count, columns))
    return q, op.Concat(r, op.MatMul(swapped(q), beyond), axis=-1, types=[joined])


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The least-squares solution, for a matrix of full rank, by QR: (x, residuals, rank, refused singular values).

    A wide matrix gets the solution of least norm. A rank-deficient matrix gives inf or NaN, or a solution that
    rounding decides. Which of the two sides is longer must be known when tracing.
    """
    a, b = matrices(a, b)
    if len(a.shape) != 2 or len(b.shape) > 2:
        raise ShapeError("lstsq takes a matrix, and a vector or matrix", place=tracing.user_place())
    right = op.Unsqueeze(b, [1]) if len(b.shape) == 1 else b
    is_tall = _tall(a)
    x = _tall_solution(a, right) if is_tall else _least_norm(a, right)
    residual = op.Sub(op.MatMul(a, x), right)
    squares = op.ReduceSum(op.Mul(residual, residual), [0], keepdims=0)
    overdetermined = is_tall and not dims.same(a.shape[0], a.shape[1])
    residuals = squares if overdetermined else op.Slice(squares, [0], [0], [0])
    rank = dims.minimum(a.shape[0], a.shape[1])
    x = op.Squeeze(x, [1]) if len(b.shape) == 1 else x
    return x, residuals, rank, Refused("the singular values that lstsq returns")


def _tall(a: Array) -> bool:
    """True for a matrix that is at least as high as wide. Raises UndecidableSize where only the run can tell."""
    rows, columns = a.shape[-2:]
    try:
        return bool(rows >= columns)
    except PrimsplitError as error:
        error.place = tracing.user_place()
        raise


def _tall_solution(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(a)
    x: Array = solve_triangular(r, op.MatMul(swapped(q), b), lower=False)
    return x


def _least_norm(a: Array, b: Array) -> Array:
    q, r = qr_unit.tall_qr(swapped(a))
    return op.MatMul(q, solve_triangular(swapped(r), b, lower=True))


class Refused:
    """A part of a result that primsplit does not compute: any use of it is an error at the user's line."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        raise refusal(self._what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise refusal(self._what)


def refusal(what: str) -> UnsupportedFunction:
    """The error for what needs singular values or eigenvalues."""
    return UnsupportedFunction(
        f"{what}: ONNX has no operator for it, and primsplit no composition",
        place=tracing.user_place(),
        cure="For positive definite matrices use cholesky, for full rank qr, solve, slogdet or lstsq; "
        "or compute it outside and pass it as an argument.",
    )


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """The pseudo-inverse of a matrix of full rank, by QR; no singular value is cut off."""
    (a,) = matrices(a)
    is_tall = _tall(a)
    q, r = qr_unit.tall_qr(a if is_tall else swapped(a))
    inverse: Array = solve_triangular(r, swapped(q), lower=False)
    return inverse if is_tall else swapped(inverse)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Array:
    """The matrix times itself, by repeated squaring; of the inverse for a negative exponent."""
    a = operand(a)
    if len(a.shape) < 2:
        raise ShapeError("np.linalg takes arrays with at least two axes", place=tracing.user_place())
    if n == 0:
        return identity_like(a)
    base = inv(a) if n < 0 else a
    result: Array | None = None
    for digit in reversed(f"{abs(n):b}"):
        if digit == "1":
            result = base if result is None else matrix_product(result, base)
        base = matrix_product(base, base)
    return base if result is None else result


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """The solution x of tensordot(a, x, x.ndim) = b."""
    a, b = operand(a), operand(b)
    if axes is not None:
        a = op.Transpose(a, perm=[i for i in range(len(a.shape)) if i not in axes] + list(axes))
    rest = a.shape[len(b.shape) :]
    count = product(rest)
    found = solve(reshape_to(a, [product(b.shape), count]), reshape_to(b, [product(b.shape)]))
    return reshape_to(found, rest)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of tensordot(a, ., ind)."""
    a = operand(a)
    left, right = a.shape[:ind], a.shape[ind:]
    return reshape_to(inv(reshape_to(a, [product(left), product(right)])), [*right, *left])


def _refuse(function: Any) -> None:
    def refused(*args: Any, **options: Any) -> Any:
        raise refusal(f"np.linalg.{function.__name__}")

    implements(function)(refused)


for _function in (
    np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.svd, np.linalg.svdvals,
    np.linalg.matrix_rank, np.linalg.cond,
):  # fmt: skip
    _refuse(_function)
