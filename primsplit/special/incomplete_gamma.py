"""The incomplete gamma functions: a series and a continued fraction, in Loops that end when all have converged.

The derivative in the last argument is the density. Derivatives in the shape are carried along in the same Loops, as
coefficients of Taylor polynomials. Each result is accurate relative to its own size.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.exponential import expm1
from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.numpy.validity import where_valid
from primsplit.ops import op
from primsplit.special.gamma import digamma, gamma_function, polygamma
from primsplit.special.gamma_large import by_size, density_of_many, lower_of_many, shape_slope_of_many, upper_of_many
from primsplit.special.incomplete import (
    EPS,
    LOG_EPS,
    MOST,
    STIRLINGS,
    TINY,
    all_settled,
    converged,
    in_float64,
    log_of_ratio,
    number,
    stirling_rest,
)
from primsplit.special.jets import (
    Jet,
    Orders,
    carried,
    carries,
    derivative,
    end_of_fraction,
    every,
    exponential,
    parameters,
    settled_jet,
    zero,
)
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like, sum_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule

SMALL = 1.1
"""Up to here a power series gives the upper function where it is small."""
SMALL_TERMS = 24


def _power(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1), each factor where it loses no digits: directly for small a, else about x = a."""
    small = op.Clip(a, None, STIRLINGS)
    bounded = op.Clip(x, None, 1e4)
    plain = op.Exp(-bounded) * op.Pow(bounded, small) / gamma_function(small + 1.0)
    large = op.Clip(a, STIRLINGS, None)
    away = x - large
    exponent = large * log_of_ratio(x, large, away) - away - stirling_rest(large)
    about = op.Exp(exponent) / op.Sqrt(large) * math.sqrt(0.5 / math.pi)
    return op.Where(op.Equal(x, math.inf), 0.0, op.Where(a < STIRLINGS, plain, about))


def _gamma_series(a: Jet, x: Array) -> Jet:
    """The sum of x**n / ((a + 1) ... (a + n)) from n = 0 (NIST Digital Library of Mathematical Functions, 8.7.1)."""

    def step(n: Array, *parts: Array) -> list[Array]:
        term, total = carried(parts, a.most)
        term = term * (a + n).divides(x)
        return [n + 1.0, *carries(term), *carries(total + term)]

    def settled(_: Array, *parts: Array) -> Array:
        term, total = carried(parts, a.most)
        return converged(_largest(term, total, EPS / 4))

    one = carries(Jet({zero(a.most): ones_like(x)}, a.most))
    _, *parts = until(settled, step, [number(1.0), *one, *one], MOST)
    term, total = carried(parts, a.most)
    return total.mapped(lambda t: op.Where(_largest(term, total, EPS) > 0.0, math.nan, t))


def _largest(term: Jet, total: Jet, part: float) -> Array:
    """The largest excess of a coefficient of the term over this fraction of the total's coefficient."""
    over = [op.Abs(t) - op.Abs(total.terms[o]) * part for o, t in term.terms.items()]
    return op.Max(*over) if len(over) > 1 else over[0]


def _gamma_fraction(a: Jet, x: Array) -> Jet:
    """The upper function over x**a exp(-x) (8.9.2, contracted), by Lentz's method in Thompson and Barnett's form."""
    first, count = -a + (x + 1.0), len(every(a.most))
    begin, end = end_of_fraction(a.first(), (LOG_EPS / 4) ** 2 / x)

    def step(n: Array, *parts: Array) -> list[Array]:
        b, c, d, value = carried(parts[: 4 * count], a.most)
        numerator = (a + (-n)) * n
        b = b + 2.0
        d = (numerator * d + b).divides(ones_like(x))
        c = b + c.divides(numerator)
        factor, change = settled_jet(c * d, op.And(n >= begin, n <= end))
        return [n + 1.0, *carries(b), *carries(c), *carries(d), *carries(value * factor), change]

    start = first.divides(ones_like(x))
    far = Jet({zero(a.most): ones_like(x) * (1 / TINY)}, a.most)
    given = [part for jet in (first, far, start, start) for part in carries(jet)]
    *_, change = found = until(all_settled, step, [number(1.0), *given, ones_like(x)], MOST)
    (value,) = carried(found[-1 - count : -1], a.most)
    return value.mapped(lambda t: op.Where(change > 16 * EPS, math.nan, t))


def _small_upper(a: Array, x: Array) -> Array:
    """The upper function for x up to 1.1 and small a, where 1 minus the lower one cancels (8.7.3)."""
    logarithm = a * op.Log(x) - a * (a - 1.0) * FITS["LGAMMA"](a + 1.0)
    total, factor = x * 0.0, ones_like(x)
    for n in range(1, SMALL_TERMS):
        factor = factor * (x * (-1.0 / n))
        total = total + factor / (a + float(n))
    return -expm1(logarithm) - a * op.Exp(logarithm) * total


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """The lower and the upper function."""
    inside = op.And(op.And(a > 0.0, a < math.inf), op.And(x > 0.0, x < math.inf))
    by_fraction = op.And(inside, x > op.Max(a + 1.0, SMALL))
    by_series = op.And(inside, op.Not(by_fraction))
    power = _power(op.Where(inside, a, 1.0), op.Where(inside, x, 1.0))
    (first,) = parameters([op.Where(by_series, a, 1.0)], (0,))
    low = power * _gamma_series(first, op.Where(by_series, x, 0.0)).first()
    (shape,) = parameters([op.Where(by_fraction, a, 1.0)], (0,))
    high = power * shape.first() * _gamma_fraction(shape, op.Where(by_fraction, x, 3.0)).first()
    near = op.Where(op.And(by_series, x <= SMALL), x, 0.5)
    border = op.Where(near <= 0.5, -0.4 / op.Log(op.Clip(near, None, 0.5)), near * SMALL)
    is_small = op.And(op.And(by_series, x <= SMALL), a <= border)
    small = _small_upper(op.Where(is_small, a, 0.5), op.Where(is_small, x, 0.5))
    upper = op.Where(by_fraction, high, op.Where(is_small, small, 1.0 - low))
    lower = op.Where(by_fraction, 1.0 - high, low)
    return _at_ends(a, x, with_end(a, 1.0, lower), 0.0, 1.0), _at_ends(a, x, with_end(a, 0.0, upper), 1.0, 0.0)


def _at_ends(a: Array, x: Array, inside: Array, at_zero: float, far: float) -> Array:
    """The limits at 0 and infinity, as in SciPy; NaN for negative numbers, and for two zeros or two infinities."""
    none, endless = op.Equal(x, 0.0), op.Equal(x, math.inf)
    point, wide = op.Equal(a, 0.0), op.Equal(a, math.inf)
    found = with_end(x, at_zero, op.Where(wide, at_zero, op.Where(endless, far, inside)))
    undefined = op.Or(op.Or(a < 0.0, x < 0.0), op.Or(op.And(none, point), op.And(endless, wide)))
    undefined = op.Or(undefined, op.Or(op.IsNaN(a), op.IsNaN(x)))
    return op.Where(undefined, math.nan, found)


def _gamma_density(a: Array, x: Array) -> Array:
    """x**(a - 1) exp(-x) / gamma(a)."""
    none = op.Equal(x, 0.0)
    positive = op.Where(none, 1.0, x)
    at_zero = op.Where(op.Equal(a, 1.0), 1.0, op.Where(a < 1.0, math.inf, np.asarray(0.0)))
    return op.Where(none, at_zero, _power(a, positive) * a / positive)


density_of_few = unit(
    "gamma_density",
    in_float64(_gamma_density),
    lambda dz, a, x, z: dz * (z * (op.Log(x) - digamma(a))),
    lambda dz, a, x, z: dz * (z * (op.Where(op.Equal(a, 1.0), 0.0, (a - 1.0) / x) - 1.0)),
)
gamma_density = in_float64(by_size(density_of_few, density_of_many))
"""x**(a - 1) exp(-x) / gamma(a)."""


def _shape_growth(a: Array, x: Array, order: int) -> Jet:
    """x**a / gamma(a + 1) over its value at this shape, by the change of the shape."""
    rates: dict[Orders, Array] = {(0,): a * 0.0, (1,): op.Log(x) - digamma(a + 1.0)}
    for n in range(2, order + 1):
        rates[n,] = polygamma(a + 1.0, n - 1) * (-1 / math.factorial(n))
    return exponential(Jet(rates, (order,)))


def _shape_slope(a: Array, x: Array, order: int) -> Array:
    """The derivative of the lower function by the series, or of 1 minus the upper one by the fraction.

    0 at the ends.
    """
    inside = op.And(op.And(a >= 0.0, a < math.inf), op.And(x > 0.0, x < math.inf))
    by_fraction = op.And(inside, x > op.Max(a + 1.0, SMALL))
    by_series = op.And(inside, op.Not(by_fraction))
    shape, place = op.Where(inside, a, 1.0), op.Where(inside, x, 1.0)
    growth = _shape_growth(shape, place, order)
    (first,) = parameters([op.Where(by_series, shape, 1.0)], (order,))
    low = derivative(growth * _gamma_series(first, op.Where(by_series, x, 0.0)))
    (second,) = parameters([op.Where(by_fraction, shape, 1.0)], (order,))
    high = derivative(growth * second * _gamma_fraction(second, op.Where(by_fraction, x, 3.0)))
    return _at_ends(a, x, _power(shape, place) * op.Where(by_fraction, -high, low), 0.0, 0.0)


@primitive
def _slope_of_few(a: Array, x: Array, order: int) -> Array:
    """The derivative of this order in the shape of the regularized lower incomplete gamma function, from order 1 on."""
    return in_float64(lambda a, x: _shape_slope(a, x, order))(a, x)


@rrule(_slope_of_few)
def _slope_of_few_rule(a: Array, x: Array, order: int) -> tuple[Array, Function]:
    """The next derivative in the shape; in x the derivative of the density."""

    def pullback(dz: Array) -> tuple[Array, Array, None]:
        growth = derivative(_shape_growth(a - 1.0, x, order))
        density = density_of_few(a, x)
        in_x = op.Where(op.Equal(density, 0.0), 0.0, density * growth)
        return sum_to(dz * _slope_of_few(a, x, order + 1), a.shape), sum_to(dz * in_x, x.shape), None

    return _slope_of_few(a, x, order), pullback


gamma_shape_slope = in_float64(by_size(lambda a, x: _slope_of_few(a, x, 1), shape_slope_of_many))
"""The derivative in the shape of the regularized lower incomplete gamma function."""

lower_of_few = unit(
    "gammainc",
    in_float64(lambda a, x: _gamma_parts(a, x)[0]),
    lambda dz, a, x, z: dz * _slope_of_few(a, x, 1),
    lambda dz, a, x, z: dz * density_of_few(a, x),
)
upper_of_few = unit(
    "gammaincc",
    in_float64(lambda a, x: _gamma_parts(a, x)[1]),
    lambda dz, a, x, z: -dz * _slope_of_few(a, x, 1),
    lambda dz, a, x, z: -dz * density_of_few(a, x),
)


def _inside(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The function, with NaN as value and derivative where a number is negative."""

    def both(a: Array, x: Array) -> Array:
        return function(*where_valid(op.And(a >= 0.0, x >= 0.0), a, x))

    return in_float64(both)


gammainc = elementwise("gammainc")(_inside(by_size(lower_of_few, lower_of_many)))
"""The regularized lower incomplete gamma function.

About 6 sqrt(a) steps of 4 passes where x is near a, for shapes up to 1e6.
"""
gammaincc = elementwise("gammaincc")(_inside(by_size(upper_of_few, upper_of_many)))
"""The regularized upper incomplete gamma function."""
