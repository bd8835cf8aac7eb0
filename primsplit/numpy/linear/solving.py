"""Systems of equations: solve, inv, matrix_power, and their forms for tensors."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Const, Op, Value, dims
from primsplit.ir.dims import Shape, broadcast_shapes, product
from primsplit.ir.errors import ShapeError
from primsplit.numpy.dense import cholesky as cholesky_unit
from primsplit.numpy.dense import lu, small
from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.dense.triangular import solve_triangular
from primsplit.numpy.linear.operands import square
from primsplit.numpy.products import matrix_product
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.asarray import array_like
from primsplit.tracing.branching.raising import checked_array
from primsplit.tracing.broadcasting import expand_to, of_size, reshape_to


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    """The solution of A x = b; `b` is a vector only if it has one axis. Inf or NaN if singular (see `failing`).

    Where A is seen to be triangular (a Cholesky factor, its transpose, np.tril), by substitution: a fifth of the time.
    """
    a, b = square(a, b)
    unit = _solver(a)
    if len(b.shape) == 1:
        return op.Squeeze(solve_matrix(a, op.Unsqueeze(b, [1]), unit), [-1])
    return solve_matrix(a, b, unit)


def _solver(a: Array) -> Callable[[Array, Array], Array]:
    """Elimination, or substitution where the ops recorded so far show that the matrix is triangular.

    Of at most three equations the closed form is faster than both.
    """
    if dims.is_one(a.shape[-1]) or small.is_small(a.shape):
        return small.solve
    value: Value | None = a.value
    turned = False
    for made in reversed(tracing.current().ops):
        if not any(v is value for v in made.outputs):
            continue
        if (same := checked_array(made)) is not None:
            value = same
            continue
        rank = len(a.shape)
        if made.kind == "Transpose" and made.attributes["perm"] == [*range(rank - 2), rank - 1, rank - 2]:
            value, turned = made.inputs[0], not turned
            continue
        is_lower = _triangle(made)
        return lu.solve if is_lower is None else partial(solve_triangular, lower=is_lower != turned)
    return lu.solve


def _triangle(made: Op) -> bool | None:
    """Return True for an op that makes lower triangles, False for upper ones, else None."""
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
    b = of_size(b, -2, a.shape[-1])
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
    """The inverse, by solving for the identity. Inf or NaN if singular (see `failing`)."""
    (a,) = square(a)
    unit = _solver(a)
    return lu.inverse(a) if unit is lu.solve else unit(a, identity_like(a))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Array:
    """The matrix times itself, by repeated squaring; of the inverse for a negative exponent."""
    a = array_like(a)
    if len(a.shape) < 2:
        raise ShapeError("np.linalg takes arrays with at least two axes", place=tracing.user_place())
    n = operator.index(n)
    if n == 0:
        return identity_like(a)
    found: Array = powered(FUNCTIONS[np.linalg.inv](a) if n < 0 else a, abs(n), matrix_product)
    return found


def powered(base: Any, n: int, product: Callable[..., Any]) -> Any:
    """The product of n > 0 times `base`, by repeated squaring."""
    result: Any = None
    for digit in reversed(f"{n:b}"):
        if digit == "1":
            result = base if result is None else product(result, base)
        base = product(base, base)
    return result


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """The solution x of tensordot(a, x, x.ndim) = b."""
    a, b = array_like(a), array_like(b)
    if axes is not None:
        a = op.Transpose(a, perm=[i for i in range(len(a.shape)) if i not in axes] + list(axes))
    rest = a.shape[len(b.shape) :]
    count = product(rest)
    found = solve(reshape_to(a, [product(b.shape), count]), reshape_to(b, [product(b.shape)]))
    return reshape_to(found, rest)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of tensordot(a, ., ind)."""
    a = array_like(a)
    left, right = a.shape[:ind], a.shape[ind:]
    return reshape_to(inv(reshape_to(a, [product(left), product(right)])), [*right, *left])
