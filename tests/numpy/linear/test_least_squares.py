"""Least squares of matrices without full rank: NumPy's solution and rank; derivatives where the rank stays."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.polynomial import chebyshev, polynomial

import primsplit as ps

RANDOM = np.random.default_rng(5)
SHAPES = [(6, 3, 2), (3, 5, 2), (4, 4, 3), (5, 3, 3), (4, 4, 0), (1, 3, 1), (150, 3, 2)]


def system(rows: int, columns: int, rank: int) -> tuple[Any, Any, Any]:
    return tuple(RANDOM.standard_normal(shape) for shape in ((rows, rank), (rank, columns), (rows,)))


@pytest.mark.sweep(24)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_symbolic", [False, True])
def test_the_solution_residuals_and_rank_are_numpys(shape: tuple[int, int, int], is_symbolic: bool) -> None:
    left, right, b = system(*shape)
    a = left @ right
    sizes = ["M", "N"] if is_symbolic else list(a.shape)
    program = ps.trace(
        lambda a, b: tuple(np.linalg.lstsq(a, b, rcond=None)), ps.spec("float64", sizes), ps.spec("float64", sizes[:1])
    )
    for found, wanted in zip(program(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


def test_matrices_of_a_batch_have_ranks_of_their_own() -> None:
    left, right, b = system(4, 3, 2)
    many = np.stack([left @ right, RANDOM.standard_normal((4, 3)), np.zeros((4, 3))])
    found = ps.vmap(lambda a: tuple(np.linalg.lstsq(a, b, rcond=None)[i] for i in (0, 2)))(many)
    for a, x, rank in zip(many, *found, strict=True):
        wanted = np.linalg.lstsq(a, b, rcond=None)
        np.testing.assert_allclose(x, wanted[0], atol=1e-10)
        assert rank == wanted[2]


OTHERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "float32, in float64 as NumPy has it": (np.linalg.lstsq, np.arange(1, 10, dtype=np.float32).reshape(3, 3)),
    "nearly without full rank in float32": (np.linalg.lstsq, np.array([[1, 1], [1, 1 + 1e-6]], np.float32)),
    "complex": (np.linalg.lstsq, np.outer([1, 2j, 3], [1, 1j]) + 0j),
    "a negative cutoff": (lambda a, b: np.linalg.lstsq(a, b, rcond=-1), np.ones((3, 2))),
    "SciPy's": (scipy.linalg.lstsq, np.outer([1.0, 2, 3], [1, 1, 2])),
    "no rows": (np.linalg.lstsq, np.zeros((0, 3))),
    "no columns": (np.linalg.lstsq, np.zeros((3, 0))),
}


@pytest.mark.sweep(12)
@pytest.mark.parametrize(("function", "a"), OTHERS.values(), ids=OTHERS)
def test_other_systems_have_numpys_solution(function: Callable[..., Any], a: Any) -> None:
    b = np.arange(1, len(a) + 1).astype(a.dtype)
    found = ps.trace(lambda a, b: tuple(function(a, b)[i] for i in (0, 2)), a, b)(a, b)
    wanted = function(a, b)
    assert found[0].dtype == wanted[0].dtype
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)
    assert found[1] == wanted[2]


SITES, SEEN = np.array([0.0, 1, 1, 2, 2, 0]), np.array([0.3, -1.2, 0.8, 2.0, 0.1, 0.7])
FITS: dict[str, Callable[..., Any]] = {
    "polyfit": lambda x, y: np.polyfit(x, y, 3),
    "polyfit with weights": lambda x, y: np.polyfit(x, y, 3, w=np.arange(1.0, len(SITES) + 1)),
    "polynomial.polyfit": lambda x, y: polynomial.polyfit(x, y, 3),
    "some powers": lambda x, y: polynomial.polyfit(x, y, [3, 0, 2, 1]),
    "chebfit": lambda x, y: chebyshev.chebfit(x, y, 4),
    "Polynomial.fit": lambda x, y: np.polynomial.Polynomial.fit(x, y, 3).coef,
    "columns": lambda x, y: polynomial.polyfit(x, np.stack([y, x]).T, 3),
    "the rank": lambda x, y: polynomial.polyfit(x, y, 3, full=True)[1][1] * 1.0,
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FITS)
def test_a_fit_through_too_few_sites_is_numpys(name: str) -> None:
    """Tracing warns of nothing: which rank there is the run decides."""
    program: Any
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = ps.trace(FITS[name], SITES, SEEN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = FITS[name](SITES, SEEN)
    np.testing.assert_allclose(program(SITES, SEEN), wanted, atol=1e-10)


@pytest.mark.slow
def test_a_fit_of_any_number_of_points_is_numpys() -> None:
    many = ps.spec("float64", ["N"])
    for fit in (FITS["polyfit"], FITS["polynomial.polyfit"]):
        program = ps.trace(fit, many, many)
        for points in (SITES, np.tile(SITES, 60)):
            values = np.sin(np.arange(len(points)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.testing.assert_allclose(program(points, values), fit(points, values), atol=1e-10)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_rank_and_solution_do_not_depend_on_the_size_of_the_elements(size: float) -> None:
    a = np.column_stack([np.ones(6), np.kron(np.eye(2), np.ones((3, 1)))])
    b = np.arange(6.0) ** 2
    x, rank = ps.trace(lambda a, b: np.linalg.lstsq(a, b)[::2], a, b)(size * a, b)
    np.testing.assert_allclose(x * size, np.linalg.lstsq(a, b)[0], rtol=1e-9)
    assert rank == 2
