"""scipy.optimize's Rosenbrock function: SciPy's values of traced numbers, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

from primsplit.testing import check_grads

random = np.random.default_rng(4)
A, B = random.standard_normal((4, 3)), random.standard_normal((5, 3))

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "rosen": lambda a, b: so.rosen(a) * so.rosen_der(b[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:

    def f(a: Any, b: Any) -> Any:
        return FUNCTIONS[name](a, b)

    check_grads(f, A, B, symbolic=False, value_tolerance=1e-10)
