"""The normal distribution, `norm.logpdf(x, loc, scale)` and its kin."""

import math
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.lifting import array_like
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to


class Normal:
    """The normal distribution with mean `loc` and standard deviation `scale`, whose arguments may all be traced.

    A scale that is not positive gives NaN or a number of no meaning, where SciPy gives NaN.
    """

    own = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    """The functions of a number and the parameters."""
    methods = (*own, "median", "interval", "mean", "var", "std", "entropy")

    def pdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, loc, scale))

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of the density."""
        z = standardized(x, loc, scale)
        return -0.5 * (z * z) - np.log(array_like(scale)) - 0.5 * math.log(2 * math.pi)

    def cdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of a smaller number."""
        return ELEMENTWISE["ndtr"](standardized(x, loc, scale))

    def logcdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of `cdf`, right far out too."""
        return ELEMENTWISE["log_ndtr"](standardized(x, loc, scale))

    def sf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of a larger number."""
        return ELEMENTWISE["ndtr"](-standardized(x, loc, scale))

    def logsf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of `sf`, right far out too."""
        return ELEMENTWISE["log_ndtr"](-standardized(x, loc, scale))

    def ppf(self, q: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The number that a draw is below with probability `q`."""
        return _quantile(q) * array_like(scale) + array_like(loc)

    def isf(self, q: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The number that a draw is above with probability `q`."""
        return array_like(loc) - _quantile(q) * array_like(scale)

    def mean(self, loc: Any = 0, scale: Any = 1) -> Any:
        """The mean."""
        return cast_to(array_like(loc) + 0.0 * array_like(scale), np.float64)

    def median(self, loc: Any = 0, scale: Any = 1) -> Any:
        """The number that a draw is below as often as above."""
        return self.mean(loc, scale)

    def var(self, loc: Any = 0, scale: Any = 1) -> Any:
        """The variance."""
        return cast_to(array_like(scale) ** 2 + 0.0 * array_like(loc), np.float64)

    def std(self, loc: Any = 0, scale: Any = 1) -> Any:
        """The standard deviation."""
        return cast_to(array_like(scale) + 0.0 * array_like(loc), np.float64)

    def entropy(self, loc: Any = 0, scale: Any = 1) -> Any:
        """The differential entropy."""
        return 0.5 * (1 + math.log(2 * math.pi)) + np.log(self.std(loc, scale))

    def interval(self, confidence: Any, loc: Any = 0, scale: Any = 1) -> tuple[Any, Any]:
        """The ends of the middle part of this probability."""
        tail = 0.5 * (1.0 - cast_to(array_like(confidence), np.float64))
        return self.ppf(tail, loc, scale), self.isf(tail, loc, scale)


def _quantile(q: Any) -> Array:
    found: Array = ELEMENTWISE["ndtri"](cast_to(array_like(q), np.float64))
    return found


def standardized(x: Any, loc: Any, scale: Any) -> Array:
    """(x - loc) / scale in float64, as SciPy has it."""
    found: Array = (array_like(x) - array_like(loc)) / array_like(scale)
    return cast_to(found, np.float64)
