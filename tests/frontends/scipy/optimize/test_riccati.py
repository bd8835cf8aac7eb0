"""scipy.linalg's Riccati equations: SciPy's solutions by its own names, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

A = RANDOM.standard_normal((3, 3)) * 0.4 + 1.5 * np.eye(3)

B = RANDOM.standard_normal((3, 3))

Q = RANDOM.standard_normal((3, 2))


def symmetric(x: Any) -> Any:
    return x @ x.T + np.eye(x.shape[0])


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve_continuous_are": (
        lambda a, q, b, r: sl.solve_continuous_are(a, q, symmetric(b), r @ r.T + np.eye(2)), (A, Q, B, Q.T[:, :2])
    ),
    "solve_discrete_are": (
        lambda a, q, b, r: sl.solve_discrete_are(a, q, symmetric(b), r @ r.T + np.eye(2)), (A, Q, B, Q.T[:, :2])
    ),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, modes=("reverse", "forward"), value_tolerance=1e-9)


def test_matrices_beside_the_state_are_refused() -> None:
    with pytest.raises(UnsupportedFunction, match="solve_discrete_are with e or s"):
        ps.trace(lambda a: sl.solve_discrete_are(a, Q, np.eye(3), np.eye(2), e=a), A)
