"""Distributions of matrices, and Student's t of vectors: SciPy's densities, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.frontends.scipy.stats.family import (
    SPREAD,
)
from tests.numpy.agreement import check_grads

MATRICES: dict[str, Callable[..., Any]] = {
    "multivariate_t": lambda x, c: (
        scipy.stats.multivariate_t.logpdf(x, x[0], c, 3.3),
        scipy.stats.multivariate_t.pdf(x, shape=c, df=x[0, 0] + 4),
    ),
    "matrix_normal": lambda x, c: (
        scipy.stats.matrix_normal.logpdf(x, 0.5 * x, x[0, 0] + 2, c),
        scipy.stats.matrix_normal.pdf(x, 0.1 * x, colcov=c),
    ),
    "wishart": lambda x, c: (
        scipy.stats.wishart.logpdf(c, 5.0, x.T @ x + c),
        1e3 * scipy.stats.wishart.pdf(x.T @ x + c, 4, c),
    ),
    "invwishart": lambda x, c: (
        scipy.stats.invwishart.logpdf(c, 5.0, x.T @ x + c),
        scipy.stats.invwishart.pdf(x.T @ x + c, 4, c),
    ),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MATRICES)
def test_a_distribution_of_vectors_or_matrices_is_scipys(name: str) -> None:
    def f(x: Any, root: Any) -> Any:
        return MATRICES[name](x, root @ root.T)

    check_grads(f, np.linspace(-1, 1, 6).reshape(2, 3), SPREAD, symbolic=False)
