"""scipy.stats for traced arrays: the normal distribution, `norm.logpdf(x, loc, scale)` and its kin."""

import math
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.numpy.products import operand
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to

METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
"""The functions of the distribution that there are."""


class Normal:
    """The normal distribution with mean `loc` and standard deviation `scale`, whose arguments may all be traced.

    A scale that is not positive gives NaN or a number of no meaning, where SciPy gives NaN.
    """

    def pdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, loc, scale))

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of the density."""
        z = _standardized(x, loc, scale)
        return -0.5 * (z * z) - np.log(operand(scale)) - 0.5 * math.log(2 * math.pi)

    def cdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of a smaller number."""
        return ELEMENTWISE["ndtr"](_standardized(x, loc, scale))

    def logcdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of `cdf`, right far out too."""
        return ELEMENTWISE["log_ndtr"](_standardized(x, loc, scale))

    def sf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of a larger number."""
        return ELEMENTWISE["ndtr"](-_standardized(x, loc, scale))

    def logsf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of `sf`, right far out too."""
        return ELEMENTWISE["log_ndtr"](-_standardized(x, loc, scale))


def _standardized(x: Any, loc: Any, scale: Any) -> Array:
    """(x - loc) / scale in float64, as SciPy has it."""
    found: Array = (operand(x) - operand(loc)) / operand(scale)
    return cast_to(found, np.float64)


norm = Normal()
"""The normal distribution."""
