"""Newton's steps, secants and fixed points of arrays: SciPy's roots, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fixed_point, newton

from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])


def cube(x: Any, a: Any) -> Any:
    return x**3 - a


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Newton's steps of an array": lambda p: newton(cube, np.ones(2), lambda x, a: 3 * x * x, (p,)),
    "secants of an array": lambda p: newton(cube, np.ones(2), args=[p]),
    "fixed points of each other": lambda p: fixed_point(lambda x: 0.4 * np.cos(x[::-1]) * p, np.ones(2), xtol=1e-12),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    check_grads(lambda p: FUNCTIONS[name](p), ORBIT, symbolic=False, value_tolerance=1e-10)
