"""Distributions of shares and counts: SciPy's densities and probabilities, and gradients."""

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
    "dirichlet": lambda x, c: (
        scipy.stats.dirichlet.logpdf(np.diag(c) / np.trace(c), x[0] + 2),
        scipy.stats.dirichlet.pdf([0.2, 0.5], x[0] + 2),
    ),
    "multinomial": lambda x, c: (
        scipy.stats.multinomial.logpmf([[1, 2, 0], [3, 0, 0], [1, 1, 0]], 3, np.diag(c) / np.trace(c))[:2],
        x * scipy.stats.multinomial.pmf([1, 1, 1], 3, np.diag(c) / np.trace(c)),
    ),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MATRICES)
def test_a_distribution_of_vectors_or_matrices_is_scipys(name: str) -> None:
    def f(x: Any, root: Any) -> Any:
        return MATRICES[name](x, root @ root.T)

    check_grads(f, np.linspace(-1, 1, 6).reshape(2, 3), SPREAD, symbolic=False)
