"""scipy.stats.gaussian_kde at traced points, or of traced data, weights and bandwidths."""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import double, not_empty, of_at_least
from primsplit.frontends.scipy.special import logsumexp
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.axes import size_as
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.tracing.asarray import array_like
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["Kernels"]

ROUNDING = 8 * float(np.finfo(np.float64).eps)
FLAT = "The data appears to lie in a lower-dimensional subspace of the space in which it is expressed."


class Kernels:
    """A density: a Gaussian about each of the columns of `dataset`, all as wide as a factor times their covariance.

    `bw_method` is "scott", "silverman", the factor, or a function of this density that gives it.
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.dataset: Any = failing.finite(of_at_least(not_empty(np.atleast_2d(array_like(double(dataset)))), 2))
        self.d, self.n = self.dataset.shape
        given = np.ones_like(self.dataset[0]) if weights is None else np.atleast_1d(array_like(double(weights)))
        if given.ndim != 1 or not dims.could_be(given.shape[0], self.n):
            raise ShapeError(f"weights of shape {given.shape} are not {self.n}", place=tracing.user_place())
        given = refusing(failing.finite(given), given < 0, ValueError("aweights cannot be negative"))
        self.weights: Any = failing.finite(given / np.sum(given))
        self.neff: Any = 1.0 / np.sum(self.weights**2)
        self._spread = self._covariance()
        self.set_bandwidth(bw_method)

    def _covariance(self) -> Any:
        """The covariance of the data; a run fails where it is singular, to rounding of the data."""
        apart = self.dataset - np.sum(self.dataset * self.weights, axis=1, keepdims=True)
        found = (apart * self.weights) @ apart.T / (1.0 - np.sum(self.weights**2))
        least = np.diagonal(failing.nan_where_singular.cholesky(stop_gradient(found)))
        wrong = np.logical_not(least > ROUNDING * np.max(np.abs(stop_gradient(self.dataset)), axis=1))
        return refusing(found, wrong, np.linalg.LinAlgError(FLAT))

    def scotts_factor(self) -> Any:
        """neff ** (-1 / (d + 4))."""
        return self.neff ** (-1.0 / size_as(self.d + 4, np.float64))

    def silverman_factor(self) -> Any:
        """(neff (d + 2) / 4) ** (-1 / (d + 4))."""
        return (self.neff * size_as(self.d + 2, np.float64) / 4.0) ** (-1.0 / size_as(self.d + 4, np.float64))

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Take another factor. Raises ValueError as SciPy does."""
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            self.factor: Any = self.scotts_factor()
        elif isinstance(bw_method, str) and bw_method == "silverman":
            self.factor = self.silverman_factor()
        elif callable(bw_method):
            self.factor = bw_method(self)
        elif isinstance(bw_method, str):
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
        else:
            self.factor = bw_method

    @property
    def covariance(self) -> Any:
        """The covariance of each Gaussian."""
        return self._spread * self.factor**2

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at the columns of `x`."""
        exponents, size = self._exponents(x)
        return logsumexp(exponents + np.log(self.weights), axis=1) - size

    def evaluate(self, points: Any) -> Any:
        """The density at the columns of `points`. Raises ShapeError."""
        exponents, size = self._exponents(points)
        return np.exp(exponents - size) @ self.weights

    __call__ = pdf = evaluate

    def _exponents(self, x: Any) -> tuple[Any, Any]:
        """The exponents [points, data] of the Gaussians, and the logarithm of what they are divided by."""
        points: Any = failing.finite(np.atleast_2d(array_like(double(x))))
        if (
            not dims.same(points.shape[0], self.d)
            and dims.is_one(points.shape[0])
            and dims.same(points.shape[1], self.d)
        ):
            points = points.T
        if points.ndim != 2 or not dims.could_be(points.shape[0], self.d):
            raise ShapeError(
                f"points have dimension {points.shape[0]}, dataset has dimension {self.d}", place=tracing.user_place()
            )
        factor: Any = failing.finite(array_like(self.factor))
        singular = np.linalg.LinAlgError("singular matrix: the bandwidth is 0")
        root = failing.nan_where_singular.cholesky(self._spread) * refusing(factor, factor == 0, singular)
        places, centres = (failing.nan_where_singular.solve(root, v) for v in (points, self.dataset))
        squares = np.sum((places[:, :, None] - centres[:, None, :]) ** 2, axis=0)
        return -0.5 * squares, np.sum(np.log(np.diagonal(root)) + 0.5 * math.log(2.0 * math.pi))

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability between two numbers, of data of one dimension."""
        if literal_size(self.d, "gaussian_kde.integrate_box_1d") != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        below, above = (self._below(array_like(double(bound))) for bound in (low, high))
        return np.sum(self.weights * (above - below))

    def _below(self, bound: Any) -> Any:
        """Each Gaussian's probability of a smaller number; one that is infinite has no gradient."""
        is_end = np.isinf(bound)
        places = (np.where(is_end, 0.0, bound) - self.dataset[0]) / np.sqrt(self.covariance[0, 0])
        return np.where(is_end, np.where(bound > 0, 1.0, 0.0), ELEMENTWISE["ndtr"](places))


def of_known(density: Any) -> Kernels:
    """A gaussian_kde of SciPy's."""
    return Kernels(density.dataset, density.factor, density.weights)
