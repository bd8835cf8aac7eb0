"""The multivariate normal distribution: SciPy's densities, and gradients."""

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

NORMALS: list[tuple[str, tuple[Any, ...]]] = [
    ("many points", (np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a stack of points", (np.linspace(-1, 1, 24).reshape(2, 4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("one point", (np.array([0.3, -0.2, 0.9]), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a diagonal", (np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3), np.array([0.4, 1.2, 2.0]))),
    ("numbers", (np.linspace(-1, 1, 5), np.array(0.2), np.array(1.7))),
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize("given", [row[1] for row in NORMALS], ids=[row[0] for row in NORMALS])
def test_a_normal_distribution_of_vectors_is_scipys(given: tuple[Any, ...]) -> None:
    symmetric = given[2].ndim == 2

    def through(x: Any, mean: Any, root: Any) -> Any:
        cov = root @ root.T if symmetric else root
        normal = scipy.stats.multivariate_normal
        return normal.logpdf(x, mean, cov), normal.pdf(x, mean, cov)

    check_grads(through, *given, resize=(2,))  # SciPy drops an axis of one vector, a file keeps the rank


@pytest.mark.sweep(3)
@pytest.mark.parametrize("rank", [3, 2, 1])
def test_a_normal_distribution_of_a_lower_rank_is_scipys(rank: int) -> None:
    root = np.random.default_rng(rank).standard_normal((3, rank))

    def f(scale: Any, along: Any) -> Any:
        normal = scipy.stats.multivariate_normal
        cov = scale * (root @ np.diag(np.exp(along[:rank])) @ root.T)
        inside = root @ along[:rank]
        return normal.logpdf(inside, np.zeros(3), cov, allow_singular=True), normal.pdf(inside, None, cov, True)

    check_grads(f, np.array(0.7), np.array([0.3, -0.2, 0.5]), symbolic=False)


def test_what_lies_outside_of_a_singular_normal_distribution_has_no_density() -> None:
    def f(x: Any) -> Any:
        return scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), np.diag([2.0, 0.0]), allow_singular=True)

    points = np.array([[0.3, 0.0], [0.3, 0.1]])
    np.testing.assert_allclose(ps.trace(f, points)(points), f(points))


MATRICES: dict[str, Callable[..., Any]] = {
    "a normal distribution's entropy": lambda x, c: scipy.stats.multivariate_normal.entropy(x[0], c),
    "frozen ones": lambda x, c: (
        OUTSIDE.logpdf(x),
        scipy.stats.dirichlet([2.0, 1.3, 0.6]).logpdf(np.diag(c) / np.trace(c)),
    ),
}

OUTSIDE = scipy.stats.multivariate_normal([0.1, 0.2, -0.3], SPREAD)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MATRICES)
def test_a_distribution_of_vectors_or_matrices_is_scipys(name: str) -> None:
    def f(x: Any, root: Any) -> Any:
        return MATRICES[name](x, root @ root.T)

    check_grads(f, np.linspace(-1, 1, 6).reshape(2, 3), SPREAD, symbolic=False)
