"""Riccati equations of optimal control: solved by iteration, differentiated as equations."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import not_empty
from primsplit.frontends.scipy.optimize.implicit import recorded, root_of
from primsplit.numpy import failing
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.dense.loop import identity_like, until
from primsplit.numpy.linear import matrices
from primsplit.numpy.refusing import refusing
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.complex_array import refused

__all__ = ["solve_continuous_are", "solve_discrete_are"]

MOST = 60
CLOSE = 1e-14
TOLERANCE = 1e-6
NONE = "Failed to find a finite solution."
EPSILON = float(np.finfo(np.float64).eps)


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """X with A^T X + X A - X B R^-1 B^T X + Q = 0 that stabilizes, by the sign of the Hamiltonian matrix.

    J. D. Roberts, Int. J. Control 32 (1980). Raises UnsupportedFunction for `e` and `s`.
    """
    _check("solve_continuous_are", e, s, a, b, q, r)
    a, b, q, r = _weighed(*(not_empty(m) for m in matrices(a, b, q, r)))
    g: Any = b @ failing.nan_where_singular.solve(r, b.T)

    def residual(x: Any) -> Any:
        return a.T @ x + x @ a - x @ g @ x + q

    h = np.concatenate([np.concatenate([a, -g], axis=1), np.concatenate([-q, -a.T], axis=1)])
    sign, size = failing.solved(_sign(stop_gradient(h)), (), NONE), a.shape[0]
    one = identity_like(a)
    left = np.concatenate([sign[:size, size:], sign[size:, size:] + one])
    right = -np.concatenate([sign[:size, :size] + one, sign[size:, :size]])
    found: Any = stop_gradient(np.linalg.lstsq(left, right)[0])
    # X stabilizes if the columns of [I; X] are eigenvectors of the sign of the Hamiltonian matrix for -1.
    is_stable = _size(left @ found - right) <= TOLERANCE * (_size(left) * _size(found) + _size(right))
    x = (found + found.T) * 0.5
    terms = (_size(a) + _size(g) * _size(x)) * _size(x) + _size(q)
    is_stable = is_stable & (_size(residual(x)) <= TOLERANCE * terms)
    return _as_root("solve_continuous_are", residual, found, is_stable)


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """X with A^T X A - X - A^T X B (R + B^T X B)^-1 B^T X A + Q = 0 that stabilizes, by doubling.

    E. K.-W. Chu et al., Int. J. Control 77 (2004). Raises UnsupportedFunction for `e` and `s`.
    """
    _check("solve_discrete_are", e, s, a, b, q, r)
    a, b, q, r = _weighed(*matrices(a, b, q, r))

    def residual(x: Any) -> Any:
        gain = failing.nan_where_singular.solve(r + b.T @ x @ b, b.T @ x @ a)
        return a.T @ x @ a - x - a.T @ x @ b @ gain + q

    def step(f: Any, g: Any, h: Any, _: Any) -> list[Any]:
        one = identity_like(f)
        first = failing.nan_where_singular.solve(one + g @ h, f)
        second = failing.nan_where_singular.solve(one + h @ g, f.T)
        more = f.T @ h @ first
        return [f @ first, g + f @ g @ second, h + more, np.max(np.abs(more)) - CLOSE * np.max(np.abs(h))]

    def settled(*carries: Any) -> Any:
        return ~(carries[-1] > 0)

    g: Any = b @ failing.nan_where_singular.solve(r, b.T)
    start = [stop_gradient(x) for x in (a, g, q)]
    _, __, h, ___ = until(settled, step, [*start, op.Identity(np.ones((), a.dtype))], MOST)
    x: Any = stop_gradient(h)
    gain = failing.nan_where_singular.solve(r + b.T @ x @ b, b.T @ x @ a)
    is_root = _size(residual(x)) <= TOLERANCE * (_size(x) * (1.0 + _size(a) ** 2) + _size(q))
    return _as_root("solve_discrete_are", residual, x, is_root & _vanishes(a - b @ gain))


def _size(m: Any) -> Any:
    """The largest element, in size."""
    return np.max(np.abs(m))


def _vanishes(m: Any) -> Any:
    """Whether the powers of a matrix tend to 0: its eigenvalues are less than 1 in size."""

    def settled(power: Any) -> Any:
        size = np.sum(np.abs(power))
        return ~((size >= 1.0) & (size < np.inf))

    (power,) = until(settled, lambda power: [power @ power], [m], MOST)
    return np.sum(np.abs(power)) < 1.0


def _check(name: str, e: Any, s: Any, *given: Any) -> None:
    if any(map(holds_complex, given)):
        raise refused(f"scipy.linalg.{name}", "Write the equation of real matrices.")
    if e is not None or s is not None:
        raise unsupported(f"scipy.linalg.{name} with e or s")


def _weighed(a: Any, b: Any, q: Any, r: Any) -> tuple[Any, ...]:
    """Finite matrices; a run fails where `q` or `r` is not symmetric, or `r` is singular, to rounding."""
    a, b, q, r = map(failing.finite, (a, b, q, r))
    return a, b, _symmetric(q, "q"), _symmetric(_regular(r), "r")


def _symmetric(m: Any, name: str) -> Any:
    apart = np.max(np.sum(np.abs(m - m.T), axis=0))
    limit = 100 * np.spacing(np.max(np.sum(np.abs(m), axis=0)))
    return refusing(m, apart > limit, ValueError(f"Matrix {name} should be symmetric/hermitian."))


def _regular(r: Any) -> Any:
    least, largest = np.linalg.svd(r, compute_uv=False)[-1], np.max(np.sum(np.abs(r), axis=0))
    wrong = (least == 0.0) | (least < EPSILON * largest)
    return refusing(r, wrong, ValueError("Matrix r is numerically singular."))


def _sign(h: Array) -> Array:
    """The sign of a matrix, by Newton's iteration with scaled norms."""

    def step(x: Any, _: Any) -> list[Any]:
        inverse = failing.nan_where_singular.inv(x)
        scale = np.sqrt(np.sqrt(np.sum(inverse * inverse) / np.sum(x * x)))
        moved = (x * scale + inverse / scale) * 0.5
        return [moved, np.sum(np.abs(moved - x)) - CLOSE * np.sum(np.abs(x))]

    x, _ = until(lambda _, away: ~(away > 0), step, [h, op.Identity(np.ones((), h.dtype))], MOST)
    return x


def _as_root(name: str, residual: Any, found: Any, is_right: Any) -> Array:
    """The found solution as a root of the equation; a run fails where it is not finite, or not `is_right`."""
    start: Array = failing.solved(stop_gradient((found + found.T) * 0.5), (), NONE)
    start = refusing(start, ~is_right, np.linalg.LinAlgError(NONE))
    made = recorded(residual, StandIn(start.type))
    return root_of(name, [made], [start], lambda _, x: op.Identity(x), coupled=True)
