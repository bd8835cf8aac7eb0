"""SciPy's functions of distributions: Student's t, chi-square, F, gamma, binomial, Poisson; and inverses of the first.

They are the incomplete gamma and beta functions at other arguments, and have derivatives in all of these. That of an
inverse in a shape is by the implicit function theorem.
"""

import math
from collections.abc import Callable
from typing import Any

from primsplit.array import Array
from primsplit.broadcasting import ones_like
from primsplit.numpy.dense.loop import until
from primsplit.numpy.exponential import log1p
from primsplit.numpy.special import incomplete_beta, incomplete_gamma
from primsplit.numpy.special.gamma import betaln
from primsplit.numpy.special.incomplete import EPS, TINY, converged, in_float64
from primsplit.numpy.special.incomplete_beta import beta_density, beta_shapes_slope, digamma_rise
from primsplit.numpy.special.incomplete_gamma import gamma_density, gamma_shape_slope
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op

Function = Callable[..., Any]
Traced = Callable[..., Array]
Parts = tuple[Array, Array]
"""The lower and the upper part, whose sum is 1."""

betainc: Traced = incomplete_beta.betainc
betaincc: Traced = incomplete_beta.betaincc
gammainc: Traced = incomplete_gamma.gammainc
gammaincc: Traced = incomplete_gamma.gammaincc

MOST = 300
"""The most steps of an inverse, which takes a dozen."""
ENDS = 740.0
"""The logarithms of the doubles are smaller."""


@elementwise("chdtr")
def chdtr(v: Array, x: Array) -> Array:
    """The chi-square distribution of v degrees of freedom."""
    return gammainc(v * 0.5, x * 0.5)


@elementwise("chdtrc")
def chdtrc(v: Array, x: Array) -> Array:
    """The probability of a larger number."""
    return gammaincc(v * 0.5, x * 0.5)


@elementwise("gdtr")
def gdtr(a: Array, b: Array, x: Array) -> Array:
    """The gamma distribution of rate a and shape b."""
    return gammainc(b, a * x)


@elementwise("gdtrc")
def gdtrc(a: Array, b: Array, x: Array) -> Array:
    """The probability of a larger number."""
    return gammaincc(b, a * x)


@elementwise("pdtr")
def pdtr(k: Array, m: Array) -> Array:
    """The probability of at most k of Poisson's distribution with mean m."""
    return gammaincc(op.Floor(k) + 1.0, m)


@elementwise("pdtrc")
def pdtrc(k: Array, m: Array) -> Array:
    """The probability of more than k."""
    return gammainc(op.Floor(k) + 1.0, m)


@elementwise("fdtr")
def fdtr(dfn: Array, dfd: Array, x: Array) -> Array:
    """The F distribution."""
    return betainc(dfn * 0.5, dfd * 0.5, dfn * x / (dfd + dfn * x))


@elementwise("fdtrc")
def fdtrc(dfn: Array, dfd: Array, x: Array) -> Array:
    """The probability of a larger number."""
    return betainc(dfd * 0.5, dfn * 0.5, dfd / (dfd + dfn * x))


@elementwise("bdtr")
def bdtr(k: Array, n: Array, p: Array) -> Array:
    """The probability of at most k successes in n trials."""
    whole, trials = op.Floor(k), n if n.dtype == p.dtype else op.Cast(n, to=p.dtype)
    is_inside = whole < trials
    value = betainc(op.Where(is_inside, trials - whole, 1.0), op.Where(is_inside, whole + 1.0, 1.0), 1.0 - p)
    return op.Where(is_inside, value, op.Where(op.Equal(whole, trials), 1.0, op.Where(p < 0.0, p, math.nan)))


# Student's t distribution.


def _t_density(df: Array, t: Array) -> Array:
    """The density, from logarithms."""
    half = ones_like(df) * 0.5
    return op.Exp(-betaln(half, df * 0.5) - 0.5 * (df + 1.0) * log1p(t * t / df)) / op.Sqrt(df)


def _freedom_growth(df: Array, t: Array) -> Array:
    """The derivative of the logarithm of the density in df."""
    square = t * t
    rise = digamma_rise(df * 0.5, ones_like(df) * 0.5) * 0.5
    growth: Array = rise + 0.5 * ((df + 1.0) * (square / (df + square)) / df - 1.0 / df - log1p(square / df))
    return growth


t_density = unit(
    "t_density",
    in_float64(_t_density),
    lambda dz, df, t, z: dz * (z * _freedom_growth(df, t)),
    lambda dz, df, t, z: dz * (z * (-t * (df + 1.0) / (df + t * t))),
)


def _freedom_slope(df: Array, t: Array) -> Array:
    """The derivative in df: that of the beta function's shape at a fixed t / sqrt(df), and t's part."""
    shaped = beta_shapes_slope(df * 0.5, ones_like(df) * 0.5, df / (df + t * t), 1, 0)
    slope: Array = -0.25 * op.Sign(t) * shaped - t_density(df, t) * t / (2.0 * df)
    return slope


def _freedom_curve(df: Array, t: Array) -> Array:
    """The second derivative in df; 0 at t = 0, where the parts of the first one are not smooth."""
    away = op.Where(op.Equal(t, 0.0), 1.0, t)
    square = away * away
    half, place = ones_like(df) * 0.5, df / (df + square)
    moved = square / (df + square) / (df + square)
    in_place = beta_density(df * 0.5, half, place) * (op.Log(place) + digamma_rise(df * 0.5, half))
    shaped = 0.5 * beta_shapes_slope(df * 0.5, half, place, 2, 0) + in_place * moved
    density = t_density(df, away) * (_freedom_growth(df, away) - op.Reciprocal(df))
    value = -0.25 * op.Sign(away) * shaped - density * away / (2.0 * df)
    return op.Where(op.Equal(t, 0.0), 0.0, value)


t_freedom_slope = unit(
    "t_freedom_slope",
    in_float64(_freedom_slope),
    lambda dz, df, t, z: dz * _freedom_curve(df, t),
    lambda dz, df, t, z: dz * (t_density(df, t) * _freedom_growth(df, t)),
)


def _stdtr(df: Array, t: Array) -> Array:
    """Half of what the beta function leaves on both sides, from the middle where it is small there."""
    square = t * t
    is_far = square > 0.5
    half = ones_like(df) * 0.5
    far = 0.5 * betainc(df * 0.5, half, df / (df + op.Where(is_far, square, df)))
    inside = op.Where(is_far, 0.5, square)
    near = 0.5 - 0.5 * betainc(half, df * 0.5, inside / (df + inside))
    tail = op.Where(op.Equal(square, math.inf), 0.0, op.Where(is_far, far, near))
    value = op.Where(t < 0.0, tail, 1.0 - tail)
    return op.Where(op.Or(op.IsNaN(t), df <= 0.0), math.nan, value)


stdtr = elementwise("stdtr")(
    unit(
        "stdtr",
        in_float64(_stdtr),
        lambda dz, df, t, z: dz * t_freedom_slope(df, t),
        lambda dz, df, t, z: dz * t_density(df, t),
    )
)
"""Student's t distribution of df degrees of freedom."""


# Inverses.


def _inverse(parts: Function, slope: Function, place: Function, wanted: Parts, start: Array) -> Array:
    """The u where the parts at place(u) are those wanted: Newton's steps on the logarithm of the smaller, or halves.

    `slope` is the derivative of the lower part in u.
    """
    is_lower = wanted[0] <= 0.5
    goal = op.Where(is_lower, *wanted)
    ends = ones_like(goal) * ENDS

    def step(u: Array, low: Array, high: Array, _: Array) -> list[Array]:
        lower, upper = parts(place(u))
        part = op.Max(op.Where(is_lower, lower, upper), TINY)
        over = op.Log(part / goal)
        rate = slope(u) / part
        is_above = op.Xor(over > 0.0, op.Not(is_lower))
        low, high = op.Where(is_above, low, u), op.Where(is_above, u, high)
        moved = u - op.Where(is_lower, over, -over) / op.Where(rate > 0.0, rate, TINY)
        inside = op.And(moved > low, moved < high)
        moved = op.Where(op.Equal(over, 0.0), u, op.Where(inside, moved, (low + high) * 0.5))
        return [moved, low, high, op.Abs(moved - u) - 2 * EPS * (1.0 + op.Abs(u))]

    def settled(_: Array, low: Array, high: Array, change: Array) -> Array:
        return converged(op.Min(change, high - low - 4 * EPS * (1.0 + op.Abs(low))))

    found, *_ = until(settled, step, [start, -ends, ends, ones_like(goal)], MOST)
    return found


def _logarithm_of_gamma_inverse(a: Array, wanted: Parts) -> Array:
    """log x where the gamma functions are these."""

    def parts(x: Array) -> tuple[Array, Array]:
        return gammainc(a, x), gammaincc(a, x)

    def slope(u: Array) -> Array:
        x = op.Exp(u)
        return gamma_density(a, x) * x

    return _inverse(parts, slope, op.Exp, wanted, op.Log(a))


def _bounded(found: Function, shaped: Array, wanted: Parts, top: float) -> Array:
    """The inverse where both parts are above 0, its ends where one is 0, and NaN beyond."""
    low, high = wanted
    inside = op.And(shaped, op.And(low > 0.0, high > 0.0))
    value = found(inside, (op.Where(inside, low, 0.5), op.Where(inside, high, 0.5)))
    value = op.Where(op.Equal(low, 0.0), 0.0, op.Where(op.Equal(high, 0.0), top, value))
    defined = op.And(shaped, op.And(low >= 0.0, high >= 0.0))
    return op.Where(defined, value, math.nan)


def _gamma_inverse_of(a: Array, wanted: Parts) -> Array:
    def found(inside: Array, wanted: Parts) -> Array:
        return op.Exp(_logarithm_of_gamma_inverse(op.Where(inside, a, 1.0), wanted))

    return _bounded(found, a > 0.0, wanted, math.inf)


def _betaincinv(a: Array, b: Array, y: Array) -> Array:
    """The x with I_x(a, b) = y, by log(x / (1 - x))."""

    def found(inside: Array, wanted: Parts) -> Array:
        first, second = op.Where(inside, a, 1.0), op.Where(inside, b, 1.0)

        def parts(x: Array) -> tuple[Array, Array]:
            return betainc(first, second, x), betaincc(first, second, x)

        def slope(u: Array) -> Array:
            x = op.Sigmoid(u)
            return beta_density(first, second, x) * (x * op.Sigmoid(-u))

        return op.Sigmoid(_inverse(parts, slope, op.Sigmoid, wanted, op.Log(first / second)))

    return _bounded(found, op.And(a > 0.0, b > 0.0), (y, 1.0 - y), 1.0)


def quantile_slope(slope: Array, density: Array) -> Array:
    """How an inverse moves with a shape; 0 at the end where neither changes."""
    none = op.Equal(slope, 0.0)
    return op.Where(none, 0.0, -slope / op.Where(none, 1.0, density))


def _inverse_unit(name: str, body: Traced, sign: float) -> Traced:
    return elementwise(name)(
        unit(
            name,
            in_float64(body),
            lambda dz, a, y, z: dz * quantile_slope(gamma_shape_slope(a, z, 1), gamma_density(a, z)),
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
    """The number that chi-square is above with probability p."""
    half: Array = gammainccinv(v * 0.5, p)
    return half * 2.0


@elementwise("fdtri")
def fdtri(dfn: Array, dfd: Array, p: Array) -> Array:
    """The number that F is below with probability p."""
    x: Array = betaincinv(dfn * 0.5, dfd * 0.5, p)
    return dfd * x / (dfn * (1.0 - x))


def _stdtrit(df: Array, p: Array) -> Array:
    """By the beta function of the tails, or of the middle where that is small."""
    outside = op.Min(p, 1.0 - p)
    is_far = outside < 0.25
    half = ones_like(df) * 0.5
    far = betaincinv(df * 0.5, half, 2.0 * op.Where(is_far, outside, 0.1))
    near = betaincinv(half, df * 0.5, op.Where(is_far, 0.5, 1.0 - 2.0 * outside))
    size = op.Sqrt(df * op.Where(is_far, (1.0 - far) / far, near / (1.0 - near)))
    return op.Where(p < 0.5, -size, size)


stdtrit = elementwise("stdtrit")(
    unit(
        "stdtrit",
        in_float64(_stdtrit),
        lambda dz, df, p, z: dz * quantile_slope(t_freedom_slope(df, z), t_density(df, z)),
        lambda dz, df, p, z: dz / t_density(df, z),
    )
)
"""The number that Student's t is below with probability p."""
