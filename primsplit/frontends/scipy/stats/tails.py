"""Probabilities and quantiles of the distributions of scipy.stats whose densities are in `further` and `families`."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.stats.families import tangent
from primsplit.frontends.scipy.stats.further import log_between
from primsplit.frontends.scipy.stats.moments import special
from primsplit.numpy.transformations import exponential_quotient
from primsplit.special.quadrature import gauss_jacobi

Function = Callable[..., Any]

_gammainc, _gammaincc, _gammaincinv, _gammainccinv = map(
    special, ("gammainc", "gammaincc", "gammaincinv", "gammainccinv")
)
_ndtr, _ndtri, _log_ndtr, _erf, _erfc = map(special, ("ndtr", "ndtri", "log_ndtr", "erf", "erfc"))


class Tails(NamedTuple):
    """Functions of a number or a probability and the shapes, as `Continuous` takes them."""

    parts: tuple[Function, Function] | None = None
    quantile: Function | None = None
    above: Function | None = None
    head: Function | None = None
    tail: Function | None = None


def _mirrored(quantile: Function, middle: Function | None = None) -> Tails:
    """The tails of a distribution symmetric about 0, from the quantile of its right half.

    `middle` is the slope of the quantile at the median, 1 / pdf(0), where the formula of the half has 0 / 0.
    """

    def sided(q: Any, *shapes: Any) -> Any:
        return np.where(q < 0.5, -1.0, 1.0) * quantile(2 * np.where(q < 0.5, q, 1 - q), *shapes)

    def below(q: Any, *shapes: Any) -> Any:
        if middle is None:
            return sided(q, *shapes)
        is_middle = q == 0.5
        return np.where(is_middle, (q - 0.5) * middle(*shapes), sided(np.where(is_middle, 0.25, q), *shapes))

    return Tails(quantile=below, above=lambda q, *shapes: -below(q, *shapes))


def _two_sided(far: Function) -> tuple[Function, Function]:
    """The tails of a distribution symmetric about 0, from the probability of values further from 0."""

    def below(z: Any, *shapes: Any) -> Any:
        half = 0.5 * far(np.where(z > 0, z, -z), *shapes)  # which has a slope at 0, as np.abs has not
        return np.where(z > 0, 1 - half, half)

    return below, lambda z, *shapes: below(-z, *shapes)


def _truncated(z: Any, a: Any, b: Any) -> Any:
    held = np.clip(z, a, b)
    is_low = z <= a
    found = np.exp(log_between(a, np.where(is_low, b, held)) - log_between(a, b))
    return np.where(is_low, 0.0, found)


def _log_truncated(z: Any, a: Any, b: Any) -> Any:
    """The logarithm of that, by the rest of it where it is nearly 1."""
    held = np.clip(z, a, b)
    is_low, is_high = z <= a, z >= b
    mass = log_between(a, b)
    found = log_between(a, np.where(is_low | is_high, b, held)) - mass
    is_large = found > -0.1
    rest = log_between(np.where(is_large & ~is_high, held, a), b) - mass
    near = np.log1p(-np.exp(np.where(is_large & ~is_high, rest, -1.0)))
    return np.where(is_low, -np.inf, np.where(is_high, 0.0, np.where(is_large, near, found)))


def _place_of(log_chance: Any) -> Any:
    """The normal quantile of a probability given by its logarithm; by Newton steps if it is too small for a float."""
    is_far = log_chance < -700.0
    y = np.where(is_far & (log_chance > -np.inf), log_chance, -700.0)
    far = -np.sqrt(-2 * y)
    for _ in range(6):
        at = _log_ndtr(far)
        far = far - (at - y) * np.exp(at + far * far / 2) * math.sqrt(2 * math.pi)
    near = _ndtri(np.exp(np.where(is_far, -1.0, log_chance)))
    return np.where(log_chance == -np.inf, -np.inf, np.where(is_far, far, near))


def _truncated_quantile(q: Any, a: Any, b: Any) -> Any:
    """By the logarithm of a probability on the side of the ends."""
    is_right = a > 0
    low, share = np.where(is_right, -b, a), np.where(is_right, 1 - q, q)
    place = _place_of(np.logaddexp(_log_ndtr(low), np.log(share) + log_between(a, b)))
    return np.clip(np.where(is_right, -place, place), a, b)


def _first_passage(z: Any, mu: Any, side: float) -> Any:
    """The probability of an inverse Gaussian: G. Giner and G. K. Smyth, R Journal 8 (2016)."""
    first, less = _passages(z, mu, side)
    return np.exp(first) * (1 + side * np.exp(less))


def _log_first_passage(z: Any, mu: Any, side: float) -> Any:
    first, less = _passages(z, mu, side)
    return first + np.log1p(side * np.exp(less))


def _passages(z: Any, mu: Any, side: float) -> tuple[Any, Any]:
    """The logarithm of the larger of two probabilities, and how much less that of the smaller is."""
    root = 1 / np.sqrt(z)
    first = _log_ndtr(side * root * (z / mu - 1))
    return first, np.minimum(2 / mu + _log_ndtr(-root * (z / mu + 1)) - first, 0.0)


def _steep(z: Any, k: Any) -> Any:
    is_left = z < 0
    share = k / (k + 1 / k)
    right = 1 - np.exp(-np.where(is_left, 0.0, z) * k) * (1 - share)
    return np.where(is_left, np.exp(np.where(is_left, z, 0.0) / k) * share, right)


def _steep_quantile(q: Any, k: Any) -> Any:
    whole = k + 1 / k
    is_left = q < k / whole
    left = k * np.log(np.where(is_left, q, 0.5) * whole / k)
    return np.where(is_left, left, -np.log((1 - np.where(is_left, 0.5, q)) * whole * k) / k)


def _fatigue(x: Any) -> Any:
    """(x + sqrt(x^2 + 4))^2 / 4, of two numbers whose product is 1 the one for the sign of x."""
    larger = (np.where(x < 0, -x, x) + np.sqrt(x * x + 4)) ** 2 / 4
    return np.where(x < 0, 1 / larger, larger)


def _cut_quantile(q: Any, rest: Any, b: Any) -> Any:
    """Of the exponential distribution up to b, by a probability and the rest of it."""
    is_low = q < 0.5
    low = np.log1p(np.where(is_low, q, 0.0) * np.expm1(-b))
    return -np.where(is_low, low, np.log(np.where(is_low, 1.0, rest + q * np.exp(-b))))


def _folded(z: Any, c: Any) -> Any:
    """The normal probability between -z - c and z - c, for small z by Gauss's quadrature, in which nothing cancels."""
    is_near = z < 0.5
    near = np.where(is_near, z, 0.5)
    density = sum(2 * weight * np.exp(-0.5 * (c + near * (2 * node - 1)) ** 2) for node, weight in NODES)
    far = np.where(is_near, 0.5, z)
    return np.where(is_near, near * density * math.sqrt(0.5 / math.pi), _ndtr(far - c) - _ndtr(-far - c))


NODES = gauss_jacobi(10, 0.0, 0.0)


def _box(x: Any, c: Any) -> Any:
    """expm1(c x) / c, which is x where c is 0, with all derivatives there."""
    is_end = np.isinf(x)
    is_bent = is_end & (c != 0)
    end = np.where(is_bent, np.expm1(np.where(is_bent, c * x, 0.0)) / np.where(is_bent, c, 1.0), x)
    held = np.where(is_end, 0.0, x)
    return np.where(is_end, end, held * exponential_quotient(c * held, 0))


def _expon_normal(z: Any, k: Any, side: float) -> Any:
    return _ndtr(side * z) - side * np.exp((0.5 / k - z) / k + _log_ndtr(z - 1 / k))


def _triangle(z: Any, c: Any) -> Any:
    is_left = z < c
    right = c + (z - c) * (2 - z - c) / np.where(is_left, 1.0, np.where(c < 1, 1 - c, 1.0))
    return np.where(is_left, z * z / np.where(is_left, c, 1.0), right)


def _generalized(c: Any, positive: Any, negative: Any) -> Any:
    return np.where(c > 0, positive, negative)


def _gamma_of_exp(z: Any, c: Any) -> Any:
    """The incomplete gamma function at exp(z), by the first term of its series where that is 0 or nearly so."""
    is_far = z < -40.0
    far = np.exp(c * np.where(is_far, z, 0.0) - special("gammaln")(c + 1))
    return np.where(is_far, far, _gammainc(c, np.exp(np.where(is_far, 0.0, z))))


TAILS: dict[str, Tails] = {
    "arcsine": Tails(
        (
            lambda z: 2 / math.pi * np.arcsin(np.sqrt(z)),
            lambda z: 2 / math.pi * np.arccos(np.sqrt(z)),
        ),
        lambda q: np.sin(math.pi / 2 * q) ** 2,
        lambda q: np.sin(math.pi / 2 * (1 - q)) ** 2,
    ),
    "betaprime": Tails(
        (
            lambda z, a, b: special("betainc")(a, b, z / (1 + z)),
            lambda z, a, b: special("betainc")(b, a, 1 / (1 + z)),
        )
    ),
    "burr12": Tails(
        quantile=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c),
        above=lambda q, c, d: np.expm1(-np.log(q) / d) ** (1 / c),
    ),
    "chi": Tails(
        quantile=lambda q, df: np.sqrt(2 * _gammaincinv(df / 2, q)),
        above=lambda q, df: np.sqrt(2 * _gammainccinv(df / 2, q)),
    ),
    "dgamma": _mirrored(lambda q, a: _gammainccinv(a, q))._replace(parts=_two_sided(lambda z, a: _gammaincc(a, z))),
    "dweibull": _mirrored(lambda q, c: (-np.log(q)) ** (1 / c))._replace(
        parts=_two_sided(lambda z, c: np.exp(-(z**c)))
    ),
    "exponnorm": Tails((lambda z, k: _expon_normal(z, k, 1.0), lambda z, k: _expon_normal(z, k, -1.0))),
    "exponweib": Tails(
        quantile=lambda q, a, c: (-np.log1p(-(q ** (1 / a)))) ** (1 / c),
        above=lambda q, a, c: (-np.log(-np.expm1(np.log1p(-q) / a))) ** (1 / c),
    ),
    "fatiguelife": Tails(
        (
            lambda z, c: _ndtr((np.sqrt(z) - 1 / np.sqrt(z)) / c),
            lambda z, c: _ndtr((1 / np.sqrt(z) - np.sqrt(z)) / c),
        ),
        lambda q, c: _fatigue(c * _ndtri(q)),
        lambda q, c: _fatigue(-c * _ndtri(q)),
    ),
    "foldnorm": Tails(
        (_folded, lambda z, c: _ndtr(c - z) + _ndtr(-z - c))
    ),
    "gengamma": Tails(
        (
            lambda z, a, c: _generalized(c, _gammainc(a, z**c), _gammaincc(a, z**c)),
            lambda z, a, c: _generalized(c, _gammaincc(a, z**c), _gammainc(a, z**c)),
        ),
        lambda q, a, c: _generalized(c, _gammaincinv(a, q), _gammainccinv(a, q)) ** (1 / c),
        lambda q, a, c: _generalized(c, _gammainccinv(a, q), _gammaincinv(a, q)) ** (1 / c),
    ),
    "genextreme": Tails(
        quantile=lambda q, c: -_box(np.log(-np.log(q)), c),
        above=lambda q, c: -_box(np.log(-np.log1p(-q)), c),
    ),
    "genlogistic": Tails(
        (
            lambda z, c: np.exp(-c * np.logaddexp(0.0, -z)),
            lambda z, c: -np.expm1(-c * np.logaddexp(0.0, -z)),
        ),
        lambda q, c: -np.log(np.expm1(-np.log(q) / c)),
        lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
    ),
    "gennorm": _mirrored(
        lambda q, b: _gammainccinv(1 / b, q) ** (1 / b), lambda b: 2 * np.exp(special("gammaln")(1 + 1 / b))
    )._replace(
        parts=_two_sided(lambda z, b: _gammaincc(1 / b, z**b))
    ),
    "genpareto": Tails(
        quantile=lambda q, c: _box(-np.log1p(-q), c), above=lambda q, c: _box(-np.log(q), c)
    ),
    "gompertz": Tails(
        quantile=lambda q, c: np.log1p(-np.log1p(-q) / c), above=lambda q, c: np.log1p(-np.log(q) / c)
    ),
    "halflogistic": Tails(
        (lambda z: np.tanh(z / 2), lambda z: special("expit")(-z) * 2),
        quantile=lambda q: 2 * np.arctanh(q), above=lambda q: np.log((2 - q) / q),
    ),
    "hypsecant": Tails(
        (
            lambda z: 2 / math.pi * np.arctan(np.exp(z)),
            lambda z: 2 / math.pi * np.arctan(np.exp(-z)),
        ),
        lambda q: np.log(tangent(math.pi / 2 * q, q - 1)),
        lambda q: -np.log(tangent(math.pi / 2 * q, q - 1)),
    ),
    "invgamma": Tails(
        quantile=lambda q, a: 1 / _gammainccinv(a, q), above=lambda q, a: 1 / _gammaincinv(a, q)
    ),
    "invgauss": Tails(
        (lambda z, mu: _first_passage(z, mu, 1.0), lambda z, mu: _first_passage(z, mu, -1.0)),
        head=lambda z, mu: _log_first_passage(z, mu, 1.0),
        tail=lambda z, mu: _log_first_passage(z, mu, -1.0),
    ),
    "invweibull": Tails(
        quantile=lambda q, c: np.abs(np.log(q)) ** (-1 / c), above=lambda q, c: np.abs(np.log1p(-q)) ** (-1 / c)
    ),
    "johnsonsb": Tails(
        (
            lambda z, a, b: _ndtr(a + b * special("logit")(z)),
            lambda z, a, b: _ndtr(-(a + b * special("logit")(z))),
        ),
        lambda q, a, b: special("expit")((_ndtri(q) - a) / b),
        lambda q, a, b: special("expit")((-_ndtri(q) - a) / b),
    ),
    "johnsonsu": Tails(
        quantile=lambda q, a, b: np.sinh((_ndtri(q) - a) / b), above=lambda q, a, b: np.sinh((-_ndtri(q) - a) / b)
    ),
    "laplace_asymmetric": Tails(
        (_steep, lambda z, k: _steep(-z, 1 / k)), _steep_quantile, lambda q, k: -_steep_quantile(q, 1 / k)
    ),
    "levy": Tails(
        (lambda z: _erfc(np.sqrt(0.5 / z)), lambda z: _erf(np.sqrt(0.5 / z))),
        lambda q: _ndtri(q / 2) ** -2.0,
        lambda q: 0.5 * special("erfinv")(q) ** -2.0,
    ),
    "loggamma": Tails(
        (_gamma_of_exp, lambda z, c: _gammaincc(c, np.exp(z))),
        lambda q, c: np.log(_gammaincinv(c, q)),
        lambda q, c: np.log(_gammainccinv(c, q)),
    ),
    "loguniform": Tails(
        (
            lambda z, a, b: np.log(np.clip(z, a, b) / a) / np.log(b / a),
            lambda z, a, b: np.log(b / np.clip(z, a, b)) / np.log(b / a),
        ),
        lambda q, a, b: a * (b / a) ** q,
        lambda q, a, b: b * (a / b) ** q,
    ),
    "maxwell": Tails(
        quantile=lambda q: np.sqrt(2 * _gammaincinv(1.5 + 0 * q, q)),
        above=lambda q: np.sqrt(2 * _gammainccinv(1.5 + 0 * q, q)),
    ),
    "moyal": Tails(
        (
            lambda z: _erfc(np.exp(-z / 2) / math.sqrt(2)),
            lambda z: _erf(np.exp(-z / 2) / math.sqrt(2)),
        ),
        lambda q: -2 * np.log(-_ndtri(q / 2)),
        lambda q: -2 * np.log(math.sqrt(2) * special("erfinv")(q)),
    ),
    "nakagami": Tails(
        (lambda z, nu: _gammainc(nu, nu * z * z), lambda z, nu: _gammaincc(nu, nu * z * z)),
        lambda q, nu: np.sqrt(_gammaincinv(nu, q) / nu),
        lambda q, nu: np.sqrt(_gammainccinv(nu, q) / nu),
    ),
    "powerlaw": Tails(
        (lambda z, a: z**a, lambda z, a: -np.expm1(a * np.log(z))),
        lambda q, a: q ** (1 / a),
        lambda q, a: (1 - q) ** (1 / a),
    ),
    "triang": Tails(
        (_triangle, lambda z, c: _triangle(1 - z, 1 - c)),
        lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
        lambda q, c: np.where(1 - q < c, np.sqrt(c * (1 - q)), 1 - np.sqrt((1 - c) * q)),
    ),
    "truncexpon": Tails(
        (
            lambda z, b: np.expm1(-np.minimum(z, b)) / np.expm1(-b),
            lambda z, b: np.exp(-np.minimum(z, b)) * np.expm1(np.minimum(z, b) - b) / np.expm1(-b),
        ),
        lambda q, b: _cut_quantile(q, 1 - q, b),
        lambda q, b: _cut_quantile(1 - q, q, b),
    ),
    "truncnorm": Tails(
        (_truncated, lambda z, a, b: _truncated(-z, -b, -a)),
        _truncated_quantile,
        lambda q, a, b: -_truncated_quantile(q, -b, -a),
        head=_log_truncated,
        tail=lambda z, a, b: _log_truncated(-z, -b, -a),
    ),
    "wald": Tails(
        (lambda z: _first_passage(z, 1.0, 1.0), lambda z: _first_passage(z, 1.0, -1.0)),
        head=lambda z: _log_first_passage(z, 1.0, 1.0),
        tail=lambda z: _log_first_passage(z, 1.0, -1.0),
    ),
}  # fmt: skip
"""By SciPy's names. What `families` and `further` have stays."""
TAILS["reciprocal"] = TAILS["loguniform"]
