"""Families of distributions, defined by the logarithms of their standard densities, some by those of their tails."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.stats.kinds import TINY, Continuous, Discrete, both
from primsplit.frontends.scipy.stats.moments import special
from primsplit.numpy.validity import missing

_betaln, _gammaln, _log_ndtr, _xlog1py, _xlogy = map(special, ("betaln", "gammaln", "log_ndtr", "xlog1py", "xlogy"))
_gammainc, _gammaincc, _gammaincinv, _gammainccinv, _ndtri = map(
    special, ("gammainc", "gammaincc", "gammaincinv", "gammainccinv", "ndtri")
)


def _t(z: Any, df: Any) -> Any:
    """The normal distribution's where the degrees of freedom are infinite."""
    is_normal = df == np.inf
    held = np.where(is_normal, 1.0, df)
    found = -_betaln(0.5, held / 2) - 0.5 * np.log(held) - (held + 1) / 2 * np.log1p(z * z / held)
    return np.where(is_normal, -z * z / 2 - 0.5 * math.log(2 * math.pi), found)


def _laplace_tail(z: Any) -> Any:
    is_right = z > 0
    right = -np.where(is_right, z, 0.0) - math.log(2)
    return np.where(is_right, right, np.log1p(-0.5 * np.exp(np.where(is_right, 0.0, z))))


def _laplace_quantile(q: Any) -> Any:
    is_low = q < 0.5
    return np.where(is_low, np.log(2 * np.where(is_low, q, 0.5)), -np.log(2 * np.where(is_low, 0.5, 1 - q)))


def _half_normal_tail(z: Any) -> Any:
    """The logarithm of a larger number's probability; near 0 by the small one of the rest."""
    is_near = z < 0.5
    near = np.log1p(-special("erf")(np.where(is_near, z, 0.5) / math.sqrt(2)))
    return np.where(is_near, near, math.log(2) + _log_ndtr(-z))


def tangent(angle: Any, rest: Any) -> Any:
    """tan, infinite where the angle is a right one but for rounding, which is where the rest is 0."""
    is_end = rest == 0
    held = np.where(is_end, rest, 1.0)
    end = np.sqrt(held * held * held) + np.copysign(np.inf, angle)  # of the slope NaN, inf * 0
    return np.where(is_end, end, np.tan(np.where(is_end, 0.0, angle)))


def _cotangent(angle: Any) -> Any:
    """1 / tan between 0 and pi, infinite at both."""
    is_small = angle < 0.5
    small = 1 / np.tan(np.where(is_small, angle, 0.5))
    return np.where(is_small, small, tangent(math.pi / 2 - np.where(is_small, 0.5, angle), angle - math.pi))


CONTINUOUS: dict[str, Continuous] = {
    "beta": Continuous(
        "a b",
        lambda z, a, b: _xlogy(a - 1, z) + _xlog1py(b - 1, -z) - _betaln(a, b),
        low=0.0,
        high=1.0,
        parts=(lambda z, a, b: special("betainc")(a, b, z), lambda z, a, b: special("betaincc")(a, b, z)),
        quantile=lambda q, a, b: special("betaincinv")(a, b, q),
        above=lambda q, a, b: 1 - special("betaincinv")(b, a, q),
    ),
    "cauchy": Continuous(
        "",
        lambda z: -math.log(math.pi) - np.log1p(z * z),
        parts=(lambda z: np.arctan2(1.0, -z) / math.pi, lambda z: np.arctan2(1.0, z) / math.pi),
        quantile=lambda q: -_cotangent(math.pi * q),
        above=lambda q: _cotangent(math.pi * q),
    ),
    "chi2": Continuous(
        "df",
        lambda z, df: _xlogy(df / 2 - 1, z) - z / 2 - _gammaln(df / 2) - df / 2 * math.log(2),
        low=0.0,
        parts=(lambda z, df: _gammainc(df / 2, z / 2), lambda z, df: _gammaincc(df / 2, z / 2)),
        quantile=lambda q, df: 2 * _gammaincinv(df / 2, q),
        above=lambda q, df: 2 * _gammainccinv(df / 2, q),
    ),
    "expon": Continuous(
        "",
        lambda z: -missing(z),
        low=0.0,
        tail=lambda z: -missing(z),
        quantile=lambda q: -np.log1p(-q),
        above=lambda q: -np.log(q),
    ),
    "gamma": Continuous(
        "a",
        lambda z, a: _xlogy(a - 1, z) - z - _gammaln(a),
        low=0.0,
        parts=(lambda z, a: _gammainc(a, z), lambda z, a: _gammaincc(a, z)),
        quantile=lambda q, a: _gammaincinv(a, q),
        above=lambda q, a: _gammainccinv(a, q),
    ),
    "gumbel_l": Continuous(
        "",
        lambda z: z - np.exp(z),
        tail=lambda z: -np.exp(z),
        quantile=lambda q: np.log(-np.log1p(-q)),
        above=lambda q: np.log(-np.log(q)),
    ),
    "gumbel_r": Continuous(
        "",
        lambda z: -z - np.exp(-z),
        parts=(lambda z: np.exp(-np.exp(-z)), lambda z: -np.expm1(-np.exp(-z))),
        head=lambda z: -np.exp(-z),
        quantile=lambda q: -np.log(-np.log(q)),
        above=lambda q: -np.log(-np.log1p(-q)),
    ),
    "halfcauchy": Continuous(
        "",
        lambda z: math.log(2 / math.pi) - np.log1p(z * z),
        low=0.0,
        parts=(lambda z: np.arctan(z) * (2 / math.pi), lambda z: np.arctan2(1.0, z) * (2 / math.pi)),
        quantile=lambda q: tangent(math.pi / 2 * q, q - 1),
        above=lambda q: _cotangent(math.pi / 2 * q),
    ),
    "halfnorm": Continuous(
        "",
        lambda z: 0.5 * math.log(2 / math.pi) - z * z / 2,
        low=0.0,
        parts=(lambda z: special("erf")(z / math.sqrt(2)), lambda z: special("erfc")(z / math.sqrt(2))),
        tail=_half_normal_tail,
        quantile=lambda q: _ndtri(0.5 + q / 2),
        above=lambda q: -_ndtri(q / 2),
    ),
    "invgamma": Continuous(
        "a",
        lambda z, a: -(a + 1) * np.log(z) - _gammaln(a) - 1 / z,
        low=TINY,
        parts=(lambda z, a: _gammaincc(a, 1 / z), lambda z, a: _gammainc(a, 1 / z)),
    ),
    "laplace": Continuous(
        "",
        lambda z: -np.abs(z) - math.log(2),
        tail=_laplace_tail,
        quantile=_laplace_quantile,
        above=lambda q: -_laplace_quantile(q),
    ),
    "logistic": Continuous(
        "",
        lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))),
        parts=(special("expit"), lambda z: special("expit")(-z)),
        head=lambda z: -np.logaddexp(0.0, -z),
        tail=lambda z: -np.logaddexp(0.0, z),
        quantile=special("logit"),
        above=lambda q: -special("logit")(q),
    ),
    "lognorm": Continuous(
        "s",
        lambda z, s: -((np.log(z) / s) ** 2) / 2 - np.log(s * z) - 0.5 * math.log(2 * math.pi),
        low=TINY,
        parts=(lambda z, s: special("ndtr")(np.log(z) / s), lambda z, s: special("ndtr")(-np.log(z) / s)),
        head=lambda z, s: _log_ndtr(np.log(z) / s),
        tail=lambda z, s: _log_ndtr(-np.log(z) / s),
        quantile=lambda q, s: np.exp(s * _ndtri(q)),
        above=lambda q, s: np.exp(-s * _ndtri(q)),
    ),
    "pareto": Continuous(
        "b",
        lambda z, b: np.log(b) - (b + 1) * np.log(z),
        low=1.0,
        tail=lambda z, b: -b * np.log(z),
        quantile=lambda q, b: (1 - q) ** (-1 / b),
        above=lambda q, b: q ** (-1 / b),
    ),
    "norm": Continuous(
        "",
        lambda z: -0.5 * (z * z) - 0.5 * math.log(2 * math.pi),
        parts=(special("ndtr"), lambda z: special("ndtr")(-z)),
        head=_log_ndtr,
        tail=lambda z: _log_ndtr(-z),
        quantile=_ndtri,
        above=lambda q: -_ndtri(q),
    ),
    "t": Continuous(
        "df",
        _t,
        parts=(lambda z, df: special("stdtr")(df, z), lambda z, df: special("stdtr")(df, -z)),
        quantile=lambda q, df: special("stdtrit")(df, q),
        above=lambda q, df: -special("stdtrit")(df, q),
    ),
    "uniform": Continuous(
        "",
        lambda z: missing(z) * 0.0,
        low=0.0,
        high=1.0,
        tail=lambda z: np.log1p(-z),
        quantile=missing,
        above=lambda q: 1 - missing(q),
    ),
    "weibull_min": Continuous(
        "c",
        lambda z, c: np.log(c) + _xlogy(c - 1, z) - z**c,
        low=0.0,
        tail=lambda z, c: -(z**c),
        quantile=lambda q, c: (-np.log1p(-q)) ** (1 / c),
        above=lambda q, c: (-np.log(q)) ** (1 / c),
        chooses=True,
    ),
}  # fmt: skip
"""Distributions of real numbers, by SciPy's names."""


def is_count(n: Any) -> Any:
    """Return where a number is whole and not negative."""
    return both(n >= 0, np.floor(n) == n)


def _is_share(p: Any) -> Any:
    return both(p >= 0, p <= 1)


def log_choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return -np.log(n + 1) - _betaln(k + 1, n - k + 1)


DISCRETE: dict[str, Discrete] = {
    "bernoulli": Discrete("p", lambda k, p: _xlogy(k, p) + _xlog1py(1 - k, -p), high=lambda p: 1.0, valid=_is_share),
    "binom": Discrete(
        "n p",
        lambda k, n, p: log_choices(n, k) + _xlogy(k, p) + _xlog1py(n - k, -p),
        high=lambda n, p: n,
        parts=(  # NaN of infinitely many trials, as in SciPy
            lambda k, n, p: special("betaincc")(k + 1, n - k, p) + 0.0 * n,
            lambda k, n, p: special("betainc")(k + 1, n - k, p) + 0.0 * n,
        ),
        valid=lambda n, p: both(is_count(n), _is_share(p)),
    ),
    "geom": Discrete(
        "p",
        lambda k, p: _xlog1py(k - 1, -p) + np.log(p),
        low=1,
        parts=(lambda k, p: -np.expm1(k * np.log1p(-p)), lambda k, p: np.exp(k * np.log1p(-p))),
        tail=lambda k, p: _xlog1py(k, -p),
        valid=lambda p: both(p > 0, p <= 1),
    ),
    "nbinom": Discrete(
        "n p",
        lambda k, n, p: -np.log(n + k) - _betaln(n, k + 1) + n * np.log(p) + _xlog1py(k, -p),
        valid=lambda n, p: both(n > 0, p > 0, p <= 1),
    ),
    "poisson": Discrete(
        "mu",
        lambda k, mu: _xlogy(k, mu) - _gammaln(k + 1) - mu,
        parts=(lambda k, mu: _gammaincc(k + 1, mu), lambda k, mu: _gammainc(k + 1, mu)),
        valid=lambda mu: mu >= 0,
    ),
}  # fmt: skip
"""Distributions of integers, by SciPy's names."""
