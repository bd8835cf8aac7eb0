"""np.linalg: factorizations, solutions, eigenvalues of symmetric matrices, singular values."""

from primsplit.numpy.linear.factors import cholesky, det, qr, slogdet
from primsplit.numpy.linear.least_squares import lstsq
from primsplit.numpy.linear.operands import matrices, square
from primsplit.numpy.linear.solving import inv, matrix_power, solve, solve_matrix, tensorinv, tensorsolve
from primsplit.numpy.linear.spectral import cond, eigh, eigvalsh, matrix_rank, pinv, svd, svdvals

__all__ = [
    "cholesky",
    "cond",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrices",
    "matrix_power",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_matrix",
    "square",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
]
