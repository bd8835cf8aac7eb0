"""Functions of square matrices, for traced and NumPy arrays: roots, logarithms, powers, sines.

N. J. Higham, Functions of Matrices (2008). See `frechet` for derivatives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.frechet import give_rules, upper_right
from primsplit.frontends.scipy.linalg import expm, exponential_along
from primsplit.frontends.scipy.operands import not_empty, wide
from primsplit.numpy import failing
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.axes import END
from primsplit.numpy.complex.matrices import halved, of_halves, square_parts, whole
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.dense.loop import identity_like, until
from primsplit.numpy.linear import square
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.calls.primitive import primitive

__all__ = [
    "coshm",
    "cosm",
    "expm_frechet",
    "fractional_matrix_power",
    "logm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]

MOST = 60
"""The most steps of an iteration that doubles its digits, or of square roots that are taken one of the other."""
NEAR = 0.25
"""The largest distance from the identity at which the logarithm of a matrix is computed by quadrature."""
NODES, WEIGHTS = (0.5 * v for v in np.polynomial.legendre.leggauss(12))


def sqrtm(A: Any, disp: Any = True, blocksize: Any = None) -> Any:
    """The principal square root of a matrix without real eigenvalues up to 0, whatever the size of blocks.

    NaN where it has such an eigenvalue: SciPy then returns a complex root, which has no derivative there. A complex
    matrix has a complex root.
    """
    _told_alone("sqrtm", disp)
    return by_halves(_root, A)


def logm(A: Any, disp: Any = True) -> Any:
    """The principal logarithm of a matrix without real eigenvalues up to 0; NaN where it has one.

    In float64, as in SciPy; complex of a complex matrix.
    """
    _told_alone("logm", disp)
    return by_halves(_logarithm, not_empty(wide(A)))


def _size(a: Array) -> Array:
    """The largest 1-norm of the matrices."""
    return op.ReduceMax(op.ReduceSum(op.Abs(a), [-2], keepdims=0), keepdims=0)


@primitive
def _root(a: Array) -> Array:
    """The product form of Denman and Beavers' iteration (6.29), scaled by norms until it is near."""
    identity = identity_like(a)
    tolerance = float(float_limits(a).eps) * 8

    def step(m: Array, x: Array, _: Array) -> list[Array]:
        inverse: Any = failing.nan_where_singular.inv(m)
        scale = op.Sqrt(op.Sqrt(_size(inverse) / _size(m)))
        away = _size(m - identity)
        scale = op.Where(away < 0.1, 1.0, scale)
        squared, back = scale * scale * m, inverse / (scale * scale)
        moved = 0.5 * identity + (squared + back) * 0.25
        return [moved, x @ (identity + back) * (scale * 0.5), _size(moved - identity)]

    def settled(_: Array, __: Array, away: Array) -> Array:
        return op.Or(away <= tolerance * _size(identity), op.IsNaN(away))

    *_, x, away = until(settled, step, [a, a, _size(a - identity) + 1.0], MOST)
    return op.Where(away <= 1e-3, x, np.nan)


@primitive
def _logarithm(a: Array) -> Array:
    """Square roots until the identity is near, then Gauss's quadrature of (A - I)(t (A - I) + I)**-1 from 0 to 1."""
    identity = identity_like(a)

    def step(x: Array, factor: Array) -> list[Array]:
        return [_root(x), factor * 2.0]

    def settled(x: Array, _: Array) -> Array:
        away = _size(x - identity)
        return op.Or(away <= NEAR, op.IsNaN(away))

    x, factor = until(settled, step, [a, op.Identity(np.ones((), a.dtype))], MOST)
    away = x - identity
    total = away * 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        solved: Any = failing.nan_where_singular.solve(identity + away * (0.5 + float(node)), away)
        total = total + solved * float(weight)
    return total * factor


@primitive
def _root_along(a: Array, direction: Array) -> Array:
    """The derivative of a root along a direction."""
    return upper_right(_root, a, direction)


@primitive
def _logarithm_along(a: Array, direction: Array) -> Array:
    """The derivative of a logarithm along a direction."""
    return upper_right(_logarithm, a, direction)


give_rules(_root, _root_along)
give_rules(_logarithm, _logarithm_along)


def _told_alone(name: str, disp: Any) -> None:
    """Refuse the estimate of an error that SciPy gave, before 1.18, for disp=False."""
    if not disp:
        raise unsupported(f"scipy.linalg.{name} with disp=False")


def by_halves(function: Callable[..., Any], *values: Any) -> Any:
    """A function of square matrices that commutes with similarity; complex ones are real ones of twice the size."""
    if not any(map(holds_complex, values)):
        return function(*square(*values))
    parts = square_parts(*values)
    size = parts[0].real.shape[-1]
    return whole(of_halves(function(*map(halved, parts)), size, size))


def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    """exp(A) and its derivative along E, or that alone, in float64 as in SciPy."""
    a, direction = wide(A), wide(E)
    found = by_halves(exponential_along, a, direction)
    return (expm(a), found) if compute_expm else found


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """A to a known whole power, or exp(t log A)."""
    if isinstance(t, int | np.integer):
        return np.linalg.matrix_power(operand(A), int(t))
    return expm(t * logm(operand(A)))


def _rotations(a: Any) -> tuple[Any, Any]:
    """Cosine and sine of a matrix: the blocks of the exponential of [[0, -A], [A, 0]]."""
    none = op.Sub(a, a)
    whole = expm(op.Concat(op.Concat(none, -a, axis=-1), op.Concat(a, none, axis=-1), axis=-2))
    size = op.Shape(a, start=-1)
    left = op.Slice(whole, [0], size, [-1])
    types = [a.type]
    return op.Slice(left, [0], size, [-2], types=types), op.Slice(left, size, [END], [-2], types=types)


def cosm(A: Any) -> Any:
    """The cosine of a matrix."""
    return by_halves(lambda a: _rotations(a)[0], A)


def sinm(A: Any) -> Any:
    """The sine of a matrix."""
    return by_halves(lambda a: _rotations(a)[1], A)


def tanm(A: Any) -> Any:
    """The tangent of a matrix."""
    return by_halves(lambda a: failing.nan_where_singular.solve(*_rotations(a)), A)


def coshm(A: Any) -> Any:
    """The hyperbolic cosine of a matrix."""
    return (expm(A) + expm(-A)) / 2


def sinhm(A: Any) -> Any:
    """The hyperbolic sine of a matrix."""
    return (expm(A) - expm(-A)) / 2


def tanhm(A: Any) -> Any:
    """The hyperbolic tangent of a matrix."""
    return failing.nan_where_singular.solve(coshm(A), sinhm(A))
