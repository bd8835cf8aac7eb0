"""np.linalg: factors, solutions, eigenvalues of symmetric matrices, singular values."""

from primsplit.numpy.linalg.factors import cholesky, det, qr, slogdet
from primsplit.numpy.linalg.least_squares import lstsq
from primsplit.numpy.linalg.operands import matrices, square
from primsplit.numpy.linalg.solving import inv, matrix_power, solve, solve_matrix, tensorinv, tensorsolve
from primsplit.numpy.linalg.spectral import cond, eigh, eigvalsh, matrix_rank, pinv, svd, svdvals

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
