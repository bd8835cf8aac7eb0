"""The multivariate normal distribution."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import not_empty
from primsplit.numpy import failing
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import stop_gradient


class MultivariateNormal:
    """`multivariate_normal.logpdf(x, mean, cov)`, whose arguments may all be traced; float64, as in SciPy.

    The covariance of a density must have full rank unless `allow_singular`: a run fails where it is not positive
    definite. It may be a number or a vector, the diagonal. A derivative is that along covariances of the same rank.
    """

    methods = ("pdf", "logpdf", "entropy")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at the vectors along the last axis of `x`; axes of one vector are dropped."""
        points, centre, spread = shaped(x, mean, cov)
        space = Space(spread, allow_singular)
        square, beyond = space.squares(points - centre)
        found = -0.5 * (square + space.log_determinant + math.log(2 * math.pi) * space.rank)
        if beyond is not None:
            found = np.where(np.sqrt(stop_gradient(beyond)) < 1e3 * space.smallest, found, -np.inf)
        return squeezed(found)

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The entropy, which does not depend on the mean; of a singular covariance that in the space that it spans."""
        _, _, spread = shaped(0.0 if mean is None else mean, mean, cov)
        space = Space(spread, allow_singular=True)
        return 0.5 * (space.rank * (1 + math.log(2 * math.pi)) + space.log_determinant)


class Space:
    """The space that a positive definite matrix [d, d] spans; or, with `allow_singular`, a semidefinite one.

    `rank` is its dimension, `log_determinant` that of the matrix in it. With N the projector on the rest, det(C + N) is
    the pseudo-determinant of C, and (C + N)^-1 - N its pseudo-inverse: both are differentiated without eigenvectors,
    which equal eigenvalues have no derivative of.
    """

    def __init__(self, spread: Any, allow_singular: bool) -> None:
        self.rank: Any = spread.shape[-1]
        self.smallest: Any = None
        self._null: Any = None
        if allow_singular:
            spread = failing.finite(spread)
            self._null, self.smallest, is_negative = _null_space(spread)
            spread = refusing(spread, is_negative, ValueError(NEGATIVE))
            self.rank = self.rank - np.sum(self._null * self._null)
            spread = spread + self._null @ self._null.T
        self._factor = factor_of(spread)
        self.log_determinant = log_determinant(self._factor)

    def squares(self, offset: Any) -> tuple[Any, Any]:
        """The squared lengths of vectors [..., d] by the (pseudo-)inverse; and of what is beyond the space, or None."""
        white = failing.nan_where_singular.solve(self._factor, offset[..., None])[..., 0]
        square = np.sum(white * white, axis=-1)
        if self._null is None:
            return square, None
        beyond = np.sum((offset @ self._null) ** 2, axis=-1)
        return square - beyond, beyond


NEGATIVE = "The input matrix must be symmetric positive semidefinite."
NO_COVARIANCE = "When `allow_singular is False`, the input matrix must be symmetric positive definite."


def factor_of(spread: Any) -> Any:
    """The Cholesky factor of a covariance; a run fails where that is not finite, or not positive definite."""
    spread = failing.finite(spread)
    factor = failing.nan_where_singular.cholesky(spread)
    return failing.with_error(factor, failing.no_factor(factor), (), np.linalg.LinAlgError(NO_COVARIANCE))


def _null_space(spread: Any) -> tuple[Any, Any, Any]:
    """The eigenvectors [d, d] whose eigenvalues SciPy takes for 0, the other columns 0, without a gradient.

    Also the largest size of those eigenvalues, and whether one is more negative.
    """
    values, vectors = np.linalg.eigh(stop_gradient(spread))
    smallest = 1e6 * np.finfo(np.float64).eps * np.max(np.abs(values))
    return vectors * (values <= smallest), smallest, np.min(values) < -smallest


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
