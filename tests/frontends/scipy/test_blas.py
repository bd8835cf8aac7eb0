"""scipy.linalg.blas for traced arrays: BLAS's own products, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import blas

import primsplit as ps
from primsplit.testing import check_grads

A, B = np.arange(6.0).reshape(2, 3) - 2.5, np.arange(12.0).reshape(3, 4) ** 1.5
X, Y = np.array([1.0, -2.0, 0.5]), np.array([0.25, 4.0])
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "dgemm": (lambda a, b: blas.dgemm(2.0, a, b), (A, B)),
    "dgemm transposed": (lambda a, b: blas.dgemm(1.0, a, b, trans_a=True, trans_b=True), (A[:, :2], B[:, :2])),
    "dgemm added": (lambda a, b, c: blas.dgemm(0.5, a, b, beta=-2.0, c=c), (A, B, B[:2])),
    "dgemv": (lambda a, x: blas.dgemv(2.0, a, x), (A, X)),
    "dgemv transposed": (lambda a, y: blas.dgemv(1.5, a, y, trans=1), (A, Y)),
    "dgemv added": (lambda a, x, y: blas.dgemv(1.0, a, x, beta=3.0, y=y), (A, X, Y)),
    "dgemv of traced factors": (lambda a, x, y: blas.dgemv(y[0], a, x, beta=y[1], y=y), (A, X, Y)),
    "sgemm": (lambda a, b: blas.sgemm(2.0, a, b), (A.astype(np.float32), B.astype(np.float32))),
    "sgemv": (lambda a, x: blas.sgemv(2.0, a, x), (A.astype(np.float32), X.astype(np.float32))),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_product_is_blas_own(name: str) -> None:
    function, given = CALLS[name]
    found, wanted = ps.trace(lambda *xs: function(*xs), *given)(*given), function(*given)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if name.startswith("s") else 1e-14)


def test_gradients_are_those_of_differences() -> None:
    check_grads(lambda a, x, y: blas.dgemv(2.0, a, x, beta=0.5, y=y), A, X, Y)


def test_what_beta_0_leaves_out_may_be_missing_numbers() -> None:
    """BLAS does not read what it multiplies by 0."""
    missing = np.full(2, np.nan)
    found = ps.trace(lambda a, x, y: blas.dgemv(1.0, a, x, beta=0.0, y=y), A, X, missing)(A, X, missing)
    np.testing.assert_allclose(found, A @ X)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ps.PrimsplitError):
        ps.trace(lambda a, b: blas.dgemm(1.0, a, b), A, A)
