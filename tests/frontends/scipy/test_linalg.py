"""scipy.linalg's mirrors: SciPy's values on traced arrays and on NumPy arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.frontends.scipy import linalg
from primsplit.frontends.scipy.linalg import cho_factor, cho_solve, solve_triangular
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_grads

RANDOM = np.random.default_rng(0)
FULL = RANDOM.standard_normal((4, 4)) + 4 * np.eye(4)
RIGHT = RANDOM.standard_normal((4, 3))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular_reads_one_triangle(lower: bool, trans: int, unit: bool) -> None:
    options: dict[str, Any] = {"lower": lower, "trans": trans, "unit_diagonal": unit}
    np.testing.assert_allclose(
        solve_triangular(FULL, RIGHT, **options), scipy.linalg.solve_triangular(FULL, RIGHT, **options), rtol=1e-12
    )
    check_grads(lambda a, b: solve_triangular(a, b, **options), FULL, RIGHT, value_tolerance=1e-10)


def test_solve_triangular_takes_a_vector() -> None:
    check_grads(lambda a, b: solve_triangular(a, b, lower=True), FULL, RIGHT[:, 0], value_tolerance=1e-10)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("lower", [False, True])
def test_cho_solve_solves_by_the_factor(lower: bool) -> None:
    a = FULL @ FULL.T
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower), RIGHT)
    np.testing.assert_allclose(cho_solve(cho_factor(a, lower), RIGHT), expected, rtol=1e-10)
    check_grads(lambda a, b: cho_solve(cho_factor(a, lower), b), a, RIGHT, value_tolerance=1e-10)


SYMMETRIC = FULL + FULL.T
NEARLY = np.eye(4) + 0.01 * FULL @ FULL.T
MIRRORS: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("solve", lambda m, a, b: m.solve(a, b), (FULL, RIGHT)),
    ("solve", lambda m, a, b: m.solve(a, b, transposed=True), (FULL, RIGHT[:, 0])),
    ("solve", lambda m, a, b: m.solve(a, b, lower=True, assume_a="sym"), (SYMMETRIC, RIGHT)),
    ("solve", lambda m, a, b: m.solve(a, b, assume_a="pos"), (FULL @ FULL.T, RIGHT)),
    ("inv", lambda m, a: m.inv(a), (FULL,)),
    ("block_diag", lambda m, a, b, c: m.block_diag(a, b, c), (FULL, RIGHT, RIGHT[0])),
    ("block_diag of lists", lambda m, a: m.block_diag([[a[0, 0], 1.0], [2, a[1, 1]]], [a[0, 1]]), (FULL,)),
    ("toeplitz", lambda m, a: m.toeplitz(a), (RIGHT[:, 0],)),
    ("toeplitz", lambda m, a, b: m.toeplitz(a, b), (RIGHT[:, 0], RIGHT[1])),
    ("toeplitz of complex numbers", lambda m, a: np.imag(m.toeplitz(a * (1 + 2j))), (RIGHT[:, 0],)),
    ("circulant", lambda m, a: m.circulant(a), (RIGHT[:, 0],)),
    ("det", lambda m, a: m.det(a), (FULL,)),
    ("cholesky", lambda m, a: m.cholesky(a + a.T), (FULL @ FULL.T,)),
    ("cholesky", lambda m, a: m.cholesky(a + a.T, lower=True), (FULL @ FULL.T,)),
    ("norm", lambda m, a: m.norm(a), (FULL,)),
    ("norm", lambda m, a: m.norm(a, 1, axis=0), (FULL,)),
    ("pinv", lambda m, a: m.pinv(a), (RIGHT,)),
    ("lstsq", lambda m, a, b: m.lstsq(a, b)[0], (RIGHT, FULL)),
    ("eigh", lambda m, a: m.eigh(a, lower=False)[1] ** 2, (FULL,)),
    ("eigh", lambda m, a, b: m.eigh(a, b)[1] ** 2, (np.diag([0.0, 3, 6, 9]) + 0.1 * SYMMETRIC, NEARLY)),
    ("svdvals", lambda m, a: m.svdvals(a), (RIGHT,)),
    ("svd", lambda m, a: m.svd(a, full_matrices=False)[2] ** 2, (RIGHT,)),
    ("expm", lambda m, a: m.expm(a), (FULL * 0.1,)),
    ("expm", lambda m, a: m.expm(a), (FULL * 3.0,)),
    ("expm", lambda m, a: m.expm(a), (RANDOM.standard_normal((2, 3, 3)),)),
]


@pytest.mark.sweep(14)
@pytest.mark.parametrize(("name", "function", "args"), MIRRORS, ids=[r[0] for r in MIRRORS])
def test_a_mirror_is_scipys_function(name: str, function: Any, args: tuple[Any, ...]) -> None:
    wanted = function(scipy.linalg, *args)
    np.testing.assert_allclose(function(linalg, *args), wanted, rtol=1e-9, atol=1e-11 * np.abs(wanted).max())
    check_grads(lambda *given: function(scipy.linalg, *given), *args, value_tolerance=1e-9, resize=(1, 0, 2))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_the_exponential_takes_matrices_of_any_size_and_any_norm(size: int) -> None:
    recorded = ps.trace(linalg.expm, ps.spec("float64", ["N", "N"]))
    for scale in (0.0, 1e-8, 0.3, 20.0):
        a = scale * np.random.default_rng(size).standard_normal((size, size))
        wanted = scipy.linalg.expm(a)
        np.testing.assert_allclose(recorded(a), wanted, rtol=1e-10, atol=1e-12 * np.abs(wanted).max(initial=1.0))
    if size:
        assert np.isnan(recorded(np.full((size, size), np.nan))).all()


def test_a_solution_for_a_kind_of_matrix_that_is_not_known_is_refused() -> None:
    with pytest.raises(ShapeError, match="assume_a='odd'"):
        linalg.solve(FULL, RIGHT, assume_a="odd")


def test_eigenvalues_by_the_upper_triangle_are_scipys() -> None:
    def f(a: Any, b: Any) -> Any:
        return scipy.linalg.eigvalsh(a, b, lower=False)

    given = FULL, FULL @ FULL.T
    np.testing.assert_allclose(ps.trace(f, *given)(*given), f(*given), rtol=1e-9)
