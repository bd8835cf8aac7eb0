"""The incomplete beta functions: a continued fraction, in a Loop that ends when all elements have converged.

The derivative in the last argument is the density. Derivatives in the shapes are carried along in the same Loop, as
coefficients of Taylor polynomials.
"""

import math

import numpy as np

from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.dense.loop import until
from primsplit.numpy.exponential import expm1, log1p
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import Unit, unit
from primsplit.ops import op
from primsplit.special.beta import betaln, digamma_rise
from primsplit.special.gamma import digamma, polygamma
from primsplit.special.incomplete import (
    EPS,
    LOG_EPS,
    MOST,
    STIRLINGS,
    TINY,
    all_settled,
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

SMALL = 1e-4
"""If a shape is smaller, its derivative is computed for shapes raised by 1, because the direct parts cancel."""


def _beta_fraction(a: Jet, b: Jet, x: Array, rest: Array) -> Jet:
    """The lower function times a over x**a (1 - x)**b / B(a, b), by Lentz's method; `rest` is 1 - x.

    The even part of the fraction of NIST Digital Library of Mathematical Functions, 8.17.22. A. DiDonato and A. Morris,
    Significant digit computation of the incomplete beta function ratios (1992), equation 9, where a is divided out.
    No term cancels, however much larger one shape is than the other, because a - (a + b) x is a rest - b x.
    """
    count = len(every(a.most))
    root = op.Sqrt(rest)
    ratio = x / (1.0 + root)  # over 1 + root once more, the factor by which a term of the fraction moves its value
    begin, end = end_of_fraction(b.first(), LOG_EPS / 2 / op.Log(ratio / (1.0 + root)))
    away = a * rest + b * -x + 1.0

    def step(m: Array, *parts: Array) -> list[Array]:
        c, d, value = carried(parts[:-1], a.most)
        raised, odd = a + m, a + (m * 2.0 - 1.0)
        part = odd.divides((b + (-m)) * (m * x))
        numerator = raised.divides(odd.divides(a + b + (m - 1.0)) * part * x)
        term = raised.divides(part + m) + (odd + 2.0).divides(away + m * (1.0 + rest))
        d = _with_nonzero(numerator * d + term).divides(ones_like(x))
        c = _with_nonzero(c.divides(numerator) + term)
        factor, change = settled_jet(c * d, op.And(m >= begin, m <= end))
        return [m + 1.0, *carries(c), *carries(d), *carries(value * factor), change]

    start = _with_nonzero((a + 1.0).divides(away))
    none = Jet({zero(a.most): x * 0.0}, a.most)
    given = [number(1.0), *carries(start), *carries(none), *carries(start), ones_like(x)]
    *_, change = found = until(all_settled, step, given, MOST)
    (value,) = carried(found[-1 - count : -1], a.most)
    return value.mapped(lambda t: op.Where(change > 16 * EPS, math.nan, t)).divides(ones_like(x))


def _with_nonzero(x: Jet) -> Jet:
    return x.with_first(_nonzero(x.first()))


def _nonzero(x: Array) -> Array:
    return op.Where(op.Abs(x) < TINY, TINY, x)


def _beta_parts(a: Array, b: Array, x: Array) -> tuple[Array, Array]:
    """The lower and the upper function, by the fraction from the nearer end."""
    shaped = op.And(op.And(a > 0.0, a < math.inf), op.And(b > 0.0, b < math.inf))
    inside = op.And(shaped, op.And(x > 0.0, x < 1.0))
    first_is_none = op.Or(op.And(op.Equal(a, 0.0), b > 0.0), op.And(op.Equal(b, math.inf), op.And(a >= 0.0, a < b)))
    second_is_none = op.Or(op.And(op.Equal(b, 0.0), a > 0.0), op.And(op.Equal(a, math.inf), op.And(b >= 0.0, b < a)))
    given = a, b
    a, b = op.Where(shaped, a, 1.0), op.Where(shaped, b, 1.0)
    from_above = _is_from_above(a, b, x)
    first, second = op.Where(from_above, b, a), op.Where(from_above, a, b)
    safe = op.Where(inside, x, 0.5)
    place = op.Where(inside, op.Where(from_above, 1.0 - x, x), 0.0)
    rest = op.Where(inside, op.Where(from_above, x, 1.0 - x), 1.0)
    p, q = parameters([first, second], (0, 0))
    near = _beta_power(a, b, safe) / first * _beta_fraction(p, q, place, rest).first()
    is_tiny = op.And(inside, op.And(first < SMALL, place <= SMALL))
    far = op.Where(is_tiny, _rest_of_tiny(is_tiny, first, second, place), 1.0 - near)
    at_zero, at_one = op.Equal(x, 0.0), op.Equal(x, 1.0)
    below = op.Or(at_zero, op.And(second_is_none, op.Not(at_one)))
    above = op.Or(at_one, first_is_none)
    defined = op.Or(shaped, op.Or(first_is_none, second_is_none))
    undefined = op.Not(op.And(defined, op.And(x >= 0.0, x <= 1.0)))
    parts = (op.Where(from_above, far, near), op.Where(from_above, near, far))

    def with_ends(part: Array, at: float) -> Array:
        value = op.Where(below, at, op.Where(above, 1.0 - at, part))
        value = with_end(given[1], at, with_end(given[0], 1.0 - at, value))
        return op.Where(undefined, math.nan, with_end(x, at, with_end(1.0 - x, 1.0 - at, value)))

    return with_ends(parts[0], 0.0), with_ends(parts[1], 1.0)


TERMS = 18
"""The terms of a series in x b, which is below 1; the first term left out is below 1e-17."""


def _rest_of_tiny(inside: Array, a: Array, b: Array, x: Array) -> Array:
    """1 minus the lower function for `a` and `x` up to SMALL and b x below 1, where all terms are as small as `a`.

    The lower function is exp(g) (1 + a S) with g = log(x**a gamma(a + b) / (gamma(a + 1) gamma(b))). NIST Digital
    Library of Mathematical Functions, 8.17.7.
    """
    a, b, x = (op.Where(inside, given, other) for given, other in ((a, SMALL), (b, 1.0), (x, SMALL)))
    growth = a * op.Log(x) - log1p(a / b) + _log_gamma_rise(b + 1.0, a) - _log_gamma_rise(ones_like(a), a)
    term, total = ones_like(x), x * 0.0
    for n in range(1, TERMS + 1):
        term = term * ((n - b) * x * (1 / n))
        total = total + term / (a + float(n))
    found: Array = -expm1(growth) - op.Exp(growth) * (a * total)
    return found


def _log_gamma_rise(x: Array, by: Array) -> Array:
    """log(gamma(x + by) / gamma(x)) for x from 1 on and a `by` up to SMALL: digamma's integral by Gauss's rule."""
    low, high = (0.5 - math.sqrt(3) / 6), (0.5 + math.sqrt(3) / 6)
    total: Array = (digamma(x + by * low) + digamma(x + by * high)) * (by * 0.5)
    return total


def _is_from_above(a: Array, b: Array, x: Array) -> Array:
    """Return where to use the upper function's fraction: it converges sooner, or a small shape gives a small result.

    Subtracting a number near 1 from 1 would lose it.
    """
    sooner = x > (a + 1.0) / (a + b + 2.0)
    is_small = op.Min(a, b) < SMALL
    inside = op.And(x > SMALL, x < 1.0 - SMALL)
    return op.Where(op.And(is_small, inside), a < b, sooner)


def _beta_power(a: Array, b: Array, x: Array) -> Array:
    """x**a (1 - x)**b / B(a, b), for two large shapes about x = a / (a + b), where the three powers would cancel."""
    plain = op.Exp(a * op.Log(x) + b * log1p(-x) - betaln(a, b))
    return op.Where(op.Min(a, b) >= STIRLINGS, _beta_about(a, b, x), plain)


def _beta_about(a: Array, b: Array, x: Array) -> Array:
    a, b = op.Clip(a, STIRLINGS, None), op.Clip(b, STIRLINGS, None)
    total = a + b
    first, second = a / total, b / total
    away = b / total * x - a / total * (1.0 - x)
    exponent = a * log_of_ratio(x, first, away) + b * log_of_ratio(1.0 - x, second, -away)
    exponent = exponent + stirling_rest(total) - stirling_rest(a) - stirling_rest(b)
    return op.Exp(exponent) * op.Sqrt(a * second * (0.5 / math.pi))


def _beta_density(a: Array, b: Array, x: Array) -> Array:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    plain = op.Exp(_scaled_log(a, op.Log(x)) + _scaled_log(b, log1p(-x)) - betaln(a, b))
    return op.Where(op.Min(a, b) >= STIRLINGS, _beta_about(a, b, x) / _nonzero(x * (1.0 - x)), plain)


def _scaled_log(shape: Array, logarithm: Array) -> Array:
    """(shape - 1) logarithm, 0 for a shape of 1 at -inf too."""
    return op.Where(op.Equal(shape, 1.0), 0.0, (shape - 1.0) * logarithm)


def _over(shape: Array, x: Array) -> Array:
    """(shape - 1) / x, 0 for a shape of 1."""
    return op.Where(op.Equal(shape, 1.0), 0.0, (shape - 1.0) / x)


beta_density = unit(
    "beta_density",
    in_float64(_beta_density),
    lambda dz, a, b, x, z: dz * (z * (op.Log(x) - digamma(a) + digamma(a + b))),
    lambda dz, a, b, x, z: dz * (z * (op.Log(1.0 - x) - digamma(b) + digamma(a + b))),
    lambda dz, a, b, x, z: dz * (z * (_over(a, x) - _over(b, 1.0 - x))),
)


# Derivatives in the shapes.


def _rate(first: Array, second: Array, orders: Orders, shift: float) -> Array:
    """A derivative of log(gamma(p + q) / (gamma(p + shift) gamma(q + shift))) over the factorials of its orders."""
    factor = 1.0 / math.prod(map(math.factorial, orders))
    own = [shape for shape, n in zip((first, second), orders, strict=True) if n == sum(orders)]
    if sum(orders) == 1:
        other = second if orders[0] else first
        return digamma_rise(own[0] + shift, other - shift)
    rate: Array = polygamma(first + second, sum(orders) - 1) * factor
    return rate - polygamma(own[0] + shift, sum(orders) - 1) * factor if own else rate


def _raised_rates(first: Array, second: Array, most: Orders) -> dict[Orders, Array]:
    """Those of log(gamma(p + q + 1) / (gamma(p + 1) gamma(q + 1)))."""
    rates = {}
    for orders in (o for o in every(most) if sum(o)):
        order, factor = sum(orders) - 1, 1.0 / math.prod(map(math.factorial, orders))
        if sum(orders) == 1:
            own, other = (first, second) if orders[0] else (second, first)
            rates[orders] = digamma_rise(own + 1.0, other)
            continue
        rate = polygamma(first + second + 1.0, order)
        shapes = [shape for shape, n in zip((first, second), orders, strict=True) if n == sum(orders)]
        rates[orders] = (rate - polygamma(shapes[0] + 1.0, order) if shapes else rate) * factor
    return rates


def _shapes_growth(first: Array, second: Array, place: Array, most: Orders, shift: float) -> Jet:
    """x**p (1 - x)**q gamma(p + q) / (gamma(p + shift) gamma(q + shift)) over its value, by the change of p and q."""
    return _growth({o: _rate(first, second, o, shift) for o in every(most) if sum(o)}, place, most)


def _growth(rates: dict[Orders, Array], place: Array, most: Orders) -> Jet:
    """x**p (1 - x)**q f over its value, by the change of p and q; `rates` are the derivatives of log f."""
    for orders, power in (((1, 0), op.Log(place)), ((0, 1), log1p(-place))):
        if orders in rates:
            rates[orders] = rates[orders] + power
    return exponential(Jet({(0, 0): place * 0.0, **rates}, most))


def _shapes_slope(a: Array, b: Array, x: Array, most: Orders) -> Array:
    """The derivative of the lower function, or of 1 minus the upper one; 0 at the ends."""
    shaped = op.And(op.And(a >= 0.0, a < math.inf), op.And(b >= 0.0, b < math.inf))
    shaped = op.And(shaped, op.Max(a, b) > 0.0)
    inside = op.And(shaped, op.And(x > 0.0, x < 1.0))
    at_end = op.And(shaped, op.Or(op.Equal(x, 0.0), op.Equal(x, 1.0)))
    a, b = (op.Where(inside, op.Clip(shape, TINY, None), 1.0) for shape in (a, b))
    place = op.Where(inside, x, 0.5)
    is_small = op.Min(a, b) < SMALL
    first, second = (op.Where(is_small, shape, 1.0) for shape in (a, b))
    drop = op.Where(is_small, _raising_slope(first, second, place, most), 0.0)
    first, second = (op.Where(is_small, shape + 1.0, shape) for shape in (a, b))
    found = _shifted_slope(first, second, place, most) + drop
    return op.Where(inside, found, op.Where(at_end, 0.0, np.asarray(math.nan)))


def _shifted_slope(a: Array, b: Array, x: Array, most: Orders) -> Array:
    """The derivative of the lower function for shapes above 0, inside."""
    from_above = x > (a + 1.0) / (a + b + 2.0)
    first, second = _ordered(parameters([a, b], most), from_above)
    nearer, rest = (op.Where(from_above, *pair) for pair in ((1.0 - x, x), (x, 1.0 - x)))
    power = _beta_power(a, b, x) / a / b
    found = derivative(_shapes_growth(a, b, x, most, 1.0) * second * _beta_fraction(first, second, nearer, rest))
    return power * op.Where(from_above, -found, found)


def _raising_slope(a: Array, b: Array, x: Array, most: Orders) -> Array:
    """The derivative of the loss when both shapes of the lower function grow by 1: x**a (1-x)**b (b / (a + b) - x) / G.

    G is (a + b + 1) B(a + 1, b + 1). NIST Digital Library of Mathematical Functions, 8.17.20 and 8.17.21.
    """
    first, second = parameters([a, b], most)
    share = (first + second).divides(second) + (-x)
    value = op.Exp(a * op.Log(x) + b * log1p(-x) - betaln(a + 1.0, b + 1.0)) / (a + b + 1.0)
    return derivative(_growth(_raised_rates(a, b, most), x, most) * share) * value


def _ordered(both: list[Jet], swapped: Array) -> tuple[Jet, Jet]:
    """The two, in reverse order where they are swapped."""
    a, b = both
    orders = a.terms.keys() | b.terms.keys()
    none = a.first() * 0.0
    pairs = {o: (a.terms.get(o, none), b.terms.get(o, none)) for o in orders}
    first = Jet({o: op.Where(swapped, y, x) for o, (x, y) in pairs.items()}, a.most)
    return first, Jet({o: op.Where(swapped, x, y) for o, (x, y) in pairs.items()}, a.most)


@primitive
def beta_shapes_slope(a: Array, b: Array, x: Array, in_a: int, in_b: int) -> Array:
    """The derivative of these orders in the shapes of the regularized lower incomplete beta function."""
    return in_float64(lambda a, b, x: _shapes_slope(a, b, x, (in_a, in_b)))(a, b, x)


@rrule(beta_shapes_slope)
def _beta_shapes_slope_rule(a: Array, b: Array, x: Array, in_a: int, in_b: int) -> tuple[Array, Function]:
    """The next derivatives in the shapes; in x the derivative of the density."""

    def pullback(dz: Array) -> tuple[Array, Array, Array, None, None]:
        density = beta_density(a, b, x)
        growth = derivative(_shapes_growth(a, b, x, (in_a, in_b), 0.0))
        in_x = op.Where(op.Equal(density, 0.0), 0.0, density * growth)
        first = sum_to(dz * beta_shapes_slope(a, b, x, in_a + 1, in_b), a.shape)
        second = sum_to(dz * beta_shapes_slope(a, b, x, in_a, in_b + 1), b.shape)
        return first, second, sum_to(dz * in_x, x.shape), None, None

    return beta_shapes_slope(a, b, x, in_a, in_b), pullback


def _beta_unit(name: str, part: int) -> Unit:
    sign = 1.0 - 2.0 * part
    return unit(
        name,
        in_float64(lambda a, b, x: _beta_parts(a, b, x)[part]),
        lambda dz, a, b, x, z: dz * (beta_shapes_slope(a, b, x, 1, 0) * sign),
        lambda dz, a, b, x, z: dz * (beta_shapes_slope(a, b, x, 0, 1) * sign),
        lambda dz, a, b, x, z: dz * (beta_density(a, b, x) * sign),
    )


betainc = elementwise("betainc")(_beta_unit("betainc", 0))
"""The regularized incomplete beta function. At worst about 2 sqrt(min(a, b)) steps of 30 passes."""
betaincc = elementwise("betaincc")(_beta_unit("betaincc", 1))
"""1 - betainc, accurate where that is near 1."""
