"""Systems of complex equations, as real ones of twice the size: solve, inv, pinv, matrix_power.

A complex elimination takes half as many operations; the real one is blocked, and its derivatives are those of real
arrays.

With the parts of each element side by side the factor of Cholesky stays a triangle. Eigenvalues and singular values
would come in equal pairs, whose vectors have no derivative, and LAPACK's signs of QR and the phase of a determinant
would be lost: those are written for pairs of parts (`hermitian`, `schur`).
"""

from typing import Any

import numpy as np

from primsplit.numpy import linear as linalg
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.matrices import Parts, halved, mirrored, of_halves, parts_of, square_parts, whole
from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.dense.singular import pseudo_inverse
from primsplit.numpy.linear.solving import powered
from primsplit.numpy.linear.spectral import MISSING, unit_cutoff
from primsplit.ops import op
from primsplit.tracing.broadcasting import zeros_like


@offers(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """The solution of A x = b; `b` is a vector only if it has one axis. Inf or NaN, where NumPy raises, if singular."""
    a, b = square_parts(a, b)
    is_vector = len(b.real.shape) == 1
    right = Parts(*(op.Unsqueeze(p, [1]) for p in b)) if is_vector else b
    x = solved(a, right)
    return whole(Parts(*(op.Squeeze(p, [-1]) for p in x)) if is_vector else x)


def solved(a: Parts, b: Parts) -> Parts:
    """The solution of A X = B, matrices all of them."""
    found = linalg.solve(halved(a), op.Concat(*b, axis=-2))
    return of_halves(found, a.real.shape[-1], b.real.shape[-1])


def inverse(a: Parts) -> Parts:
    """The inverse of square matrices."""
    identity = identity_like(a.real)
    return solved(a, Parts(identity, zeros_like(identity)))


@offers(np.linalg.inv)
def inv(a: Any) -> Any:
    """The inverse. Inf or NaN, where NumPy raises, if singular."""
    return whole(inverse(*square_parts(a)))


@offers(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = MISSING) -> Any:
    """The pseudo-inverse, the first half of that of the real matrix, which has each singular value twice."""
    z = mirrored(a, "L") if hermitian else parts_of(a)[0]
    rows, columns = z.real.shape[-2:]
    if rtol is None and rcond is None:
        inverse = pseudo_inverse(halved(z), unit_cutoff(z.real, z.real))
    else:
        inverse = linalg.pinv(halved(z), rcond, rtol=rtol)
    return whole(of_halves(inverse, columns, rows))


@offers(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """The matrix times itself, by repeated squaring; of the inverse for a negative exponent."""
    (z,) = square_parts(a)
    if n == 0:
        return whole((identity_like(z.real), zeros_like(z.real)))
    return powered(np.linalg.inv(whole(z)) if n < 0 else whole(z), abs(n), np.matmul)
