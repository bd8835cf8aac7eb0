"""Systems of one to three equations, solved by the inverse and refined."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.small import is_small, solve
from tests.numpy.matrices import normal, regular


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("batch", [(), (4,)])
def test_a_solution_is_lapacks(n: int, batch: tuple[int, ...]) -> None:
    a, b = regular(*batch, n, n), normal(*batch, n, 2, seed=1)
    np.testing.assert_allclose(ps.trace(solve, a, b)(a, b), np.linalg.solve(a, b), rtol=1e-12)


def test_a_hard_system_is_solved_as_well_as_by_elimination() -> None:
    a = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    b = a @ np.array([[1.0], [2.0]])
    found = ps.trace(solve, a, b)(a, b)
    residual = np.abs(a @ found - b).max()
    assert residual <= 4 * np.finfo(float).eps * np.abs(a).max() * np.abs(found).max()


def test_three_equations_are_few_and_four_are_not() -> None:
    assert [is_small((n, n)) for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert not is_small(("N", "N"))  # type: ignore[arg-type]
