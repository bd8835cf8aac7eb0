"""Linear matrix equations, Sylvester's and Lyapunov's, solved as systems of all their elements. Only traced."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.linalg import turned
from primsplit.frontends.scipy.operands import double, wide
from primsplit.numpy import failing
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.linear import matrices
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester"]


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """X with A X + X B = Q: one system of m n equations."""
    if any(map(holds_complex, (a, b, q))):
        return _complex_sylvester(*map(operand, (a, b, q)))
    first, second, right = matrices(a, b, q)
    whole: Any = np.kron(first, identity_like(second)) + np.kron(identity_like(first), second.T)
    return np.reshape(failing.nan_where_singular.solve(whole, np.ravel(right)), right.shape)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """X with A X + X A^H = Q."""
    if holds_complex(a) or holds_complex(q):
        return _complex_sylvester(operand(a), turned(operand(a)), operand(q))
    first, right = matrices(a, q)
    return solve_sylvester(first, first.T, right)


def _complex_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Raises UnsupportedFunction where only the run knows a size."""
    m, n = (literal_size(x.shape[0], "an equation of complex matrices") for x in (a, b))
    return _of_elements(np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T), q)


def _of_elements(whole: Any, q: Any) -> Any:
    return np.reshape(failing.nan_where_singular.solve(whole, np.ravel(q)), q.shape)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """X with A X A^H - X + Q = 0: one system of n**2 equations, whichever method is named; in float64."""
    if holds_complex(a) or holds_complex(q):
        left, known = wide(a), wide(q)
        return _of_elements(np.eye(left.shape[0] ** 2) - np.kron(left, np.conj(left)), known)
    first, right = matrices(double(a), double(q))
    whole: Any = np.kron(first, first)
    return np.reshape(failing.nan_where_singular.solve(identity_like(whole) - whole, np.ravel(right)), right.shape)
