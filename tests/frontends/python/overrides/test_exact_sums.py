"""`math.fsum` of traced numbers is Python's, with the derivative of a sum."""

import math

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

SUMS = {
    "large ones cancel": [1e16, 1.0, 1.0, -1e16],
    "in two steps": [1e100, 1e50, 1.0, -1e50, -1e100],
    "of tenths": [0.1] * 10,
    "one number": [0.1],
    "infinity": [1.0, math.inf, 2.0],
    "NaN": [1.0, math.nan, math.inf],
}


@pytest.mark.parametrize("name", SUMS)
def test_the_sum_is_pythons(name: str) -> None:
    x = np.array(SUMS[name])
    found = ps.trace(lambda x: math.fsum(x), np.ones(len(x)))(x)
    np.testing.assert_array_equal(found, math.fsum(x))


def test_numbers_of_all_sizes_are_added_exactly() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 3, 8, 17):
        program = ps.trace(lambda x: math.fsum(v for v in x), np.ones(size))
        for _ in range(20):
            x = rng.standard_normal(size) * 10.0 ** rng.integers(-20, 20, size)
            x[size // 2 :] = -x[: size - size // 2] * (1 + 1e-14)
            assert program(x) == math.fsum(x)


def test_it_has_the_derivatives_of_a_sum() -> None:
    def f(x):
        return math.fsum([x[0] * x[1], 3, math.sin(x[2])]) ** 2

    check_grads(f, np.array([0.3, -1.2, 0.7]))
    np.testing.assert_array_equal(ps.grad(lambda x: math.fsum(x))(np.array(SUMS["large ones cancel"])), np.ones(4))
