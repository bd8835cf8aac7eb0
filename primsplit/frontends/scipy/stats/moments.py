"""Means, variances and entropies of standard distributions, by SciPy's names of the distributions and their shapes.

N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions (1994, 1995).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit.numpy.ufuncs import ELEMENTWISE

Function = Callable[..., Any]


def special(name: str) -> Function:
    """A function of scipy.special for traced arrays, looked up when it is called."""

    def call(*values: Any) -> Any:
        return ELEMENTWISE[name](*values)

    return call


_gammaln, _psi, _betaln = map(special, ("gammaln", "psi", "betaln"))
EULER = float(np.euler_gamma)


class Moments(NamedTuple):
    """Functions of the shapes: the mean, the variance and, where it is known, the entropy."""

    mean: Function
    variance: Function
    entropy: Function | None = None


def _gamma(x: Any) -> Any:
    return np.exp(_gammaln(x))


def _where_more(shape: Any, least: float, found: Function, otherwise: float) -> Any:
    """`found` of a shape above `least`, of which there is none below."""
    is_more = shape > least
    return np.where(is_more, found(np.where(is_more, shape, least + 1.0)), otherwise)


def _lognormal_variance(s: Any) -> Any:
    return np.expm1(s * s) * np.exp(s * s)


def _weibull_variance(c: Any) -> Any:
    return _gamma(1 + 2 / c) - _gamma(1 + 1 / c) ** 2


MOMENTS: dict[str, Moments] = {
    "bernoulli": Moments(lambda p: p, lambda p: p * (1 - p)),
    "beta": Moments(
        lambda a, b: a / (a + b),
        lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
        lambda a, b: _betaln(a, b) - (a - 1) * _psi(a) - (b - 1) * _psi(b) + (a + b - 2) * _psi(a + b),
    ),
    "binom": Moments(lambda n, p: n * p, lambda n, p: n * p * (1 - p)),
    "chi2": Moments(
        lambda df: df,
        lambda df: 2 * df,
        lambda df: df / 2 + math.log(2) + _gammaln(df / 2) + (1 - df / 2) * _psi(df / 2),
    ),
    "expon": Moments(lambda: 1.0, lambda: 1.0, lambda: 1.0),
    "gamma": Moments(lambda a: a, lambda a: a, lambda a: a + _gammaln(a) + (1 - a) * _psi(a)),
    "geom": Moments(lambda p: 1 / p, lambda p: (1 - p) / p**2),
    "gumbel_l": Moments(lambda: -EULER, lambda: math.pi**2 / 6, lambda: 1 + EULER),
    "gumbel_r": Moments(lambda: EULER, lambda: math.pi**2 / 6, lambda: 1 + EULER),
    "halfnorm": Moments(
        lambda: math.sqrt(2 / math.pi), lambda: 1 - 2 / math.pi, lambda: 0.5 * math.log(math.pi / 2) + 0.5
    ),
    "laplace": Moments(lambda: 0.0, lambda: 2.0, lambda: 1 + math.log(2)),
    "logistic": Moments(lambda: 0.0, lambda: math.pi**2 / 3, lambda: 2.0),
    "lognorm": Moments(
        lambda s: np.exp(s * s / 2), _lognormal_variance, lambda s: 0.5 * (1 + math.log(2 * math.pi)) + np.log(s)
    ),
    "maxwell": Moments(lambda: 2 * math.sqrt(2 / math.pi), lambda: 3 - 8 / math.pi),
    "nbinom": Moments(lambda n, p: n * (1 - p) / p, lambda n, p: n * (1 - p) / p**2),
    "norm": Moments(lambda: 0.0, lambda: 1.0, lambda: 0.5 * (1 + math.log(2 * math.pi))),
    "pareto": Moments(
        lambda b: _where_more(b, 1.0, lambda b: b / (b - 1), np.inf),
        lambda b: _where_more(b, 2.0, lambda b: b / ((b - 1) ** 2 * (b - 2)), np.inf),
        lambda b: 1 + 1 / b - np.log(b),
    ),
    "poisson": Moments(lambda mu: mu, lambda mu: mu),
    "rayleigh": Moments(
        lambda: math.sqrt(math.pi / 2), lambda: 2 - math.pi / 2, lambda: 1 + EULER / 2 - 0.5 * math.log(2)
    ),
    "uniform": Moments(lambda: 0.5, lambda: 1 / 12, lambda: 0.0),
    "weibull_min": Moments(
        lambda c: _gamma(1 + 1 / c), _weibull_variance, lambda c: EULER * (1 - 1 / c) - np.log(c) + 1
    ),
}  # fmt: skip
