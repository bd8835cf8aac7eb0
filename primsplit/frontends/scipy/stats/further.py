"""More families of distributions (extremes, waiting times, angles, strengths), defined by their log densities."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.stats.families import is_count, log_choices
from primsplit.frontends.scipy.stats.kinds import LARGEST, TINY, Bounded, Continuous, Discrete, both
from primsplit.frontends.scipy.stats.moments import special
from primsplit.numpy.transformations import logarithmic_quotient
from primsplit.numpy.validity import missing

_betaln, _gammaln, _log_ndtr, _i0e = map(special, ("betaln", "gammaln", "log_ndtr", "i0e"))
_xlog1py, _xlogy, _ndtri, _erfcx = map(special, ("xlog1py", "xlogy", "ndtri", "erfcx"))
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _without(is_outside: Any, z: Any, inside: float, density: Callable[[Any], Any]) -> Bounded:
    """The log density except where the condition holds; there it is computed at a number that is inside."""
    return Bounded(is_outside, density(np.where(is_outside, inside, z)))


def _log_i0e(x: Any) -> Any:
    """log(exp(-x) I0(x)) for x >= 0, with the slope on the right at 0: there i0e, which is even, has a kink.

    Of a sum with the smallest normal number only that of 0 is another number.
    """
    return np.log(_i0e(x + TINY))


def _f(z: Any, n: Any, m: Any) -> Any:
    lead = n / 2 * np.log(n) + m / 2 * np.log(m) - _betaln(n / 2, m / 2)
    return lead + _xlogy(n / 2 - 1, z) - (n + m) / 2 * np.log(m + n * z)


def _stretched(z: Any, c: Any) -> Any:
    """log(1 + c z) / c, which is z where c is 0, with all derivatives there."""
    product = c * np.clip(z, -LARGEST, LARGEST)
    is_far = np.abs(product) > 1e100
    far = np.log1p(np.where(is_far, product, 0.0)) / np.where(is_far, c, 1.0)
    return np.where(is_far, far, z * logarithmic_quotient(np.where(is_far, 0.0, product), 0))


def _extreme(z: Any, c: Any) -> Bounded:
    def density(z: Any) -> Any:
        y = _stretched(z, -c)
        return -np.exp(-y) - y + c * y

    return _without(c * z >= 1, z, 0.0, density)


def _extreme_head(z: Any, c: Any) -> Any:
    """The logarithm of the probability of a smaller number."""
    is_outside = c * z >= 1
    inside = -np.exp(-_stretched(np.where(is_outside, 0.0, z), -c))
    return np.where(is_outside, np.where(c > 0, 0.0, -np.inf), inside)


def _excess(z: Any, c: Any) -> Bounded:
    return _without(1 + c * z <= 0, z, 0.0, lambda z: -(1 + c) * _stretched(z, c))


def _excess_tail(z: Any, c: Any) -> Bounded:
    return _without(1 + c * z <= 0, z, 0.0, lambda z: -_stretched(z, c))


def _log_uniform(z: Any, a: Any, b: Any) -> Bounded:
    return _without((z < a) | (z > b), z, 1.0, lambda z: -np.log(z) - np.log(np.log(b / a)))


def log_between(low: Any, high: Any) -> Any:
    """The logarithm of the normal probability between two numbers, on the side where it is small."""
    is_right = low > 0
    low, high = np.where(is_right, -high, low), np.where(is_right, -low, high)
    top = _log_ndtr(high)
    is_open = low == -np.inf  # where a tangent of 0 would meet an infinite slope
    below = np.exp(_log_ndtr(np.where(is_open, high, low)) - top)
    return top + np.log1p(-np.where(is_open, 0.0, below))


def _truncated(z: Any, a: Any, b: Any) -> Bounded:
    return _without((z < a) | (z > b), z, 0.0, lambda z: -z * z / 2 - HALF_LOG_TWO_PI - log_between(a, b))


def _triangle(z: Any, c: Any) -> Any:
    is_left = (z < c) | (c == 1)
    left = np.log(2 * z / np.where(is_left, c, 1.0))
    return np.where(is_left, left, np.log(2 * (1 - z) / np.where(is_left, 1.0, 1 - c)))


def _folded(z: Any, c: Any) -> Any:
    return -HALF_LOG_TWO_PI + np.logaddexp(-((z - c) ** 2) / 2, -((z + c) ** 2) / 2)


def _general_gamma(z: Any, a: Any, c: Any) -> Bounded:
    """For a negative c nothing is at 0."""
    return _without((z == 0) & (c < 0), z, 1.0, lambda z: np.log(np.abs(c)) + _xlogy(c * a - 1, z) - z**c - _gammaln(a))


def _between(z: Any, a: Any, b: Any) -> Any:
    """The normal density of a logit."""
    w = a + b * (np.log(z) - np.log1p(-z))
    return np.log(b) - np.log(z) - np.log1p(-z) - w * w / 2 - HALF_LOG_TWO_PI


def _is_strength(a: Any, b: Any) -> Any:
    """Return where `b` is above 0 and `a` is not NaN."""
    return both(b > 0, ~np.isnan(a))


def _exponential_of_normal(z: Any, k: Any) -> Any:
    """The log density -log(k) + (0.5 / k - z) / k + log_ndtr(z - 1 / k), whose terms cancel for small k.

    There it is the normal distribution's and a term: log_ndtr(-u) is -u**2 / 2 + log(erfcx(u / sqrt(2)) / 2).
    """
    u = 1 / k - z
    is_near = u > 0
    near = np.log(_erfcx(np.where(is_near, u, 1.0) * math.sqrt(0.5)) / (2 * k)) - z * z / 2
    far = (0.5 / k - z) / k + _log_ndtr(np.where(is_near, 0.0, -u)) - np.log(k)
    return np.where(is_near, near, far)


FURTHER: dict[str, Continuous] = {
    "arcsine": Continuous("", lambda z: -math.log(math.pi) - np.log(z * (1 - z)) / 2, low=0.0, high=1.0),
    "betaprime": Continuous("a b", lambda z, a, b: _xlogy(a - 1, z) - (a + b) * np.log1p(z) - _betaln(a, b), low=0.0),
    "burr12": Continuous(
        "c d",
        lambda z, c, d: np.log(c * d) + _xlogy(c - 1, z) - (d + 1) * np.log1p(z**c),
        low=0.0,
        tail=lambda z, c, d: -d * np.log1p(z**c),
    ),
    "chi": Continuous(
        "df",
        lambda z, df: (1 - df / 2) * math.log(2) + _xlogy(df - 1, z) - z * z / 2 - _gammaln(df / 2),
        low=0.0,
        parts=(
            lambda z, df: special("gammainc")(df / 2, z * z / 2),
            lambda z, df: special("gammaincc")(df / 2, z * z / 2),
        ),
    ),
    "dgamma": Continuous("a", lambda z, a: _xlogy(a - 1, np.abs(z)) - np.abs(z) - math.log(2) - _gammaln(a)),
    "dweibull": Continuous("c", lambda z, c: np.log(c / 2) + _xlogy(c - 1, np.abs(z)) - np.abs(z) ** c),
    "exponnorm": Continuous("K", _exponential_of_normal),
    "exponweib": Continuous(
        "a c",
        lambda z, a, c: np.log(a * c) + _xlogy(a - 1, -np.expm1(-(z**c))) - z**c + _xlogy(c - 1, z),
        low=0.0,
        parts=(lambda z, a, c: (-np.expm1(-(z**c))) ** a, lambda z, a, c: -np.expm1(a * np.log1p(-np.exp(-(z**c))))),
    ),
    "f": Continuous(
        "dfn dfd",
        _f,
        low=0.0,
        parts=(lambda z, n, m: special("fdtr")(n, m, z), lambda z, n, m: special("fdtrc")(n, m, z)),
        quantile=lambda q, n, m: special("fdtri")(n, m, q),
        above=lambda q, n, m: 1 / special("fdtri")(m, n, q),
    ),
    "fisk": Continuous(
        "c",
        lambda z, c: np.log(c) + _xlogy(c - 1, z) - 2 * np.log1p(z**c),
        low=0.0,
        tail=lambda z, c: -np.log1p(z**c),
        quantile=lambda q, c: (q / (1 - q)) ** (1 / c),
        above=lambda q, c: ((1 - q) / q) ** (1 / c),
    ),
    "fatiguelife": Continuous(
        "c",
        lambda z, c: np.log1p(z) - np.log(2 * c) - HALF_LOG_TWO_PI - 1.5 * np.log(z) - (z - 1) ** 2 / (2 * z * c * c),
        low=TINY,
    ),
    "foldnorm": Continuous("c", _folded, low=0.0, valid=lambda c: c >= 0),
    "gengamma": Continuous(
        "a c",
        _general_gamma,
        low=0.0,
        valid=lambda a, c: both(a > 0, np.abs(c) > 0),
    ),
    "genextreme": Continuous(
        "c",
        _extreme,
        head=_extreme_head,
        parts=(lambda z, c: np.exp(_extreme_head(z, c)), lambda z, c: -np.expm1(_extreme_head(z, c))),
        valid=np.isfinite,
        chooses=True,
    ),
    "genlogistic": Continuous("c", lambda z, c: np.log(c) - z - (c + 1) * np.logaddexp(0.0, -z)),
    "gennorm": Continuous("beta", lambda z, b: np.log(b / 2) - _gammaln(1 / b) - np.abs(z) ** b),
    "genpareto": Continuous("c", _excess, low=0.0, tail=_excess_tail, valid=np.isfinite, chooses=True),
    "gompertz": Continuous(
        "c", lambda z, c: np.log(c) + z - c * np.expm1(z), low=0.0, tail=lambda z, c: -c * np.expm1(z)
    ),
    "halflogistic": Continuous(
        "",
        lambda z: math.log(2) - z - 2 * np.log1p(np.exp(-z)),
        low=0.0,
        tail=lambda z: math.log(2) - np.logaddexp(0.0, z),
    ),
    "hypsecant": Continuous("", lambda z: math.log(2 / math.pi) - np.logaddexp(z, -z)),
    "invgauss": Continuous(
        "mu", lambda z, mu: -HALF_LOG_TWO_PI - 1.5 * np.log(z) - ((z - mu) / mu) ** 2 / (2 * z), low=TINY
    ),
    "invweibull": Continuous(
        "c",
        lambda z, c: np.log(c) - (c + 1) * np.log(z) - z**-c,
        low=TINY,
        parts=(lambda z, c: np.exp(-(z**-c)), lambda z, c: -np.expm1(-(z**-c))),
    ),
    "johnsonsb": Continuous("a b", _between, low=TINY, high=1.0 - 2.0**-53, valid=_is_strength),
    "johnsonsu": Continuous(
        "a b",
        lambda z, a, b: np.log(b) - np.log1p(z * z) / 2 - (a + b * np.arcsinh(z)) ** 2 / 2 - HALF_LOG_TWO_PI,
        tail=lambda z, a, b: _log_ndtr(-(a + b * np.arcsinh(z))),
        valid=_is_strength,
    ),
    "laplace_asymmetric": Continuous(
        "kappa", lambda z, k: np.where(z < 0, z / k, -k * z) - np.log(k + 1 / k), chooses=True
    ),
    "levy": Continuous("", lambda z: -HALF_LOG_TWO_PI - 1.5 * np.log(z) - 0.5 / z, low=TINY),
    "loggamma": Continuous("c", lambda z, c: c * z - np.exp(z) - _gammaln(c)),
    "loguniform": Continuous("a b", _log_uniform, valid=lambda a, b: both(a > 0, b > a), chooses=True),
    "lomax": Continuous(
        "c",
        lambda z, c: np.log(c) - (c + 1) * np.log1p(z),
        low=0.0,
        tail=lambda z, c: -c * np.log1p(z),
        quantile=lambda q, c: np.expm1(-np.log1p(-q) / c),
        above=lambda q, c: np.expm1(-np.log(q) / c),
    ),
    "maxwell": Continuous(
        "",
        lambda z: 0.5 * math.log(2 / math.pi) + 2 * np.log(z) - z * z / 2,
        low=0.0,
        parts=(
            lambda z: special("gammainc")(np.full_like(z, 1.5), z * z / 2),
            lambda z: special("gammaincc")(np.full_like(z, 1.5), z * z / 2),
        ),
    ),
    "moyal": Continuous("", lambda z: -(z + np.exp(-z)) / 2 - HALF_LOG_TWO_PI),
    "nakagami": Continuous(
        "nu",
        lambda z, nu: math.log(2) + nu * np.log(nu) - _gammaln(nu) + _xlogy(2 * nu - 1, z) - nu * z * z,
        low=0.0,
    ),
    "powerlaw": Continuous("a", lambda z, a: np.log(a) + _xlogy(a - 1, z), low=0.0, high=1.0, chooses=True),
    "rayleigh": Continuous(
        "",
        lambda z: np.log(z) - z * z / 2,
        low=0.0,
        tail=lambda z: -z * z / 2,
        quantile=lambda q: np.sqrt(-2 * np.log1p(-q)),
        above=lambda q: np.sqrt(-2 * np.log(q)),
    ),
    "rice": Continuous(
        "b", lambda z, b: np.log(z) - (z - b) ** 2 / 2 + _log_i0e(z * b), low=0.0, valid=lambda b: b >= 0
    ),
    "skewnorm": Continuous(
        "a", lambda z, a: math.log(2) - z * z / 2 - HALF_LOG_TWO_PI + _log_ndtr(a * z), valid=np.isfinite
    ),
    "triang": Continuous("c", _triangle, low=0.0, high=1.0, valid=lambda c: both(c >= 0, c <= 1), chooses=True),
    "truncnorm": Continuous("a b", _truncated, valid=lambda a, b: a < b, chooses=True),
    "truncexpon": Continuous(
        "b", lambda z, b: _without(z > b, z, 0.0, lambda z: -missing(z) - np.log(-np.expm1(-b))), low=0.0, chooses=True
    ),
    "vonmises": Continuous(
        "kappa",
        lambda z, k: k * (np.cos(z) - 1) - math.log(2 * math.pi) - _log_i0e(k),
        valid=lambda k: k >= 0,
    ),
    "wald": Continuous("", lambda z: -HALF_LOG_TWO_PI - 1.5 * np.log(z) - (z - 1) ** 2 / (2 * z), low=TINY),
}
"""Distributions of real numbers, by SciPy's names."""


FURTHER["reciprocal"] = FURTHER["loguniform"]


FURTHER_DISCRETE: dict[str, Discrete] = {
    "betabinom": Discrete(
        "n a b",
        lambda k, n, a, b: log_choices(n, k) + _betaln(k + a, n - k + b) - _betaln(a, b),
        high=lambda n, a, b: n,
        valid=lambda n, a, b: both(is_count(n), a > 0, b > 0),
    ),
    "logser": Discrete(
        "p",
        lambda k, p: _xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)),
        low=1,
        valid=lambda p: both(p > 0, p < 1),
    ),
    "zipf": Discrete(
        "a", lambda k, a: -a * np.log(k) - np.log(special("_riemann_zeta")(a)), low=1, valid=lambda a: a > 1
    ),
}
"""Distributions of integers, by SciPy's names."""
