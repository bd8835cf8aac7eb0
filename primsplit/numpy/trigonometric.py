"""NumPy's trigonometric and hyperbolic ufuncs, angles in degrees, hypot and sinc."""

import math
from typing import Any

import numpy as np

from primsplit.numpy.approximations import exponential, trigonometric
from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import is_negative, is_odd
from primsplit.numpy.axes import array_like
from primsplit.numpy.quotients import length_quotient
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to, elementwise
from primsplit.numpy.units import Unit, is_whole, unit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import expand_to, sum_to
from primsplit.tracing.calls.primitive import Function, Primitive, primitive, rrule

_OPERATORS = {
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
}  # fmt: skip

for _name, _kind in _OPERATORS.items():
    ELEMENTWISE[_name] = getattr(later, _kind)


@elementwise("deg2rad", "radians")
def deg2rad(x: Array) -> Array:
    """Degrees to radians."""
    return op.Mul(x, math.pi / 180.0)


@elementwise("rad2deg", "degrees")
def rad2deg(x: Array) -> Array:
    """Radians to degrees."""
    return op.Mul(x, 180.0 / math.pi)


@primitive
def hypot(x: Array, y: Array) -> Array:
    """sqrt(x**2 + y**2). The gradient at the origin is 0."""
    return exponential.hypot(x, y)


ELEMENTWISE["hypot"] = hypot


@rrule(hypot)
def _hypot(x: Array, y: Array) -> tuple[Array, Function]:
    z = hypot(x, y)

    def pullback(dz: Array) -> tuple[Array, Array]:
        share = length_quotient(dz, z)
        return sum_to(x * share, x.shape), sum_to(y * share, y.shape)

    return z, pullback


def _over_square(dz: Array, y: Array, x: Array, value: Array) -> Array:
    length: Array = hypot(y, x)
    shape = length.shape
    found: Array = length_quotient(dz * length_quotient(expand_to(value, shape), length), length)
    return found


arctan2 = elementwise("arctan2")(
    unit(
        "arctan2",
        trigonometric.atan2,
        lambda dz, y, x, z: _over_square(dz, y, x, x),
        lambda dz, y, x, z: -_over_square(dz, y, x, y),
    )
)
"""The angle of the point (x, y). The gradient at the origin is 0."""


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The angle of a real number: 0, or pi where its sign bit is set."""
    x = array_like(z)
    x = cast_to(x, np.arctan2.resolve_dtypes((int, x.dtype, None))[-1]) if is_whole(x) else x
    half_turn = np.asarray(180.0 if deg else math.pi, x.dtype)
    return op.Where(op.IsNaN(x), math.nan, op.Where(is_negative(x), half_turn, np.zeros((), x.dtype)))


# sinc and its derivatives of every order.


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, smooth there to every order."""
    point = array_like(x)
    return sinc_derivative(cast_to(point, np.float64) if is_whole(point) else point, 0)


def _sinc_derivative(x: Array, order: int) -> Array:
    if order == 0:
        return trigonometric.sinc(x)
    u = x * math.pi
    limit = order + 1.0
    near = op.Abs(u) < limit
    series = _sinc_series(op.Where(near, u, 0.0), order, limit)
    return op.Where(near, series, _sinc_recurrence(op.Where(near, limit, u), order)) * math.pi**order


sinc_derivative = Primitive(_sinc_derivative, "sinc")
"""The derivative of sinc of this order."""


@rrule(sinc_derivative)
def _sinc_rule(x: Array, order: int) -> tuple[Array, Function]:
    """The next derivative."""
    return sinc_derivative(x, order), lambda dz: (dz * sinc_derivative(x, order + 1), None)


def _sinc_series(u: Array, order: int, limit: float) -> Array:
    """The Taylor series of the derivative of sin(u) / u, accurate for |u| < limit."""
    coefficients: list[float] = []
    first = (order + 1) // 2
    k = first
    while True:
        falling = math.prod(range(2 * k - order + 1, 2 * k + 1))
        coefficient = (-1) ** k * falling / math.factorial(2 * k + 1)
        coefficients.append(coefficient)
        if k > first + 1 and abs(coefficient) * limit ** (2 * k - order) < 1e-18 * abs(coefficients[0]):
            break
        k += 1
    even = horner(coefficients, u * u)
    return u * even if (2 * first - order) % 2 else even


def _sinc_recurrence(u: Array, order: int) -> Array:
    """u s = sin(u) differentiated n times gives u s_n + n s_(n-1) = sin_n(u)."""
    sine, cosine = op.Sin(u), op.Cos(u)
    waves = (sine, cosine, -sine, -cosine)
    value = sine / u
    for n in range(1, order + 1):
        value = (waves[n % 4] - value * float(n)) / u
    return value


# Angles in degrees, exact at multiples of 90.

DEGREE = math.pi / 180.0


def _quadrant(x: Array) -> tuple[Array, Array]:
    """x as 90 k + rest, after whole turns are left out: the sine and cosine of the rest, turned by k quarters."""
    x = op.Mod(x, 360.0, fmod=1)
    k = op.Round(x * (1.0 / 90.0))
    rest = (x - k * 90.0) * DEGREE
    sine, cosine = op.Sin(rest), op.Cos(rest)
    odd = is_odd(k)
    flipped = is_odd(op.Floor(k * 0.5))
    turned_sine = op.Where(odd, cosine, sine)
    turned_cosine = op.Where(odd, -sine, cosine)
    return op.Where(flipped, -turned_sine, turned_sine), op.Where(flipped, -turned_cosine, turned_cosine)


sindg = elementwise("sindg")(unit("sindg", lambda x: _quadrant(x)[0], lambda dz, x, z: dz * (cosdg(x) * DEGREE)))
cosdg: Unit = elementwise("cosdg")(unit("cosdg", lambda x: _quadrant(x)[1], lambda dz, x, z: dz * (sindg(x) * -DEGREE)))


def _tandg(x: Array) -> Array:
    sine, cosine = _quadrant(x)
    return sine / cosine


def _cotdg(x: Array) -> Array:
    sine, cosine = _quadrant(x)
    return op.Where(op.Equal(sine, 0.0), np.asarray(np.inf, x.dtype), cosine / sine)


tandg = elementwise("tandg")(unit("tandg", _tandg, lambda dz, x, z: dz * ((1.0 + z * z) * DEGREE)))
cotdg = elementwise("cotdg")(unit("cotdg", _cotdg, lambda dz, x, z: dz * ((1.0 + z * z) * -DEGREE)))


@elementwise("cosm1", is_total=True)
def cosm1(x: Array) -> Array:
    """cos(x) - 1 = -2 sin(x / 2)**2, which does not cancel."""
    sine = op.Sin(x * 0.5)
    return sine * sine * -2.0
