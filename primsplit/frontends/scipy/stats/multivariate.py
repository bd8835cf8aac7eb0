"""The multivariate normal distribution."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import not_empty
from primsplit.numpy import failing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import stop_gradient


class MultivariateNormal:
    """`multivariate_normal.logpdf(x, mean, cov)`, whose arguments may all be traced; float64, as in SciPy.

    The covariance must have full rank unless `allow_singular`: NaN, where SciPy raises, unless it is positive definite.
    It may be a number or a vector, the diagonal. A derivative is that along covariances of the same rank.
    """

    methods = ("pdf", "logpdf", "entropy")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at the vectors along the last axis of `x`; axes of one vector are dropped."""
        points, centre, spread = shaped(x, mean, cov)
        offset = points - centre
        if not allow_singular:
            return squeezed(_log_density(offset, spread, spread.shape[-1]))
        null, smallest = null_space(spread)
        beyond = np.sum((offset @ null) ** 2, axis=-1)
        found = _log_density(offset, spread + null @ null.T, spread.shape[-1] - np.sum(null * null))
        return squeezed(np.where(np.sqrt(stop_gradient(beyond)) < smallest, found + 0.5 * beyond, -np.inf))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The entropy, which does not depend on the mean."""
        _, centre, spread = shaped(0.0 if mean is None else mean, mean, cov)
        return 0.5 * (centre.shape[-1] * (1 + math.log(2 * math.pi)) + log_determinant(factor_of(spread)))


def _log_density(offset: Any, spread: Any, rank: Any) -> Any:
    """The logarithm of the density at these offsets from the mean, scaled as in a space of `rank` dimensions."""
    factor = factor_of(spread)
    white = failing.nan_where_singular.solve(factor, offset[..., None])[..., 0]
    log_scale = 0.5 * log_determinant(factor) + 0.5 * math.log(2 * math.pi) * rank
    return -0.5 * np.sum(white * white, axis=-1) - log_scale


NO_COVARIANCE = "When `allow_singular is False`, the input matrix must be symmetric positive definite."


def factor_of(spread: Any) -> Any:
    """The Cholesky factor of a covariance; a run fails where that is not finite, or not positive definite."""
    spread = failing.finite(spread)
    factor = failing.nan_where_singular.cholesky(spread)
    return failing.with_error(factor, failing.no_factor(factor), (), np.linalg.LinAlgError(NO_COVARIANCE))


def null_space(spread: Any) -> tuple[Any, Any]:
    """The eigenvectors [d, d] whose eigenvalues SciPy takes for 0, the other columns 0; and the bound of those.

    They have no gradient. With N their projector, det(C + N) is the pseudo-determinant of C, (C + N)^-1 - N its
    pseudo-inverse, so that both are differentiated without eigenvectors, which equal eigenvalues have no derivative of.
    """
    values, vectors = np.linalg.eigh(stop_gradient(spread))
    smallest = 1e6 * np.finfo(np.float64).eps * np.max(np.abs(values))
    return vectors * (values <= smallest), smallest


def squeezed(found: Any) -> Any:
    """Without axes that are known to have one element, which SciPy drops; one that has it in a run stays."""
    return np.squeeze(found, tuple(i for i, d in enumerate(found.shape) if isinstance(d, int) and d == 1))


def log_determinant(factor: Any) -> Any:
    """That of the positive definite matrix with this Cholesky factor."""
    return 2 * np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def shaped(x: Any, mean: Any, cov: Any) -> tuple[Array, Array, Array]:
    """The points [..., d], the mean [d] and the covariance [d, d]; a run without dimensions fails."""
    points, spread = (cast_to(array_like(v), np.float64) for v in (x, cov))
    centre = cast_to(array_like(0.0 if mean is None else mean), np.float64)
    size = centre.shape[0] if centre.shape else spread.shape[-1] if spread.shape else 1
    if len(spread.shape) < 2:
        spread = np.diag(expand_to(spread, (size,)))  # type: ignore[assignment]  # of an Array it is one
    if not points.shape or (len(points.shape) == 1 and isinstance(size, int) and size == 1):
        points = points[..., None]
    spread = not_empty(spread)
    return points, expand_to(centre, (size,)), spread
