"""scipy.linalg's eigenvalues of matrices that need not be symmetric."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Complex eigenvalues, and eigenvectors that are real where all eigenvalues are; right ones, or none.

    Raises UnsupportedFunction for a second matrix, left vectors and homogeneous eigenvalues.
    """
    _refuse(b is not None, "second matrix", "Write scipy.linalg.eig(np.linalg.solve(b, a)).")
    _refuse(left, "left=True", "Left eigenvectors are the columns of np.linalg.inv(v).conj().T.")
    _refuse(homogeneous_eigvals, "homogeneous_eigvals=True", "Leave it out: the values are w over 1.")
    if not right:
        return np.linalg.eigvals(a) + 0j
    values, vectors = np.linalg.eig(a)
    return values + 0j, vectors


def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    """The eigenvalues, complex whatever they are. Raises UnsupportedFunction as `eig` does."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


def _refuse(asked: bool, what: str, cure: str) -> None:
    if asked:
        raise UnsupportedFunction(
            f"scipy.linalg.eig of traced matrices takes no {what}", place=tracing.user_place(), cure=cure
        )
