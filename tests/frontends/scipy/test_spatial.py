"""scipy.spatial's distances and shapes, and Rosenbrock's function: SciPy's values by its own names, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.spatial as scipys

from primsplit.testing import check_grads

random = np.random.default_rng(4)
A, B = random.standard_normal((4, 3)), random.standard_normal((5, 3))

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "distance_matrix": lambda a, b: (scipys.distance_matrix(a, b), scipys.distance_matrix(b, a, p=3)),
    "minkowski_distance": lambda a, b: scipys.minkowski_distance(a, b[:4], 1),
    "minkowski_distance_p": lambda a, b: (
        scipys.minkowski_distance_p(a, b[:4], 3), scipys.minkowski_distance_p(a, b[0], np.inf)
    ),
    "procrustes": lambda a, b: scipys.procrustes(a, b[:4]),
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:

    def f(a: Any, b: Any) -> Any:
        return FUNCTIONS[name](a, b)

    check_grads(f, A, B, symbolic=False, value_tolerance=1e-10)


def test_shapes_whose_singular_values_are_equal_have_gradients() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    check_grads(lambda a: scipys.procrustes(a, square)[1], square, symbolic=False)
