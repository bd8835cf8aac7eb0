"""scipy.stats for traced arrays: the normal distribution, `norm.logpdf(x, loc, scale)` and its kin."""

import functools
import math
from typing import Any

import numpy as np

from primsplit.array import Array, unsupported
from primsplit.lifting import array_like
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to

METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
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
        return -0.5 * (z * z) - np.log(array_like(scale)) - 0.5 * math.log(2 * math.pi)

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

    def ppf(self, q: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The number that a draw is below with probability `q`."""
        return _quantile(q) * array_like(scale) + array_like(loc)

    def isf(self, q: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The number that a draw is above with probability `q`."""
        return array_like(loc) - _quantile(q) * array_like(scale)


class FrozenNormal:
    """`norm(loc, scale)`: the functions of `Normal` with these arguments."""

    def __init__(self, loc: Any = 0, scale: Any = 1) -> None:
        self.loc = loc
        self.scale = scale

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise unsupported(f"scipy.stats.norm(loc, scale).{name}")
        return functools.partial(getattr(norm, name), loc=self.loc, scale=self.scale)


def _quantile(q: Any) -> Array:
    found: Array = ELEMENTWISE["ndtri"](cast_to(array_like(q), np.float64))
    return found


def _standardized(x: Any, loc: Any, scale: Any) -> Array:
    """(x - loc) / scale in float64, as SciPy has it."""
    found: Array = (array_like(x) - array_like(loc)) / array_like(scale)
    return cast_to(found, np.float64)


norm = Normal()
"""The normal distribution."""
