"""Distributions of shares and counts: Dirichlet and multinomial."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import not_empty, of_at_least, of_length, traced_double
from primsplit.frontends.scipy.stats.multivariate import squeezed
from primsplit.ir import dims
from primsplit.numpy.axes import size_as
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.numpy.validity import where_valid
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import stop_gradient


def _log_beta(alpha: Any) -> Any:
    gammaln = ELEMENTWISE["gammaln"]
    return np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))


def _parameters(alpha: Any) -> Any:
    weights = not_empty(traced_double(alpha))
    return refusing(weights, weights <= 0, ValueError("All parameters must be greater than 0"))


def _shares(shares: Any, alpha: Any) -> Any:
    """Shares [k, ...] that sum to 1 along the first axis."""
    powers = alpha.reshape((-1, *(1,) * (shares.ndim - 1)))
    at_pole = (shares == 0) & (powers < 1)
    rest = np.abs(np.sum(shares, axis=0) - 1.0)
    for wrong, told in (
        (shares < 0, "Each entry in 'x' must be greater than or equal to zero."),
        (shares > 1, "Each entry in 'x' must be smaller or equal one."),
        (at_pole, "Each entry in 'x' must be greater than zero if its alpha is less than one."),
        (rest > 1e-9, "The input vector 'x' must lie within the normal simplex."),
    ):
        shares = refusing(shares, wrong, ValueError(told))
    return shares


class Dirichlet:
    """`dirichlet.logpdf(x, alpha)`: shares along the first axis, all of them or all but the last.

    A run whose shares are negative or do not sum to 1, or whose parameters are not positive, fails as SciPy raises.
    """

    methods = ("pdf", "logpdf", "mean", "var", "entropy")

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density."""
        shares, weights = not_empty(traced_double(x), range(1, np.ndim(x))), _parameters(alpha)
        missing = weights.shape[0] - shares.shape[0]
        if not dims.same(missing, 0):
            shares = of_at_least(shares, weights.shape[0] - 1, 0)
            rest = 1 - np.sum(shares, axis=0, keepdims=True)
            shares = np.concatenate([shares, expand_to(rest, (missing, *shares.shape[1:]))])
        shares = _shares(shares, weights)
        powers = weights.reshape((-1, *(1,) * (shares.ndim - 1)))
        is_number = np.isfinite(np.sum(shares, axis=0, keepdims=True) + np.sum(weights))
        shares, powers = where_valid(is_number, shares, powers)
        return squeezed(np.sum(ELEMENTWISE["xlogy"](powers - 1, shares), axis=0) - _log_beta(weights))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, alpha))

    def mean(self, alpha: Any) -> Any:
        """The mean of each share."""
        weights = _parameters(alpha)
        return weights / np.sum(weights)

    def var(self, alpha: Any) -> Any:
        """The variance of each share."""
        weights = _parameters(alpha)
        total = np.sum(weights)
        return weights * (total - weights) / (total * total * (total + 1))

    def entropy(self, alpha: Any) -> Any:
        """The entropy."""
        weights = _parameters(alpha)
        digamma = ELEMENTWISE["psi"]
        total = np.sum(weights)
        rest = (total - size_as(weights.shape[0], np.float64)) * digamma(total)
        return _log_beta(weights) + rest - np.sum((weights - 1) * digamma(weights))


def _count(n: Any) -> Any:
    """A number without its fraction, which SciPy drops; the derivative in it is that of gamma functions."""
    given = traced_double(n)
    return given + stop_gradient(np.trunc(given) - given)


class Multinomial:
    """`multinomial.logpmf(x, n, p)`: counts along the last axis; the last probability is the rest, as in SciPy."""

    methods = ("pmf", "logpmf")

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability; -inf for what are no counts of this sum."""
        counts, total, chances = traced_double(x), _count(n), of_at_least(traced_double(p), 1)
        counts = of_length(counts, chances.shape[-1])
        rest = 1 - np.sum(chances[..., :-1], axis=-1, keepdims=True)
        chances = array_like(np.concatenate([chances[..., :-1], rest], axis=-1))
        is_outside = np.any((counts < 0) | (counts != np.floor(counts)), axis=-1) | (np.sum(counts, axis=-1) != total)
        is_valid = np.all((chances >= 0) & (chances <= 1), axis=-1) & (total >= 0)
        is_outside = is_outside & is_valid
        counts, chances = where_valid(is_valid[..., None], counts, chances)
        (total,) = where_valid(is_valid, total)
        held = np.where(is_outside[..., None], 0.0, counts)
        gammaln = ELEMENTWISE["gammaln"]
        terms = np.sum(ELEMENTWISE["xlogy"](held, chances) - gammaln(held + 1), axis=-1)
        return np.where(is_outside, -np.inf, gammaln(total + 1) + terms)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability."""
        return np.exp(self.logpmf(x, n, p))
