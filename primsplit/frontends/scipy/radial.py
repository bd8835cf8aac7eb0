"""scipy.interpolate.RBFInterpolator: radial basis functions plus a polynomial, through traced points and values.

G. E. Fasshauer, Meshfree Approximation Methods with Matlab (2007), chapters 6 and 19. The functions are written in the
squared distances, which are smooth where points coincide.
"""

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import of_at_least, of_length
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy import failing
from primsplit.numpy.dense.loop import on_diagonal
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to, ones_like, zeros
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = ["RadialBasis"]


def _root(s: Any) -> Any:
    """The square root, whose derivative at 0 is 0."""
    is_zero = s == 0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, s)))


def _logarithm_of(s: Array) -> Array:
    is_zero = op.Equal(s, 0.0)
    return op.Where(is_zero, 0.0, op.Log(op.Where(is_zero, 1.0, s)))


_logarithm = unit("logarithm_beside_zero", _logarithm_of, lambda dz, s, z: dz / s)
_thin_plate = unit("thin_plate", lambda s: _logarithm(s) * s * 0.5, lambda dz, s, z: dz * (_logarithm(s) * 0.5 + 0.5))
"""s log(s) / 2. The first derivative of what is s = 0 is 0 and the second one, which is infinite in truth, NaN."""

KERNELS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda s: -_root(s), 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (lambda s: s * _root(s), 1),
    "quintic": (lambda s: -s * s * _root(s), 2),
    "multiquadric": (lambda s: -np.sqrt(s + 1.0), 0),
    "inverse_multiquadric": (lambda s: 1.0 / np.sqrt(s + 1.0), -1),
    "inverse_quadratic": (lambda s: 1.0 / (s + 1.0), -1),
    "gaussian": (lambda s: np.exp(-s), -1),
}
"""Each function of the square of the distance, and the least degree of a polynomial that makes it solvable."""
SCALE_INVARIANT = frozenset({"linear", "thin_plate_spline", "cubic", "quintic"})

SINGULAR = "Singular matrix."


class RadialBasis:
    """The interpolant through values `d` [P, ...] at points `y` [P, N], in float64; P may be symbolic.

    Any of these, `smoothing` and `epsilon` may be traced. Raises ShapeError for other shapes, ValueError for other
    options, UnsupportedFunction for `neighbors` and for complex values. A run fails for a system without a solution.
    """

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: int | None = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: int | None = None,
    ) -> None:
        if neighbors is not None:
            raise UnsupportedFunction(
                "RBFInterpolator with neighbors has no form for traced arrays: which points are near depends on values",
                place=tracing.user_place(),
                cure="Leave neighbors out: all points are used then.",
            )
        self.y, d = (cast_to(array_like(g), np.float64) for g in (y, d))
        self.kernel, self.epsilon, degree = _options(kernel, epsilon, degree)
        if self.y.ndim != 2 or not d.ndim or not dims.could_be(d.shape[0], self.y.shape[0]):
            raise _misshapen(f"points {_told(self.y)} and values {_told(d)}", "points [P, N] and values [P, ...]")
        self.shape = d.shape[1:]
        self.powers = _powers(self.y.shape[1], degree)
        count, least = self.y.shape[0], dims.maximum(self._size(), 1)
        if dims.above(least, count):
            raise _misshapen(f"{count} points", f"{least} at least for a polynomial of degree {degree}")
        self.y, d = of_at_least(self.y, least, 0), of_length(d, count, 0)
        low, high = np.min(self.y, axis=0, initial=np.inf), np.max(self.y, axis=0, initial=-np.inf)
        # The polynomials are the same ones whatever they are shifted and scaled by.
        self.shift, self.scale = stop_gradient((low + high) / 2), stop_gradient(np.where(high > low, high - low, 2) / 2)
        self.coefficients = self._solved(d.reshape((count, math.prod(self.shape))), smoothing)

    def _solved(self, d: Any, smoothing: Any) -> Any:
        size, squares = self._size(), self._squares(self.y)
        own = on_diagonal(squares)
        function = KERNELS[self.kernel][0]
        alone = function(array_like(np.zeros(()))) + smoothing
        basis = np.where(own, alone, function(np.where(own, 1.0, squares)))
        if dims.same(size, 0):
            return failing.solved(failing.nan_where_singular.solve(basis, d), (d, self.y), SINGULAR)
        beside = self._polynomials(self.y)
        above = np.concatenate([basis, beside], axis=1)
        below = np.concatenate([beside.T, zeros((size, size), d.dtype)], axis=1)
        right = np.concatenate([d, expand_to(array_like(np.zeros(())), (size, d.shape[1]))], axis=0)
        found = failing.nan_where_singular.solve(np.concatenate([above, below], axis=0), right)
        return failing.solved(found, (d, self.y), SINGULAR)

    def _squares(self, x: Any) -> Any:
        """The squares of the distances of points to the sites, [Q, P], in units of 1 / epsilon."""
        apart = (x[:, None, :] - self.y[None]) * self.epsilon
        return np.sum(apart * apart, axis=-1)

    def _size(self) -> Dim:
        """Return the number of monomials."""
        return 1 + self.y.shape[1] if self.powers is None else len(self.powers)

    def _polynomials(self, x: Any) -> Any:
        """The monomials at points, [Q, R]."""
        x = (x - self.shift) / self.scale
        if self.powers is None:
            return np.concatenate([ones_like(x[:, :1]), x], axis=1)
        one: Any = np.ones_like(x[:, 0])
        columns = []
        for powers in self.powers:
            column = one
            for axis, power in enumerate(powers):
                for _ in range(power):
                    column = column * x[:, axis]
            columns.append(column)
        return np.stack(columns, axis=1)

    def __call__(self, x: Any) -> Any:
        """The values at points [Q, N], [Q, ...]."""
        x = cast_to(array_like(x), np.float64)
        if x.ndim != 2 or not dims.could_be(x.shape[1], self.y.shape[1]):
            raise _misshapen(f"points {_told(x)}", f"points [Q, {self.y.shape[1]}]")
        x = of_length(x, self.y.shape[1])
        found = KERNELS[self.kernel][0](self._squares(x))
        if not dims.same(self._size(), 0):
            found = np.concatenate([found, self._polynomials(x)], axis=1)
        return (found @ self.coefficients).reshape((x.shape[0], *self.shape))


def of_known(made: Any) -> RadialBasis:
    """Return the interpolant of an RBFInterpolator of SciPy's.

    Raises UnsupportedFunction for one with neighbors or complex values.
    """
    if made.neighbors is not None or np.dtype(made.d_dtype).kind == "c":
        raise unsupported("scipy.interpolate.RBFInterpolator with neighbors or of complex values")
    found = object.__new__(RadialBasis)
    found.y, found.kernel, found.epsilon, found.shape = array_like(made.y), made.kernel, made.epsilon, made.d_shape
    found.powers = [tuple(map(int, row)) for row in made.powers]
    found.shift, found.scale, found.coefficients = made._shift, made._scale, array_like(made._coeffs)
    return found


def _options(kernel: str, epsilon: Any, degree: int | None) -> tuple[str, Any, int]:
    """These, with SciPy's defaults. Raises ValueError."""
    kernel = kernel.lower()
    if kernel not in KERNELS:
        raise ValueError(f"`kernel` must be one of {sorted(KERNELS)}.")
    if epsilon is None and kernel not in SCALE_INVARIANT:
        raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {sorted(SCALE_INVARIANT)}.")
    least = KERNELS[kernel][1]
    if degree is None:
        degree = max(least, 0)
    if degree < -1:
        raise ValueError("`degree` must be at least -1.")
    if -1 < degree < least:
        warnings.warn(f"`degree` should not be below {least} except -1 when `kernel` is {kernel!r}.", stacklevel=3)
    return kernel, 1.0 if epsilon is None else epsilon, int(degree)


def _powers(axes: Dim, degree: int) -> list[tuple[int, ...]] | None:
    """The exponents of all monomials up to a degree; None are 1 and each of a symbolic number of coordinates."""
    if not isinstance(axes, int) and degree > 0:
        if degree > 1:
            raise unsupported("scipy.interpolate.RBFInterpolator of degree 2 and a symbolic number of coordinates")
        return None
    if not isinstance(axes, int):
        return [()] * (degree + 1)
    chosen = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(axes), total) for total in range(degree + 1)
    )
    return [tuple(places.count(axis) for axis in range(axes)) for places in chosen]


def _told(x: Any) -> str:
    return f"[{','.join(map(str, x.shape))}]"


def _misshapen(given: str, wanted: str) -> ShapeError:
    return ShapeError(f"RBFInterpolator of {given}: it takes {wanted}", place=tracing.user_place())
