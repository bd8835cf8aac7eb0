"""Complex matrices as pairs of real ones: products, and the equivalent real matrices of twice the size.

A matrix X + i Y acts on the real and imaginary parts of vectors as [[X, -Y], [Y, X]]. If instead the two parts of each
element lie side by side, each number a + i b becomes a block [[a, -b], [b, a]], and a triangular matrix with a real
diagonal stays triangular.
"""

from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import END
from primsplit.numpy.complex.operands import as_complex
from primsplit.numpy.dense.loop import lower, upper
from primsplit.numpy.linear.operands import matrices, square
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import of_size, reshape_to, swapped
from primsplit.tracing.complex_array import ComplexArray


class Parts(NamedTuple):
    """Real and imaginary part of matrices, of one shape and dtype."""

    real: Array
    imag: Array


def parts_of(*values: Any) -> list[Parts]:
    """The parts of arrays, the first a matrix, in the dtype that np.linalg computes in. Raises as `matrices` does."""
    found = [as_complex(v) for v in values]
    flat = matrices(*(p for z in found for p in (z.real, z.imag)))
    return [Parts(*flat[i : i + 2]) for i in range(0, len(flat), 2)]


def square_parts(*values: Any) -> list[Parts]:
    """`parts_of`, the first of square matrices. Raises ShapeError where they can never be."""
    first, *rest = parts_of(*values)
    (real,) = square(first.real)
    return [Parts(real, of_size(first.imag, -1, real.shape[-1])), *rest]


def mirrored(a: Any, triangle: str) -> Parts:
    """The Hermitian matrices of which this triangle, "L" or "U", is read. Raises ShapeError for another name."""
    if triangle.upper() not in {"L", "U"}:
        raise ShapeError(f"UPLO must be 'L' or 'U', not {triangle!r}", place=tracing.user_place())
    (z,) = square_parts(a)
    part, sign = (lower, -1) if triangle.upper() == "L" else (upper, 1)
    real, imaginary = part(z.real), part(z.imag, sign)
    return Parts(
        op.Add(real, swapped(part(z.real, sign)), types=[z.real.type]),
        op.Sub(imaginary, swapped(imaginary), types=[z.real.type]),
    )


def whole(z: tuple[Array, Array]) -> ComplexArray:
    """The handle of two parts."""
    return ComplexArray(*(Array(p.value) for p in z))


def product(a: tuple[Array, Array], b: tuple[Array, Array]) -> Parts:
    """The product of matrices."""
    (p, q), (r, s) = a, b
    return Parts(
        op.Sub(op.MatMul(p, r), op.MatMul(q, s)),
        op.Add(op.MatMul(p, s), op.MatMul(q, r)),
    )


def times(a: tuple[Array, Array], b: tuple[Array, Array]) -> Parts:
    """The product element by element."""
    (p, q), (r, s) = a, b
    return Parts(op.Sub(op.Mul(p, r), op.Mul(q, s)), op.Add(op.Mul(p, s), op.Mul(q, r)))


def difference(a: tuple[Array, Array], b: tuple[Array, Array]) -> Parts:
    """a - b, in the shape of a."""
    return Parts(*(op.Sub(p, q, types=[p.type]) for p, q in zip(a, b, strict=True)))


def turned(z: tuple[Array, Array]) -> Parts:
    """The conjugate transpose."""
    return Parts(swapped(z[0]), op.Neg(swapped(z[1])))


def halved(z: tuple[Array, Array]) -> Array:
    """[[X, -Y], [Y, X]]."""
    x, y = z
    return op.Concat(op.Concat(x, op.Neg(y), axis=-1), op.Concat(y, x, axis=-1), axis=-2)


def of_halves(x: Array, rows: Any, columns: Any) -> Parts:
    """The parts, of this size, that are one above the other at the left of a matrix of twice as many rows."""
    wanted = Type(x.dtype, (*x.shape[:-2], rows, columns))
    left = op.Slice(x, [0], [columns], [-1])
    return Parts(
        op.Slice(left, [0], [rows], [-2], types=[wanted]),
        op.Slice(left, [rows], [END], [-2], types=[wanted]),
    )


def interleaved_rows(z: tuple[Array, Array]) -> Array:
    """The rows of both parts in turn: [..., 2 m, n]."""
    x, y = z
    *batch, rows, columns = x.shape
    both = op.Concat(op.Unsqueeze(x, [-2]), op.Unsqueeze(y, [-2]), axis=-2)
    return reshape_to(both, (*batch, 2 * rows, columns))


def interleaved(z: tuple[Array, Array]) -> Array:
    """Each element a + i b as [[a, -b], [b, a]]: [..., 2 m, 2 n]."""
    x, y = z
    *batch, rows, columns = x.shape
    even, odd = interleaved_rows((x, y)), interleaved_rows((op.Neg(y), x))
    both = op.Concat(op.Unsqueeze(even, [-1]), op.Unsqueeze(odd, [-1]), axis=-1)
    return reshape_to(both, (*batch, 2 * rows, 2 * columns))


def of_rows(x: Array) -> Parts:
    """The parts whose rows are those of `x` in turn."""
    *batch, rows, columns = x.shape
    apart = reshape_to(x, (*batch, rows // 2, 2, columns))
    return Parts(*(op.Gather(apart, np.array(i), axis=-2) for i in range(2)))


def of_interleaved(x: Array) -> Parts:
    """The parts that `interleaved` made a matrix of."""
    *batch, rows, columns = x.shape
    apart = reshape_to(x, (*batch, rows, columns // 2, 2))
    return of_rows(op.Gather(apart, np.array(0), axis=-1))
