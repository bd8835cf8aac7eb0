"""Distributions of matrices, and Student's t of vectors: SciPy's densities, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
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


SINGULAR = {
    "a line": np.ones((3, 3)),
    "a plane": np.diag([2.0, 0.5, 0.0]),
    "a point": np.zeros((3, 3)),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_shape_of_t_counts_what_it_spans(name: str) -> None:
    x = np.array([0.3, -0.2, 1.1])

    def f(x: Any, shape: Any) -> Any:
        multivariate_t, normal = scipy.stats.multivariate_t, scipy.stats.multivariate_normal
        return (
            multivariate_t.logpdf(x, np.zeros(3), shape, 3.3),
            multivariate_t.pdf(x, shape=shape, df=4.0, allow_singular=True),
            normal.entropy(np.zeros(3), shape),
        )

    for found, wanted in zip(ps.trace(f, x, np.eye(3))(x, SINGULAR[name]), f(x, SINGULAR[name]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(("beside", "is_within"), [(1e-8, True), (1e-6, False)])
def test_the_support_of_a_singular_normal_is_as_wide_as_scipys(beside: float, is_within: bool) -> None:
    def density(x: Any) -> Any:
        return scipy.stats.multivariate_normal.pdf(x, cov=np.ones((2, 2)), allow_singular=True)

    x = np.array([1.0, 1.0 + beside])
    assert (density(x) > 0) == is_within
    np.testing.assert_allclose(ps.trace(density, x)(x), density(x), rtol=1e-7)


@pytest.mark.parametrize("name", ["wishart", "invwishart"])
def test_matrices_that_are_not_symmetric_are_read_as_scipy_reads_them(name: str) -> None:
    x, scale = np.array([[1.0, 0.2], [0.5, 1.0]]), np.array([[2.0, 0.3], [0.1, 1.0]])
    check_grads(lambda x, scale: getattr(scipy.stats, name).logpdf(x, 4.5, scale), x, scale, symbolic=False)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", MATRICES)
def test_a_distribution_of_vectors_or_matrices_is_scipys(name: str) -> None:
    def f(x: Any, root: Any) -> Any:
        return MATRICES[name](x, root @ root.T)

    check_grads(f, np.linspace(-1, 1, 6).reshape(2, 3), SPREAD, symbolic=False)
