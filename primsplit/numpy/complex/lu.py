"""Computes L and U of a complex matrix by elimination with partial pivoting."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.complex.elimination import eliminated
from primsplit.numpy.complex.matrices import whole
from primsplit.numpy.dense.loop import counting, filled, identity_like, lower, rows_at, scan, size, upper
from primsplit.numpy.dense.lu import inverse_order
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import primitive, rrule

Found = tuple[Array, Array, Array, Array, Array]
Pullback = Callable[..., Any]


@primitive
def lu_parts(x: Array, y: Array) -> Found:
    """The parts of L, those of U, and the rows p of A = X + i Y [n, n] in their new order: A[p] = L U.

    The pivot is the largest of a column, by the sum of the sizes of its parts, as in LAPACK. n steps of 40 small
    operators and two outer products.
    """
    numbers = op.Unsqueeze(counting(x, -2), [1])

    def step(x: Array, y: Array, free: Array, place: Array) -> tuple[list[Array], list[Array]]:
        rest, found = eliminated((x, y), free, place, numbers)
        lines = [op.Squeeze(p, [0], types=[Type(p.dtype, p.shape[1:])]) for p in found.row]
        columns = [op.Squeeze(p, [1], types=[Type(p.dtype, p.shape[:1])]) for p in found.kept]
        return [*rest, found.free], [*lines, *columns, op.Squeeze(found.pivot, [0, 1])]

    unused = filled(x, [size(x, -2), 1], np.bool_(True))
    *_, u, v, p, q, order = scan(step, [x, y, unused], [op.Unsqueeze(counting(x, -1), [1])])
    left = [lower(rows_at(op.Transpose(m, perm=[1, 0]), order), -1) for m in (p, q)]
    return op.Add(left[0], identity_like(x)), left[1], upper(u), upper(v), order


@rrule(lu_parts)
def _lu_parts(x: Array, y: Array) -> tuple[Found, Pullback]:
    """dA[p] = L^-H (the triangle below the diagonal of L^H dL, and that above it of dU U^H) U^-H."""
    found = lu_parts(x, y)
    left: Any = whole(found[:2])
    right: Any = whole(found[2:4])
    order = found[4]

    def pullback(cotangents: Any) -> tuple[Array, Array]:
        dl: Any = whole(cotangents[:2])
        du: Any = whole(cotangents[2:4])
        inner = np.tril(_turned(left) @ dl, -1) + np.triu(du @ _turned(right))
        half = np.linalg.solve(_turned(left), inner)
        both = _turned(np.linalg.solve(right, _turned(half)))
        back = inverse_order(order)
        return rows_at(both.real, back), rows_at(both.imag, back)

    return found, pullback


def _turned(a: Any) -> Any:
    return np.conj(a).T
