"""np.linalg: cholesky, solve, inv, det, slogdet, qr, lstsq, pinv, matrix_power; what is refused, and the way out."""

from primsplit.numpy.linalg.factors import cholesky, det, qr, slogdet
from primsplit.numpy.linalg.least_squares import lstsq, pinv
from primsplit.numpy.linalg.operands import matrices, square
from primsplit.numpy.linalg.refused import refusal
from primsplit.numpy.linalg.solving import inv, matrix_power, solve, solve_matrix, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "det",
    "inv",
    "lstsq",
    "matrices",
    "matrix_power",
    "pinv",
    "qr",
    "refusal",
    "slogdet",
    "solve",
    "solve_matrix",
    "square",
    "tensorinv",
    "tensorsolve",
]
