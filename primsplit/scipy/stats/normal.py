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

    methods = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")

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


def _quantile(q: Any) -> Array:
    found: Array = ELEMENTWISE["ndtri"](cast_to(array_like(q), np.float64))
    return found


def standardized(x: Any, loc: Any, scale: Any) -> Array:
    """(x - loc) / scale in float64, as SciPy has it."""
    found: Array = (array_like(x) - array_like(loc)) / array_like(scale)
    return cast_to(found, np.float64)
