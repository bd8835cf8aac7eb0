"""scipy.linalg's linear matrix equations: SciPy's solutions by its own names, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 3)) * 0.4 + 1.5 * np.eye(3)
B = RANDOM.standard_normal((3, 3))
Q = RANDOM.standard_normal((3, 2))
STABLE = 0.3 * B


def symmetric(x: Any) -> Any:
    return x @ x.T + np.eye(x.shape[0])


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve_sylvester": (lambda a, b, q: sl.solve_sylvester(a, 0.1 * b[:2, :2], q), (A, B, Q)),
    "solve_continuous_lyapunov": (lambda a, b: sl.solve_continuous_lyapunov(a, b), (A, B)),
    "solve_lyapunov": (lambda a, b: sl.solve_lyapunov(a, b), (A, B)),
    "solve_discrete_lyapunov": (lambda a, b: sl.solve_discrete_lyapunov(a, symmetric(b)), (STABLE, B)),
}  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, modes=("reverse", "forward"), value_tolerance=1e-9)


def test_one_file_serves_every_size() -> None:
    program = ps.trace(lambda a, b: sl.solve_continuous_lyapunov(a, b), *[ps.spec("float64", ["N", "N"])] * 2)
    for n in (1, 3):
        a, b = A[:n, :n], B[:n, :n]
        np.testing.assert_allclose(program(a, b), sl.solve_continuous_lyapunov(a, b), rtol=1e-9, atol=1e-12)
