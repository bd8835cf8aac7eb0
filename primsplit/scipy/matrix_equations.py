"""Linear equations of matrices, Sylvester's and Lyapunov's, as systems of all their elements; traced alone."""

from typing import Any

import numpy as np

from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.linalg import matrices
from primsplit.scipy.operands import double

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester"]


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """X with A X + X B = Q: one system of m n equations."""
    first, second, right = matrices(a, b, q)
    whole: Any = np.kron(first, identity_like(second)) + np.kron(identity_like(first), second.T)
    return np.reshape(np.linalg.solve(whole, np.ravel(right)), right.shape)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """X with A X + X A^T = Q."""
    first, right = matrices(a, q)
    return solve_sylvester(first, first.T, right)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """X with A X A^T - X + Q = 0: one system of n**2 equations, whichever method is named; in float64."""
    first, right = matrices(double(a), double(q))
    whole: Any = np.kron(first, first)
    return np.reshape(np.linalg.solve(identity_like(whole) - whole, np.ravel(right)), right.shape)
