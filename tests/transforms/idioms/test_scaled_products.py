"""The vector after all steps, by products of blocks and one by one, is that of log-sum-exps."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.idioms.scaled_products import WIDEST, Scaled
from tests.transforms.idioms.test_log_recurrences import data, plain


@pytest.mark.parametrize("steps", [2, 7, 64, 97])
@pytest.mark.parametrize("states", [2, WIDEST, WIDEST + 1])
def test_the_last_vector_is_that_of_log_sum_exps(states, steps) -> None:
    matrix, start, terms = data(states, steps)
    found = ps.trace(lambda m, s, t: Scaled.of(s, m, t).last(), matrix, start, terms)(matrix, start, terms)
    np.testing.assert_allclose(found, plain(matrix, start, terms), rtol=1e-13)


@pytest.mark.parametrize(("states", "steps"), [(2, 2), (3, 97), (WIDEST + 1, 7)])
def test_the_vectors_of_all_steps_are_those_of_log_sum_exps(states, steps) -> None:
    matrix, start, terms = data(states, steps)
    found = ps.trace(lambda m, s, t: Scaled.of(s, m, t).every(), matrix, start, terms)(matrix, start, terms)
    wanted = [plain(matrix, start, terms[: t + 1]) for t in range(steps)]
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("steps", [32, 100, 127, 2000])
def test_blocks_leave_few_steps_over(steps) -> None:
    seen = []

    def f(m, s, t):
        seen.append(Scaled.of(s, m, t).blocks())
        return s

    ps.trace(f, *data(3, steps))
    size, blocks = seen[-1]
    assert steps - size * blocks + size + blocks <= 2.6 * np.sqrt(steps)
    assert blocks >= 2


@pytest.mark.parametrize(("matrix", "is_within"), [(-100.0, True), (-300.0, False), (-np.inf, False), (np.nan, False)])
def test_the_range_of_a_step_decides(matrix, is_within) -> None:
    def f(m, s, t):
        return Scaled.of(s, m, t).is_within()

    args = np.array([[0.0, matrix], [-1.0, 0.0]]), np.zeros(2), np.zeros((4, 2))
    assert bool(ps.trace(f, *args)(*args)) is is_within
