"""Sparse matrices of traced elements, and the comparison of a function of them with SciPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.5, 1.25, -0.75, 1.5, 2.0, -1.0])
BANDS = sp.diags_array([-1.0, 2.5, -0.5], offsets=[-1, 0, 1], shape=(6, 6)).tocsr()
MATRIX = sp.csr_matrix(BANDS)
ROWS, COLUMNS = np.array([0, 1, 2, 3, 4, 5, 0, 1]), np.array([1, 2, 3, 4, 5, 0, 1, 2])


def at_places(x: Any, form: Callable[..., Any] = sp.csr_matrix) -> Any:
    """The six numbers at places of a matrix."""
    return form((x, (ROWS[:6], COLUMNS[:6])), shape=(6, 6))


def dominant(x: Any) -> Any:
    """A matrix that has an inverse."""
    return sp.csc_matrix(at_places(x) + 4 * sp.eye(6))


def check_matrices(f: Callable[[Any], Any]) -> None:
    """A function of matrices of traced elements is SciPy's, with its gradients in both modes."""
    found, wanted = ps.trace(f, X)(X), f(X)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    modes = ("reverse", "forward")
    check_grads(lambda x: np.sum(np.sin(f(x))), X, modes=modes, symbolic=False, value_tolerance=1e-10, step=1e-3)
