"""Families of distributions by the logarithms of their standard densities, and some by those of their tails."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.lifting import array_like
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.scipy.stats.normal import standardized

Function = Callable[..., Any]

TINY = float(np.finfo(np.float64).tiny)
"""Where a density begins that has no value at 0."""


class Continuous:
    """`logpdf(x, *shapes, loc=0, scale=1)` and its kin, whose arguments may all be traced; float64, as in SciPy.

    `density` is the log density of the standard distribution between `low` and `high`, `tail` the log of the
    probability of a larger number. Where a parameter is out of its range, SciPy gives NaN, this a number of no meaning.
    """

    def __init__(
        self,
        shapes: str,
        density: Function,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        tail: Function | None = None,
    ) -> None:
        self.names = (*shapes.split(), "loc", "scale")
        self.density = density
        self.low = low
        self.high = high
        self.tail = tail
        self.methods = ("pdf", "logpdf", *(("cdf", "logcdf", "sf", "logsf") if tail else ()))

    def logpdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of the density; -inf outside of the support."""
        *shapes, loc, scale = _bound(self.names, parameters, named)
        z = standardized(x, loc, scale)
        is_outside, inside = self._held(z)
        found = np.where(is_outside, -np.inf, self.density(inside, *shapes))
        return found - np.log(scale)

    def pdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, *parameters, **named))

    def logsf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `sf`, right far out too."""
        assert self.tail is not None
        *shapes, loc, scale = _bound(self.names, parameters, named)
        z = standardized(x, loc, scale)
        is_outside, inside = self._held(z)
        return np.where(is_outside, np.where(z < self.low, 0.0, -np.inf), self.tail(inside, *shapes))

    def sf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a larger number."""
        return np.exp(self.logsf(x, *parameters, **named))

    def cdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a number that is not larger."""
        return -np.expm1(self.logsf(x, *parameters, **named))

    def logcdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `cdf`, right far out too: log(1 - sf) in the form that cancels nothing."""
        tail = self.logsf(x, *parameters, **named)
        is_large = tail > -math.log(2)
        small = np.log1p(-np.exp(np.where(is_large, -1.0, tail)))
        return np.where(is_large, np.log(-np.expm1(np.where(is_large, tail, -1.0))), small)

    def _held(self, z: Array) -> tuple[Any, Any]:
        """Where `z` is outside of the support, and `z` with a number inside there, so that no gradient is NaN."""
        if self.low == -np.inf and self.high == np.inf:
            return False, z
        is_outside = np.logical_or(z < self.low, z > self.high)
        return is_outside, np.where(is_outside, max(self.low, 0.0) + 0.5, z)


class Discrete:
    """`logpmf(k, *shapes, loc=0)` and `pmf`, from the log probability of integers from `low` to `high(*shapes)`."""

    methods = ("pmf", "logpmf")

    def __init__(self, shapes: str, probability: Function, *, low: int = 0, high: Function = lambda *_: np.inf) -> None:
        self.names = (*shapes.split(), "loc")
        self.probability = probability
        self.low = low
        self.high = high

    def logpmf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of the probability; -inf for what is no integer of the support."""
        *shapes, loc = _bound(self.names, parameters, named)
        number = cast_to(array_like(k) - loc, np.float64)
        is_outside = (number < self.low) | (number > self.high(*shapes)) | (number != np.floor(number))
        found = self.probability(np.where(is_outside, float(self.low), number), *shapes)
        return np.where(is_outside, -np.inf, found)

    def pmf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The probability."""
        return np.exp(self.logpmf(k, *parameters, **named))


def _bound(names: tuple[str, ...], parameters: tuple[Any, ...], named: dict[str, Any]) -> list[Array]:
    """The parameters in the order of `names`, as float64. Raises TypeError as a call of a function does."""
    given = dict(zip(names, parameters, strict=False))
    if len(parameters) > len(names) or not given.keys().isdisjoint(named) or not named.keys() <= set(names):
        raise TypeError(f"the parameters are {', '.join(names)}")
    given |= {"loc": 0.0, "scale": 1.0} | given | named
    missing = [n for n in names if n not in given]
    if missing:
        raise TypeError(f"missing parameters: {', '.join(missing)}")
    return [cast_to(array_like(given[n]), np.float64) for n in names]


def _special(name: str) -> Function:
    """A function of scipy.special for traced arrays, looked up when it is called."""

    def call(*values: Any) -> Any:
        return ELEMENTWISE[name](*values)

    return call


_betaln, _gammaln, _log_ndtr, _xlog1py, _xlogy = map(_special, ("betaln", "gammaln", "log_ndtr", "xlog1py", "xlogy"))


def _t(z: Any, df: Any) -> Any:
    constant = _gammaln((df + 1) / 2) - _gammaln(df / 2) - 0.5 * np.log(np.pi * df)
    return constant - (df + 1) / 2 * np.log1p(z * z / df)


def _laplace_tail(z: Any) -> Any:
    is_right = z > 0
    right = -np.where(is_right, z, 0.0) - math.log(2)
    return np.where(is_right, right, np.log1p(-0.5 * np.exp(np.where(is_right, 0.0, z))))


CONTINUOUS: dict[str, Continuous] = {
    "beta": Continuous(
        "a b", lambda z, a, b: _xlogy(a - 1, z) + _xlog1py(b - 1, -z) - _betaln(a, b), low=0.0, high=1.0
    ),
    "cauchy": Continuous("", lambda z: -math.log(math.pi) - np.log1p(z * z)),
    "chi2": Continuous(
        "df", lambda z, df: _xlogy(df / 2 - 1, z) - z / 2 - _gammaln(df / 2) - df / 2 * math.log(2), low=0.0
    ),
    "expon": Continuous("", lambda z: -z, low=0.0, tail=lambda z: -z),
    "gamma": Continuous("a", lambda z, a: _xlogy(a - 1, z) - z - _gammaln(a), low=0.0),
    "gumbel_l": Continuous("", lambda z: z - np.exp(z), tail=lambda z: -np.exp(z)),
    "gumbel_r": Continuous("", lambda z: -z - np.exp(-z)),
    "halfcauchy": Continuous("", lambda z: math.log(2 / math.pi) - np.log1p(z * z), low=0.0),
    "halfnorm": Continuous(
        "", lambda z: 0.5 * math.log(2 / math.pi) - z * z / 2, low=0.0, tail=lambda z: math.log(2) + _log_ndtr(-z)
    ),
    "invgamma": Continuous("a", lambda z, a: -(a + 1) * np.log(z) - _gammaln(a) - 1 / z, low=TINY),
    "laplace": Continuous("", lambda z: -np.abs(z) - math.log(2), tail=_laplace_tail),
    "logistic": Continuous(
        "", lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))), tail=lambda z: -np.logaddexp(0.0, z)
    ),
    "lognorm": Continuous(
        "s",
        lambda z, s: -((np.log(z) / s) ** 2) / 2 - np.log(s * z) - 0.5 * math.log(2 * math.pi),
        low=TINY,
        tail=lambda z, s: _log_ndtr(-np.log(z) / s),
    ),
    "pareto": Continuous(
        "b", lambda z, b: np.log(b) - (b + 1) * np.log(z), low=1.0, tail=lambda z, b: -b * np.log(z)
    ),
    "t": Continuous("df", _t),
    "uniform": Continuous("", lambda z: 0.0 * z, low=0.0, high=1.0, tail=lambda z: np.log1p(-z)),
    "weibull_min": Continuous(
        "c", lambda z, c: np.log(c) + _xlogy(c - 1, z) - z**c, low=0.0, tail=lambda z, c: -(z**c)
    ),
}  # fmt: skip
"""Distributions of real numbers, by SciPy's names."""


def _choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return _gammaln(n + 1) - _gammaln(k + 1) - _gammaln(n - k + 1)


DISCRETE: dict[str, Discrete] = {
    "bernoulli": Discrete("p", lambda k, p: _xlogy(k, p) + _xlog1py(1 - k, -p), high=lambda p: 1.0),
    "binom": Discrete(
        "n p", lambda k, n, p: _choices(n, k) + _xlogy(k, p) + _xlog1py(n - k, -p), high=lambda n, p: n
    ),
    "geom": Discrete("p", lambda k, p: _xlog1py(k - 1, -p) + np.log(p), low=1),
    "nbinom": Discrete(
        "n p", lambda k, n, p: _gammaln(n + k) - _gammaln(k + 1) - _gammaln(n) + n * np.log(p) + _xlog1py(k, -p)
    ),
    "poisson": Discrete("mu", lambda k, mu: _xlogy(k, mu) - _gammaln(k + 1) - mu),
}  # fmt: skip
"""Distributions of integers, by SciPy's names."""
