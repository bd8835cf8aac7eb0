"""Parts of a known matrix of few diagonals: solutions, also of the transpose, and what is not solved in parts."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import primsplit as ps
from primsplit.frontends.scipy.known_systems import of_diagonals
from primsplit.frontends.scipy.partitions import Partition, partitioned
from primsplit.frontends.scipy.sweeps import Sweeps
from tests.numpy.matrices import normal

Numbers = np.ndarray
WIDTHS = [(1, 1), (0, 2), (2, 0), (1, 3), (2, 2)]


def band(widths: tuple[int, int], size: int) -> tuple[Numbers, Numbers]:
    """Return the diagonals of a well-conditioned matrix, and the matrix."""
    below, above = widths
    diagonals = normal(below + above + 1, size)
    diagonals[above] += 3.0 * (1 + below + above)
    return diagonals, with_diagonals(diagonals, above)


def with_diagonals(diagonals: Numbers, above: int) -> Numbers:
    """Return the matrix that has these diagonals, the highest first."""
    size, offsets = diagonals.shape[1], above - np.arange(len(diagonals))
    found: Numbers = scipy.sparse.dia_array((diagonals, offsets), shape=(size, size)).toarray()
    return found


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("size", [70, 200, 1500])
def test_they_solve_with_the_matrix_and_its_transpose(widths: tuple[int, int], size: int) -> None:
    diagonals, matrix = band(widths, size)
    parts, b = partitioned(diagonals, *widths), normal(size)
    assert parts is not None
    np.testing.assert_allclose(matrix @ parts.solve_known(b), b, atol=1e-12)
    np.testing.assert_allclose(matrix.T @ parts.solve_transposed(b), b, atol=1e-12)
    program = ps.trace(lambda b: parts.solve(b), b[:, None])
    np.testing.assert_allclose(program(b[:, None])[:, 0], parts.solve_known(b), atol=1e-14)


def test_many_shared_unknowns_are_solved_by_sweeps() -> None:
    diagonals, _ = band((2, 2), 1500)
    parts = partitioned(diagonals, 2, 2)
    assert parts is not None
    assert isinstance(parts.ends, Sweeps)


@pytest.mark.parametrize(
    ("widths", "size"), [((0, 0), 200), ((1, 1), 20), ((2, 3), 500)], ids=["diagonal", "short", "many diagonals"]
)
def test_what_gains_nothing_has_no_parts(widths: tuple[int, int], size: int) -> None:
    diagonals, _ = band(widths, size)
    assert partitioned(diagonals, *widths) is None


def test_a_matrix_whose_blocks_are_singular_is_solved_by_sweeps() -> None:
    """A permutation of neighbours: ones beside the diagonal, zeros on it, across the borders of blocks."""
    size = 126
    diagonals = np.zeros((3, size))
    diagonals[0, 2::2] = diagonals[2, 1:-1:2] = 1.0
    diagonals[1, [0, -1]] = 1.0
    assert partitioned(diagonals, 1, 1) is None
    found, b = of_diagonals(diagonals, 1, 1), normal(size)
    assert isinstance(found, Sweeps)
    np.testing.assert_array_equal(found.solve_known(b), scipy.linalg.solve_banded((1, 1), diagonals, b))


def test_a_matrix_whose_transpose_is_solved_badly_in_parts_is_solved_by_sweeps() -> None:
    """Columns of very different sizes: the solution in parts is accurate, that of the transpose is not."""
    random, worst = np.random.default_rng(0), 0.0
    kinds = set()
    for _ in range(30):
        size = int(random.integers(65, 300))
        below, above = (int(v) for v in random.integers(1, 3, 2))
        diagonals = random.normal(size=(below + above + 1, size)) * 10.0 ** random.uniform(-6, 6, size)
        found = of_diagonals(diagonals, below, above)
        assert found is not None
        kinds.add(type(found))
        matrix, c = with_diagonals(diagonals, above).T, random.normal(size=size)
        x = found.solve_transposed(c)
        error = np.max(np.abs(matrix @ x - c)) / (np.abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(c).max())
        worst = max(worst, float(error))
    assert kinds == {Sweeps, Partition}
    assert worst < 5e-15
