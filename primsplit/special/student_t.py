"""Student's t distribution and its inverse, as in SciPy; for many degrees of freedom by the normal distribution."""

import math
from collections.abc import Callable

from primsplit.numpy.approximations.rational import horner
from primsplit.numpy.approximations.signs import sided, with_end
from primsplit.numpy.exponential import expm1, log1p
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.special.beta import betaln, digamma_rise
from primsplit.special.distribution_functions import betainc, betaincinv, log_odds_of_beta_inverse, quantile_slope
from primsplit.special.error_functions import ndtr, ndtri
from primsplit.special.incomplete import in_float64
from primsplit.special.incomplete_beta import beta_shapes_slope
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like
from primsplit.tracing.calls.primitive import Function

MANY = 1e4
"""From these degrees of freedom on, Hill's expansions about the normal distribution are accurate."""
NORMAL = 1e18
"""From these degrees of freedom on, there is no difference to the normal distribution."""
FAR = 1e100
FLAT = 1e-8
"""Up to this number, and this probability, the distribution is a line."""
MOST_TAILS = 1.0 - 1e-9
"""The largest probability of both tails for which the inverse of the beta function of the tails is used."""
LOGARITHM = tuple((-1.0) ** k / (k + 1) for k in range(7))
"""log1p(s) / s in powers of s."""
EXPONENTIAL = tuple(1.0 / math.factorial(k + 1) for k in range(7))
"""expm1(u) / u in powers of u."""


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


def _line_about_zero(slope: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A function that is odd in t, as a line through 0 up to FLAT."""

    def found(df: Array, t: Array) -> Array:
        is_flat = op.Abs(t) < FLAT
        held = slope(df, op.Where(is_flat, FLAT, t))
        return held * op.Where(is_flat, t * (1.0 / FLAT), 1.0)

    return found


def _tails_slope(df: Array, t: Array, order: int) -> Array:
    """A derivative in df / 2 of the probability of both tails at fixed t / sqrt(df), by the part that is smaller."""
    half, shape, square = ones_like(df) * 0.5, df * 0.5, t * t
    is_far = square > 0.5
    far = beta_shapes_slope(shape, half, df / (df + op.Where(is_far, square, df)), order, 0)
    inside = op.Where(is_far, 0.5, square)
    near = beta_shapes_slope(half, shape, inside / (df + inside), 0, order)
    return op.Where(is_far, far, -near)


@_line_about_zero
def _freedom_slope(df: Array, t: Array) -> Array:
    """The derivative in df: that of the tails at fixed t / sqrt(df), plus that through t."""
    slope: Array = -0.25 * op.Sign(t) * _tails_slope(df, t, 1) - t_density(df, t) * t / (2.0 * df)
    return slope


@_line_about_zero
def _freedom_curve(df: Array, t: Array) -> Array:
    """The second derivative in df."""
    density, square = t_density(df, t), t * t
    rise = digamma_rise(df * 0.5, ones_like(df) * 0.5) - log1p(square / df)
    growth = _freedom_growth(df, t) - op.Reciprocal(df) + 0.5 * rise
    curve: Array = -0.125 * op.Sign(t) * _tails_slope(df, t, 2) - density * t / (2.0 * df) * growth
    return curve


t_freedom_slope = unit(
    "t_freedom_slope",
    in_float64(_freedom_slope),
    lambda dz, df, t, z: dz * _freedom_curve(df, t),
    lambda dz, df, t, z: dz * (t_density(df, t) * _freedom_growth(df, t)),
)


def _stdtr(df: Array, t: Array) -> Array:
    """Half of the beta function's value for both tails; computed from the middle where that is small.

    Nearest to 0, where the part in the middle is a line, it is a share of the part at FLAT.
    """
    _, size = sided(t)
    is_flat = size < FLAT
    held = op.Where(is_flat, FLAT, size)
    square = held * held
    is_far = square > 0.5
    half = ones_like(df) * 0.5
    far = 0.5 * betainc(df * 0.5, half, df / (df + op.Where(is_far, square, df)))
    inside = op.Where(is_far, 0.5, square)
    middle = betainc(half, df * 0.5, inside / (df + inside))
    near = 0.5 - 0.5 * op.Where(is_flat, middle * (size * (1.0 / FLAT)), middle)
    tail = op.Where(op.Equal(square, math.inf), 0.0, op.Where(is_far, far, near))
    value = op.Where(t < 0.0, tail, 1.0 - tail)
    return op.Where(op.And(df > 0.0, op.Not(op.IsNaN(t))), value, math.nan)


_of_few = unit(
    "stdtr",
    in_float64(_stdtr),
    lambda dz, df, t, z: dz * t_freedom_slope(df, t),
    lambda dz, df, t, z: dz * t_density(df, t),
)


def _normal_place(df: Array, t: Array) -> Array:
    """The point where the normal distribution equals Student's at `t`, for many degrees of freedom.

    G. W. Hill, Algorithm 395, Communications of the ACM 13 (1970) 617.
    """
    less = df - 0.5
    square = t * t / df
    is_small = square < 1e-3
    away = op.Where(is_small, 1.0, square)
    small = horner(LOGARITHM, op.Where(is_small, square, 0.0))
    ratio = op.Where(is_small, small, log1p(away) / away)
    y, b = less * square * ratio, less * less * 48.0
    change = (((y * -0.4 - 3.3) * y - 24.0) * y - 85.5) / (y * y * 0.8 + 100.0 + b) + y + 3.0
    place: Array = t * op.Sqrt(less / df * ratio) * (change / b + 1.0)
    return place


def _of_many(df: Array, t: Array) -> Array:
    is_far = op.Abs(t) > FAR
    value = ndtr(_normal_place(op.Clip(df, None, NORMAL), op.Where(is_far, 1.0, t)))
    return op.Where(is_far, op.Where(t > 0.0, 1.0, 0.0), value)


def _by_freedom(few: Function, many: Function) -> Callable[[Array, Array], Array]:
    def both(df: Array, x: Array) -> Array:
        is_many = df > MANY
        return op.Where(is_many, many(op.Where(is_many, df, MANY), x), few(op.Where(is_many, 1.0, df), x))

    return both


stdtr = elementwise("stdtr")(in_float64(_by_freedom(_of_few, _of_many)))
"""Student's t distribution of df degrees of freedom."""


def _stdtrit(df: Array, p: Array) -> Array:
    """By the beta function of the tails, or of the middle if most of the probability is there."""
    outside = op.Where(p < 0.5, p, 1.0 - p)
    half, is_inside = ones_like(df) * 0.5, op.And(outside > 0.0, df > 0.0)
    freedom, tails = op.Where(is_inside, df, 1.0), op.Where(is_inside, op.Clip(outside * 2.0, None, MOST_TAILS), 0.5)
    far = log_odds_of_beta_inverse(freedom * 0.5, half, (tails, 1.0 - tails))
    is_far = far < 0.0
    middle = op.Where(is_far, 0.5, 1.0 - 2.0 * op.Where(is_inside, outside, 0.5))
    is_flat = middle < FLAT
    near = betaincinv(half, freedom * 0.5, op.Where(is_flat, FLAT, middle))
    size = op.Sqrt(freedom * op.Where(is_far, op.Exp(-far), near / (1.0 - near)))
    size = op.Where(is_flat, size * (middle * (1.0 / FLAT)), size)
    size = op.Where(is_inside, size, op.Where(df > 0.0, with_end(outside, math.inf, math.nan), math.nan))
    return op.Where(p < 0.5, -size, size)


_few_inverted = unit(
    "stdtrit",
    in_float64(_stdtrit),
    lambda dz, df, p, z: dz * quantile_slope(t_freedom_slope(df, z), t_density(df, z)),
    lambda dz, df, p, z: dz / t_density(df, z),
)


def _many_inverted(df: Array, p: Array) -> Array:
    """G. W. Hill, Algorithm 396, Communications of the ACM 13 (1970) 619, without terms that are negligible here."""
    x = ndtri(p)
    is_end = op.IsInf(x)
    place, freedom = op.Where(is_end, 0.0, x), op.Clip(df, None, NORMAL)
    a = op.Reciprocal(freedom - 0.5)
    b, y = op.Reciprocal(a * a) * 48.0, place * place
    w = (((((y * 0.4 + 6.3) * y + 36.0) * y + 94.5) / b - y - 3.0) / b + 1.0) * place
    u = w * w * a
    is_small = u < 1e-3
    away = op.Where(is_small, 1.0, u)
    ratio = op.Where(is_small, horner(EXPONENTIAL, op.Where(is_small, u, 0.0)), expm1(away) / away)
    return op.Where(is_end, x, w * op.Sqrt(freedom * a * ratio))


stdtrit = elementwise("stdtrit")(in_float64(_by_freedom(_few_inverted, _many_inverted)))
"""The number below which Student's t lies with probability p."""
