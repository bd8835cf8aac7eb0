"""Rarer families of distributions of scipy.stats, defined by log densities, probabilities and quantiles."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.stats.families import CONTINUOUS
from primsplit.frontends.scipy.stats.kinds import TINY, Continuous, both
from primsplit.frontends.scipy.stats.moments import special

_gammaln, _log_ndtr, _ndtri, _xlogy = map(special, ("gammaln", "log_ndtr", "ndtri", "xlogy"))


def _two_powers(z: Any, c: Any) -> Any:
    """log z below 1, its negative above, times c."""
    return -c * np.abs(np.log(z))


def _two_power_part(logarithm: Any, c: Any) -> Any:
    """The probability of a smaller number, by the logarithm of the number."""
    is_low = logarithm < 0
    low, high = np.where(is_low, logarithm, 0.0), np.where(is_low, 0.0, logarithm)
    return np.where(is_low, 0.5 * np.exp(c * low), 1 - 0.5 * np.exp(-c * high))


def _burr(z: Any, c: Any, d: Any) -> Any:
    """By the power of z that does not overflow."""
    is_low = z < 1
    low, high = np.where(is_low, z, 0.5), np.where(is_low, 2.0, z)
    left = _xlogy(c * d - 1, low) - (d + 1) * np.log1p(low**c)
    right = -(c + 1) * np.log(high) - (d + 1) * np.log1p(high**-c)
    return np.log(c * d) + np.where(is_low, left, right)


def _log_mielke(z: Any, k: Any, s: Any) -> Any:
    return -k / s * np.logaddexp(0.0, -s * np.log(z))


def _trapezoid(z: Any, c: Any, d: Any) -> Any:
    is_left, is_right = z < c, z > d
    rising = np.where(is_left, z / np.where(is_left, c, 1.0), 1.0)
    falling = np.where(is_right, (1 - z) / np.where(is_right, 1 - d, 1.0), 1.0)
    return math.log(2) - np.log(d - c + 1) + np.log(rising) + np.log(falling) + 0.0 * z  # NaN stays


def _trapezoid_part(z: Any, c: Any, d: Any) -> Any:
    is_left, is_right = z < c, z > d
    left = z * z / np.where(is_left, c, 1.0)
    right = d - c + 1 - (1 - z) ** 2 / np.where(is_right, 1 - d, 1.0)
    return np.where(is_left, left, np.where(is_right, right, 2 * z - c)) / (d - c + 1)


def _normal_inverse(z: Any, a: Any, b: Any) -> Any:
    far = np.hypot(1.0, z)
    return np.log(a / math.pi * special("k1e")(a * far) / far) + b * z - a * far + np.sqrt(a * a - b * b)


RARER: dict[str, Continuous] = {
    "bradford": Continuous(
        "c",
        lambda z, c: np.log(c) - np.log1p(c * z) - np.log(np.log1p(c)),
        low=0.0,
        high=1.0,
        parts=(
            lambda z, c: np.log1p(c * z) / np.log1p(c),
            lambda z, c: np.log1p(c * (1 - z) / (1 + c * z)) / np.log1p(c),
        ),
        quantile=lambda q, c: np.expm1(q * np.log1p(c)) / c,
        above=lambda q, c: np.expm1((1 - q) * np.log1p(c)) / c,
    ),
    "burr": Continuous(
        "c d",
        _burr,
        low=0.0,
        parts=(
            lambda z, c, d: np.exp(-d * np.log1p(z**-c)),
            lambda z, c, d: -np.expm1(-d * np.log1p(z**-c)),
        ),
        head=lambda z, c, d: -d * np.log1p(z**-c),
        quantile=lambda q, c, d: np.abs(np.expm1(-np.log(q) / d)) ** (-1 / c),
        above=lambda q, c, d: np.abs(np.expm1(-np.log1p(-q) / d)) ** (-1 / c),
    ),
    "cosine": Continuous(
        "",
        lambda z: np.log1p(np.cos(z)) - math.log(2 * math.pi),
        low=-math.pi,
        high=math.pi,
        parts=(
            lambda z: (math.pi + z + np.sin(z)) / (2 * math.pi),
            lambda z: (math.pi - z - np.sin(z)) / (2 * math.pi),
        ),
    ),
    "erlang": CONTINUOUS["gamma"],
    "exponpow": Continuous(
        "b",
        lambda z, b: 1 + np.log(b) + _xlogy(b - 1, z) + z**b - np.exp(z**b),
        low=0.0,
        tail=lambda z, b: -np.expm1(z**b),
        quantile=lambda q, b: np.log1p(-np.log1p(-q)) ** (1 / b),
        above=lambda q, b: np.log1p(-np.log(q)) ** (1 / b),
    ),
    "halfgennorm": Continuous(
        "beta",
        lambda z, b: np.log(b) - _gammaln(1 / b) - z**b,
        low=0.0,
        chooses=True,
        parts=(
            lambda z, b: special("gammainc")(1 / b, z**b),
            lambda z, b: special("gammaincc")(1 / b, z**b),
        ),
        quantile=lambda q, b: special("gammaincinv")(1 / b, q) ** (1 / b),
        above=lambda q, b: special("gammainccinv")(1 / b, q) ** (1 / b),
    ),
    "loglaplace": Continuous(
        "c",
        lambda z, c: np.log(c / 2) - np.log(z) + _two_powers(z, c),
        low=TINY,
        parts=(
            lambda z, c: _two_power_part(np.log(z), c),
            lambda z, c: _two_power_part(-np.log(z), c),
        ),
        quantile=lambda q, c: np.where(q < 0.5, (2 * q) ** (1 / c), (2 * (1 - q)) ** (-1 / c)),
        above=lambda q, c: np.where(q > 0.5, (2 * (1 - q)) ** (1 / c), (2 * q) ** (-1 / c)),
    ),
    "mielke": Continuous(
        "k s",
        lambda z, k, s: np.log(k) + _xlogy(k - 1, z) - (1 + k / s) * np.log1p(z**s),
        low=0.0,
        parts=(
            lambda z, k, s: np.exp(_log_mielke(z, k, s)),
            lambda z, k, s: -np.expm1(_log_mielke(z, k, s)),
        ),
        head=_log_mielke,
    ),
    "norminvgauss": Continuous("a b", _normal_inverse, valid=lambda a, b: both(a > 0, np.abs(b) < a)),
    "powernorm": Continuous(
        "c",
        lambda z, c: np.log(c) - z * z / 2 - 0.5 * math.log(2 * math.pi) + (c - 1) * _log_ndtr(-z),
        tail=lambda z, c: c * _log_ndtr(-z),
        quantile=lambda q, c: -_ndtri(np.exp(np.log1p(-q) / c)),
        above=lambda q, c: -_ndtri(np.exp(np.log(q) / c)),
    ),
    "semicircular": Continuous(
        "",
        lambda z: math.log(2 / math.pi) + 0.5 * np.log1p(-z * z),
        low=-1.0,
        high=1.0,
        parts=(
            lambda z: (np.arccos(-z) + z * np.sqrt(1 - z * z)) / math.pi,
            lambda z: (np.arccos(z) - z * np.sqrt(1 - z * z)) / math.pi,
        ),
    ),
    "trapezoid": Continuous(
        "c d",
        _trapezoid,
        chooses=True,
        low=0.0,
        high=1.0,
        parts=(_trapezoid_part, lambda z, c, d: _trapezoid_part(1 - z, 1 - d, 1 - c)),
        valid=lambda c, d: both(c >= 0, c <= d, d <= 1),
    ),
    "wrapcauchy": Continuous(
        "c",
        lambda z, c: np.log((1 - c * c) / (2 * math.pi)) - np.log(1 + c * c - 2 * c * np.cos(z)),
        low=0.0,
        high=2 * math.pi,
        valid=lambda c: both(c > 0, c < 1),
    ),
}  # fmt: skip
"""Distributions of real numbers, by SciPy's names."""
