"""scipy.linalg's systems of a few diagonals: SciPy's solutions for traced and NumPy arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.frontends.scipy import linalg
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_grads

RANDOM = np.random.default_rng(0)
RIGHT = RANDOM.standard_normal((4, 3))


@pytest.mark.sweep(10)
@pytest.mark.parametrize("right", [RIGHT, RIGHT[:, 0]], ids=["matrix", "vector"])
@pytest.mark.parametrize("bands", [(1, 1), (0, 1), (2, 1), (0, 0)])
def test_solve_banded_is_scipys(bands: tuple[int, int], right: Any) -> None:
    diagonals = RANDOM.standard_normal((sum(bands) + 1, 4)) + 3 * (np.arange(sum(bands) + 1) == bands[1])[:, None]
    wanted = scipy.linalg.solve_banded(bands, diagonals, right)
    np.testing.assert_allclose(linalg.solve_banded(bands, diagonals, right), wanted, rtol=1e-12)

    def function(ab: Any, b: Any) -> Any:
        return scipy.linalg.solve_banded(bands, ab, b)

    check_grads(function, diagonals, right, value_tolerance=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_three_diagonals_are_solved_with_pivots_for_any_number_of_rows(n: int) -> None:
    ab, b = RANDOM.standard_normal((3, n)), RANDOM.standard_normal(n)
    ab[1, : n // 2] *= 1e-9  # without pivots nine digits would go
    program = ps.trace(
        lambda ab, b: linalg.solve_banded((1, 1), ab, b), ps.spec("float64", [3, "N"]), ps.spec("float64", ["N"])
    )
    np.testing.assert_allclose(program(ab, b), scipy.linalg.solve_banded((1, 1), ab, b), rtol=1e-9)


def test_a_wrong_number_of_diagonals_is_told() -> None:
    with pytest.raises(ShapeError, match="3 diagonals for l"):
        linalg.solve_banded((2, 1), np.ones((3, 4)), np.ones(4))


BANDS = np.array([[0.0, 0.0, 0.3, -0.4], [0.0, -0.5, 0.7, 0.2], [3.0, 4.0, 5.0, 6.0]])

MIRRORS: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("five diagonals", lambda m, a, b, c, d: m.solveh_banded(np.stack([a, b, c]), d), (*BANDS, RIGHT)),
    ("solveh_banded", lambda m, a, b, c: m.solveh_banded(np.stack([a, b]), c[:, 0]), (*BANDS[1:], RIGHT)),
    ("solveh_banded", lambda m, a, b, c: m.solveh_banded(np.stack([a, b]), c, lower=True), (*BANDS[:0:-1], RIGHT)),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("name", "function", "args"), MIRRORS, ids=[r[0] for r in MIRRORS])
def test_a_mirror_is_scipys_function(name: str, function: Any, args: tuple[Any, ...]) -> None:
    wanted = function(scipy.linalg, *args)
    np.testing.assert_allclose(function(linalg, *args), wanted, rtol=1e-9, atol=1e-11 * np.abs(wanted).max())
    check_grads(lambda *given: function(scipy.linalg, *given), *args, value_tolerance=1e-9, resize=(1, 0, 2))
