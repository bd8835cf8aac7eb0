"""Distributions of matrices, and Student's t of vectors, by their log densities."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import not_empty, number_of, traced_double
from primsplit.frontends.scipy.special import multigammaln
from primsplit.frontends.scipy.stats.multivariate import Space, factor_of, log_determinant, shaped, squeezed
from primsplit.ir.dims import Dim
from primsplit.numpy import failing
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.tracing.broadcasting import count_up, expand_to

LOG_TWO = math.log(2)


def _spread(value: Any, size: Any) -> Any:
    """A covariance, which may be a number or the diagonal."""
    given = not_empty(traced_double(value))
    return given if given.ndim == 2 else np.diag(expand_to(given, (size,)))


class _Density(ABC):
    """A distribution whose density follows from its logarithm."""

    methods = ("pdf", "logpdf")

    def pdf(self, *args: Any, **options: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(*args, **options))

    @abstractmethod
    def logpdf(self, *args: Any, **options: Any) -> Any:
        """The logarithm of the density."""


class MultivariateT(_Density):
    """`multivariate_t.logpdf(x, loc, shape, df)`, whose shape must be finite and positive semidefinite.

    Of a singular shape it is SciPy's: the power of d dimensions of a length in the space that the shape spans. A run of
    `pdf` fails then unless `allow_singular`, and one whose degrees of freedom are not above 0. Of infinitely many it is
    normal.
    """

    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
        """The density at the vectors along the last axis."""
        return np.exp(self._log_density(x, loc, shape, df, allow_singular))

    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """The logarithm of the density at the vectors along the last axis."""
        return self._log_density(x, loc, shape, df, allow_singular=True)

    def _log_density(self, x: Any, loc: Any, shape: Any, df: Any, allow_singular: bool) -> Any:
        points, centre, spread = shaped(x, loc, shape)
        size = number_of(spread.shape[-1])
        given = traced_double(df)
        given = refusing(given, np.logical_not(given > 0), ValueError("'df' must be greater than zero."))
        is_normal = given == np.inf
        freedom = np.where(is_normal, 1.0, given)
        space = Space(spread, allow_singular)
        square, _ = space.squares(points - centre)
        gammaln = ELEMENTWISE["gammaln"]
        lead = gammaln(0.5 * (freedom + size)) - gammaln(0.5 * freedom) - size / 2 * np.log(math.pi * freedom)
        by_freedom = lead - 0.5 * (freedom + size) * np.log1p(square / freedom)
        normal = -0.5 * space.rank * math.log(2 * math.pi) - 0.5 * square
        return squeezed(np.where(is_normal, normal, by_freedom) - 0.5 * space.log_determinant)


class MatrixNormal(_Density):
    """`matrix_normal.logpdf(X, mean, rowcov, colcov)`, whose covariances may be numbers or diagonals."""

    def logpdf(self, X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
        """The logarithm of the density at matrices [..., rows, columns]."""
        given = traced_double(X)
        apart = given if mean is None else given - traced_double(mean)
        covariances = zip((rowcov, colcov), given.shape[-2:], strict=True)
        across, down = (factor_of(_spread(v, n)) for v, n in covariances)
        rows, columns = map(number_of, given.shape[-2:])
        white = failing.nan_where_singular.solve(
            down, np.swapaxes(failing.nan_where_singular.solve(across, apart), -1, -2)
        )
        logs = columns * log_determinant(across) + rows * log_determinant(down)
        return squeezed(-0.5 * (rows * columns * math.log(2 * math.pi) + logs + np.sum(white**2, axis=(-2, -1))))


class Wishart(_Density):
    """`wishart.logpdf(x, df, scale)` at matrices [size, size, ...].

    They are read as Cholesky's factors are, by the lower triangle; the trace of their quotient reads all of `x`.
    """

    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """The logarithm of the density."""
        whole, given, spread, freedom, size = _factors(x, df, scale)
        half = failing.nan_where_singular.solve(spread, whole)
        ratio = failing.nan_where_singular.solve(np.swapaxes(spread, -1, -2), half)
        rest = 0.5 * np.trace(ratio, axis1=-2, axis2=-1) + 0.5 * freedom * log_determinant(spread)
        rest = rest + _wishart_scale(freedom, size)
        return squeezed(0.5 * (freedom - number_of(size) - 1) * log_determinant(given) - rest)


class InverseWishart(_Density):
    """`invwishart.logpdf(x, df, scale)` at matrices [size, size, ...], which are read as Cholesky's factors are."""

    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """The logarithm of the density."""
        _, given, spread, freedom, size = _factors(x, df, scale)
        white = failing.nan_where_singular.solve(given, spread)
        rest = 0.5 * np.sum(white * white, axis=(-2, -1)) + _wishart_scale(freedom, size)
        log_x = 0.5 * (freedom + number_of(size) + 1) * log_determinant(given)
        return squeezed(0.5 * freedom * log_determinant(spread) - log_x - rest)


def _factors(x: Any, df: Any, scale: Any) -> tuple[Any, Any, Any, Any, Dim]:
    """The matrices [..., size, size], the factors of them and their scale, the degrees of freedom, the size."""
    given = traced_double(x)
    given = np.moveaxis(given, (0, 1), (-2, -1)) if given.ndim > 2 else np.atleast_2d(given)
    spread = traced_double(scale)
    size = spread.shape[-1] if spread.ndim == 2 else given.shape[-1]
    freedom = traced_double(df)
    few = ValueError("Degrees of freedom must be greater than the dimension of scale matrix minus 1.")
    freedom = refusing(freedom, freedom <= number_of(size) - 1, few)
    return given, _factor(given), _factor(_spread(spread, size)), freedom, size


def _factor(a: Any) -> Any:
    """The Cholesky factors; a run fails where a matrix is not finite, or not positive definite."""
    return np.linalg.cholesky(failing.finite(a))


def _wishart_scale(freedom: Any, size: Dim) -> Any:
    count = number_of(size)
    if isinstance(size, int):
        return 0.5 * LOG_TWO * count * freedom + multigammaln(0.5 * freedom, size)
    lowered = 0.5 * (freedom[..., None] - cast_to(count_up(size), np.float64))
    sums = np.sum(ELEMENTWISE["gammaln"](lowered), axis=-1)
    return 0.5 * LOG_TWO * count * freedom + 0.25 * math.log(math.pi) * count * (count - 1) + sums
