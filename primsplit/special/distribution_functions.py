"""SciPy's distribution functions (chi-square, F, gamma, binomial, Poisson), and inverses of some of them.

They are incomplete gamma and beta functions of transformed arguments, and have derivatives in all arguments. The
derivative of an inverse in a shape follows from the implicit function theorem.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.signs import with_end
from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.numpy.validity import where_valid
from primsplit.ops import op
from primsplit.special import incomplete_beta, incomplete_gamma
from primsplit.special.gamma_large import MANY, inverse_of_many
from primsplit.special.incomplete import EPS, TINY, converged, in_float64
from primsplit.special.incomplete_beta import beta_density, beta_shapes_slope
from primsplit.special.incomplete_gamma import gamma_density, gamma_shape_slope
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like

Function = Callable[..., Any]
Traced = Callable[..., Array]
Parts = tuple[Array, Array]
"""The lower and the upper part, whose sum is 1."""

betainc: Traced = incomplete_beta.betainc
betaincc: Traced = incomplete_beta.betaincc
gammainc: Traced = incomplete_gamma.gammainc
gammaincc: Traced = incomplete_gamma.gammaincc

MOST = 300
"""The most steps of an inverse; about a dozen are usual."""
ENDS = 740.0
"""The logarithms of all doubles are smaller than this in size."""


@elementwise("chdtr")
def chdtr(v: Array, x: Array) -> Array:
    """The chi-square distribution of v degrees of freedom."""
    return gammainc(v * 0.5, x * 0.5)


@elementwise("chdtrc")
def chdtrc(v: Array, x: Array) -> Array:
    """The probability of a larger number than x."""
    return gammaincc(v * 0.5, x * 0.5)


@elementwise("gdtr")
def gdtr(a: Array, b: Array, x: Array) -> Array:
    """The gamma distribution of rate a and shape b."""
    (rate,) = where_valid(x >= 0.0, a)
    return gammainc(b, rate * x)


@elementwise("gdtrc")
def gdtrc(a: Array, b: Array, x: Array) -> Array:
    """The probability of a larger number."""
    (rate,) = where_valid(x >= 0.0, a)
    return gammaincc(b, rate * x)


@elementwise("pdtr", steps=(0,))
def pdtr(k: Array, m: Array) -> Array:
    """The probability of at most k of Poisson's distribution with mean m."""
    (mean,) = where_valid(k >= 0.0, m)
    return gammaincc(op.Floor(k) + 1.0, mean)


@elementwise("pdtrc", steps=(0,))
def pdtrc(k: Array, m: Array) -> Array:
    """The probability of more than k."""
    (mean,) = where_valid(k >= 0.0, m)
    return gammainc(op.Floor(k) + 1.0, mean)


def _nearer(dfn: Array, dfd: Array, x: Array) -> tuple[Array, Parts, Array]:
    """Whether dfn x / (dfd + dfn x) is above a half, with the beta function's shapes and argument from the nearer end.

    The distance to that end is then not lost by rounding beside 1.
    """
    is_right = dfn * x > dfd
    shapes = op.Where(is_right, dfd, dfn) * 0.5, op.Where(is_right, dfn, dfd) * 0.5
    ratio = op.Where(is_right, dfd, dfn * x) / op.Where(is_right, dfn * x, dfd)
    return is_right, shapes, ratio / (1.0 + ratio)


def _f_part(dfn: Array, dfd: Array, x: Array, part: int) -> Array:
    """The probability of a smaller number than x, or of a larger one."""
    is_right, shapes, place = _nearer(dfn, dfd, x)
    both = betainc(*shapes, place), betaincc(*shapes, place)
    return op.Where(is_right, both[1 - part], both[part])


@elementwise("fdtr")
def fdtr(dfn: Array, dfd: Array, x: Array) -> Array:
    """The F distribution."""
    (x,) = where_valid(op.And(op.And(dfn > 0.0, dfd > 0.0), x >= 0.0), x)
    return _f_part(dfn, dfd, x, 0)


@elementwise("fdtrc")
def fdtrc(dfn: Array, dfd: Array, x: Array) -> Array:
    """The probability of a larger number."""
    (x,) = where_valid(op.And(op.And(dfn > 0.0, dfd > 0.0), x >= 0.0), x)
    return _f_part(dfn, dfd, x, 1)


@elementwise("bdtr", steps=(0, 1))
def bdtr(k: Array, n: Array, p: Array) -> Array:
    """The probability of at most k successes in n trials; a fraction of k is dropped, as in SciPy."""
    trials = op.Where(n < 0.0, op.Ceil(n), op.Floor(n)) if n.dtype == p.dtype else op.Cast(n, to=p.dtype)
    whole = op.Floor(k)
    (p,) = where_valid(op.And(k >= 0.0, op.And(p >= 0.0, p <= 1.0)), p)
    is_inside = whole < trials
    value = betainc(op.Where(is_inside, trials - whole, 1.0), op.Where(is_inside, whole + 1.0, 1.0), 1.0 - p)
    return op.Where(is_inside, value, op.Where(op.Equal(whole, trials), 1.0, math.nan)) + p * 0.0 + trials * 0.0


# Inverses.


def _inverse(parts: Function, slope: Function, place: Function, wanted: Parts, start: Array) -> Array:
    """The u where parts(place(u)) are those wanted: Newton steps on the logarithm of the smaller part, or bisection.

    `slope` is the derivative of the lower part in u.
    """
    is_lower = wanted[0] <= 0.5
    goal = op.Where(is_lower, *wanted)
    ends = ones_like(goal) * ENDS

    def step(u: Array, low: Array, high: Array, _: Array) -> list[Array]:
        lower, upper = parts(place(u))
        part = op.Where(is_lower, lower, upper)
        over = op.Where(part <= 0.0, -ENDS, op.Log(part / goal))
        rate = slope(u) / op.Clip(part, TINY, None)
        is_above = op.Xor(over > 0.0, op.Not(is_lower))
        low, high = op.Where(is_above, low, u), op.Where(is_above, u, high)
        moved = u - op.Where(is_lower, over, -over) / op.Where(rate > 0.0, rate, TINY)
        inside = op.And(moved > low, moved < high)
        moved = op.Where(op.Equal(over, 0.0), u, op.Where(inside, moved, (low + high) * 0.5))
        moved = op.Where(op.IsNaN(over), over, moved)
        return [moved, low, high, op.Abs(moved - u) - 2 * EPS * (1.0 + op.Abs(u))]

    def settled(_: Array, low: Array, high: Array, change: Array) -> Array:
        return converged(op.Min(change, high - low - 4 * EPS * (1.0 + op.Abs(low))))

    found, *_ = until(settled, step, [start, -ends, ends, ones_like(goal)], MOST)
    return found


def _logarithm_of_gamma_inverse(a: Array, wanted: Parts) -> Array:
    """log x such that the gamma functions have these values."""

    def parts(x: Array) -> tuple[Array, Array]:
        return incomplete_gamma.lower_of_few(a, x), incomplete_gamma.upper_of_few(a, x)

    def slope(u: Array) -> Array:
        x = op.Exp(u)
        return incomplete_gamma.density_of_few(a, x) * x

    return _inverse(parts, slope, op.Exp, wanted, op.Log(a))


def _bounded(found: Function, shaped: Array, wanted: Parts, top: float) -> Array:
    """The inverse where both parts are above 0, an end where one is 0, and NaN beyond."""
    low, high = wanted
    inside = op.And(shaped, op.And(low > 0.0, high > 0.0))
    value = found(inside, (op.Where(inside, low, 0.5), op.Where(inside, high, 0.5)))
    value = with_end(low, 0.0, with_end(high, top, value))
    defined = op.And(shaped, op.And(low >= 0.0, high >= 0.0))
    return op.Where(defined, value, math.nan)


def _gamma_inverse_of(a: Array, wanted: Parts) -> Array:
    def found(inside: Array, wanted: Parts) -> Array:
        is_many = op.And(inside, op.And(a > MANY, a < math.inf))
        few = op.Exp(_logarithm_of_gamma_inverse(op.Where(op.And(inside, op.Not(is_many)), a, 1.0), wanted))
        return op.Where(is_many, inverse_of_many(op.Where(is_many, a, MANY), *wanted), few)

    bounded = _bounded(found, a > 0.0, wanted, math.inf)
    at_none = op.And(op.Equal(a, 0.0), op.Or(op.Equal(wanted[0], 0.0), op.Equal(wanted[1], 0.0)))
    return op.Where(at_none, op.Where(op.Equal(wanted[0], 0.0), 0.0, np.asarray(math.inf)), bounded)


def log_odds_of_beta_inverse(a: Array, b: Array, wanted: Parts) -> Array:
    """log(x / (1 - x)) such that the beta functions have these values, both above 0, for positive shapes.

    Where x is above a half, 1 - x is computed instead, so that it is not lost by rounding beside 1.
    """
    is_right = betainc(a, b, 0.5 * ones_like(a)) < wanted[0]
    first, second = op.Where(is_right, b, a), op.Where(is_right, a, b)
    low, high = op.Where(is_right, wanted[1], wanted[0]), op.Where(is_right, wanted[0], wanted[1])
    found = _lower_log_odds(first, second, (low, high))
    return op.Where(is_right, -found, found)


def _lower_log_odds(a: Array, b: Array, wanted: Parts) -> Array:
    def parts(x: Array) -> tuple[Array, Array]:
        return betainc(a, b, x), betaincc(a, b, x)

    def slope(u: Array) -> Array:
        x = op.Sigmoid(u)
        return beta_density(a, b, x) * (x * op.Sigmoid(-u))

    return _inverse(parts, slope, op.Sigmoid, wanted, op.Log(a / b))


def _betaincinv(a: Array, b: Array, y: Array) -> Array:
    """The x with I_x(a, b) = y."""

    def found(inside: Array, wanted: Parts) -> Array:
        return op.Sigmoid(log_odds_of_beta_inverse(op.Where(inside, a, 1.0), op.Where(inside, b, 1.0), wanted))

    return _bounded(found, op.And(a > 0.0, b > 0.0), (y, 1.0 - y), 1.0)


def quantile_slope(slope: Array, density: Array) -> Array:
    """The derivative of an inverse in a shape; 0 at an end, where neither changes."""
    none = op.Equal(slope, 0.0)
    return op.Where(none, 0.0, -slope / op.Where(none, 1.0, density))


def _inverse_unit(name: str, body: Traced, sign: float) -> Traced:
    return elementwise(name)(
        unit(
            name,
            in_float64(body),
            lambda dz, a, y, z: dz * quantile_slope(gamma_shape_slope(a, z), gamma_density(a, z)),
            lambda dz, a, y, z: dz * sign / gamma_density(a, z),
        )
    )


gammaincinv = _inverse_unit("gammaincinv", lambda a, y: _gamma_inverse_of(a, (y, 1.0 - y)), 1.0)
"""The x with gammainc(a, x) = y."""
gammainccinv = _inverse_unit("gammainccinv", lambda a, y: _gamma_inverse_of(a, (1.0 - y, y)), -1.0)
"""The x with gammaincc(a, x) = y."""
betaincinv = elementwise("betaincinv")(
    unit(
        "betaincinv",
        in_float64(_betaincinv),
        lambda dz, a, b, y, z: dz * quantile_slope(beta_shapes_slope(a, b, z, 1, 0), beta_density(a, b, z)),
        lambda dz, a, b, y, z: dz * quantile_slope(beta_shapes_slope(a, b, z, 0, 1), beta_density(a, b, z)),
        lambda dz, a, b, y, z: dz / beta_density(a, b, z),
    )
)
"""The x with betainc(a, b, x) = y."""


@elementwise("chdtri")
def chdtri(v: Array, p: Array) -> Array:
    """The number that a chi-square variable exceeds with probability p."""
    half: Array = gammainccinv(v * 0.5, p)
    return half * 2.0


def _fdtri(dfn: Array, dfd: Array, p: Array) -> Array:
    def found(inside: Array, wanted: Parts) -> Array:
        shapes = (op.Where(inside, shape, 1.0) for shape in (dfn, dfd))
        first, second = shapes
        return op.Exp(log_odds_of_beta_inverse(first * 0.5, second * 0.5, wanted)) * (second / first)

    return _bounded(found, op.And(dfn > 0.0, dfd > 0.0), (p, 1.0 - p), math.inf)


def _fdtri_slopes(dfn: Array, dfd: Array, f: Array) -> tuple[Array, Array, Array]:
    """The derivatives of the logarithm of `f`, from those of the beta functions; 0 in the shapes at an end."""
    is_right, (first, second), place = _nearer(dfn, dfd, f)
    density = beta_density(first, second, place) * (place * (1.0 - place))
    slopes = (beta_shapes_slope(first, second, place, *orders) for orders in ((1, 0), (0, 1)))
    own, other = (quantile_slope(slope, density) * 0.5 for slope in slopes)
    by_dfn = op.Where(is_right, -other, own) - op.Reciprocal(dfn)
    by_dfd = op.Where(is_right, -own, other) + op.Reciprocal(dfd)
    return by_dfn, by_dfd, op.Reciprocal(density)


fdtri = elementwise("fdtri")(
    unit(
        "fdtri",
        in_float64(_fdtri),
        lambda dz, dfn, dfd, p, f: dz * (f * _fdtri_slopes(dfn, dfd, f)[0]),
        lambda dz, dfn, dfd, p, f: dz * (f * _fdtri_slopes(dfn, dfd, f)[1]),
        lambda dz, dfn, dfd, p, f: dz * (f * _fdtri_slopes(dfn, dfd, f)[2]),
    )
)
"""The number below which an F variable lies with probability p."""
