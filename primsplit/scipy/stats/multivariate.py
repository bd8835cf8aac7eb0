"""The normal distribution of vectors."""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.broadcasting import expand_to
from primsplit.errors import ShapeError
from primsplit.lifting import array_like
from primsplit.numpy.ufuncs import cast_to


class MultivariateNormal:
    """`multivariate_normal.logpdf(x, mean, cov)`, whose arguments may all be traced; float64, as in SciPy.

    The covariance must have full rank: NaN, where SciPy raises, unless it is positive definite. It may be a number or
    a vector, the diagonal.
    """

    methods = ("pdf", "logpdf", "entropy")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at the vectors along the last axis of `x`; axes of one vector are dropped."""
        if allow_singular:
            raise ShapeError("multivariate_normal with allow_singular=True is not known", place=tracing.user_place())
        points, centre, spread = shaped(x, mean, cov)
        factor = np.linalg.cholesky(spread)
        white = np.linalg.solve(factor, (points - centre)[..., None])[..., 0]
        size = spread.shape[-1]
        log_scale = 0.5 * log_determinant(factor) + 0.5 * math.log(2 * math.pi) * size
        return squeezed(-0.5 * np.sum(white * white, axis=-1) - log_scale)

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The entropy, which does not depend on the mean."""
        _, centre, spread = shaped(0.0 if mean is None else mean, mean, cov)
        return 0.5 * (centre.shape[-1] * (1 + math.log(2 * math.pi)) + log_determinant(np.linalg.cholesky(spread)))


def squeezed(found: Any) -> Any:
    """Without axes of one element, which SciPy drops."""
    return np.squeeze(found, tuple(i for i, d in enumerate(found.shape) if isinstance(d, int) and d == 1))


def log_determinant(factor: Any) -> Any:
    """That of the positive definite matrix with this Cholesky factor."""
    return 2 * np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def shaped(x: Any, mean: Any, cov: Any) -> tuple[Array, Array, Array]:
    """The points [..., d], the mean [d] and the covariance [d, d]."""
    points, spread = (cast_to(array_like(v), np.float64) for v in (x, cov))
    centre = cast_to(array_like(0.0 if mean is None else mean), np.float64)
    size = centre.shape[0] if centre.shape else spread.shape[-1] if spread.shape else 1
    if len(spread.shape) < 2:
        spread = np.diag(expand_to(spread, (size,)))  # type: ignore[assignment]  # of an Array it is one
    if not points.shape or (len(points.shape) == 1 and isinstance(size, int) and size == 1):
        points = points[..., None]
    return points, expand_to(centre, (size,)), spread
