"""B-splines between known knots, of traced coefficients or through traced values, without a matrix of all of them.

A piece of a spline of order k reads the k + 1 coefficients whose splines reach it, and a site as many: the coefficients
of a spline through values solve a system of few diagonals, which is factored while tracing.
"""

import importlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primsplit.frontends.scipy.known_systems import of_sparse, solution
from primsplit.ir import dims
from primsplit.tracing.complex_array import ComplexArray

__all__ = ["coefficients_through", "of_spline", "pieces_of", "powers_of"]

Numbers = np.ndarray[Any, Any]


def of_spline(made: Any) -> tuple[Any, Any]:
    """The coefficients of the pieces of SciPy's BSpline, and their ends."""
    breaks = np.unique(made.t[made.k : len(made.t) - made.k])
    return powers_of(lambda m: made(breaks[:-1], nu=m), made.k), breaks


def powers_of(derivative: Callable[[int], Any], degree: int) -> Any:
    """The coefficients of the pieces, highest power first, by the derivatives at their left ends."""
    return np.stack([derivative(m) / math.factorial(m) for m in range(degree, -1, -1)])


def pieces_of(knots: Any, coefficients: Any, order: int) -> tuple[Any, Any]:
    """The coefficients [order + 1, pieces, ...] of the pieces of a spline, highest power first, and their ends.

    `coefficients` [n, ...] are traced. Of the splines i, i + k + 1, i + 2 k + 2 ... at most one reaches a piece, so
    that k + 1 sums of splines hold the derivatives of all.
    """
    shares, breaks = of_spline(_sums(knots, order))
    first = np.searchsorted(knots, breaks[:-1], side="right") - 1 - order
    is_row = bool(np.all(np.diff(first) == 1))
    rest, found = (1,) * (coefficients.ndim - 1), 0.0
    for i in range(order + 1):
        place = first + i
        share = shares[:, np.arange(place.size), place % (order + 1)]
        read = coefficients[place[0] : place[-1] + 1] if is_row else np.take(coefficients, place, axis=0)
        found = found + share.reshape((*share.shape, *rest)) * read
    return found, breaks


def coefficients_through(
    sites: Any, knots: Any, order: int, values: Any, ends: Sequence[Sequence[int]] = ((), ())
) -> Any:
    """The coefficients [n, ...] of the spline through traced values [sites, ...]; None where that is not accurate.

    `ends` are the orders of the derivatives that are 0 at the first site and at the last one.
    """
    if isinstance(values, ComplexArray):
        parts = [coefficients_through(sites, knots, order, part, ends) for part in (values.real, values.imag)]
        return None if any(part is None for part in parts) else ComplexArray(*parts)
    sparse: Any = importlib.import_module("scipy.sparse")
    interpolate: Any = importlib.import_module("scipy.interpolate")
    sites = np.asarray(sites, np.float64)
    first, last = (
        [_row(sparse, knots, order, at, m) for m in asked] for at, asked in zip(sites[[0, -1]], ends, strict=True)
    )
    system = sparse.vstack([*first, interpolate.BSpline.design_matrix(sites, knots, order), *last])
    if system.shape[0] != system.shape[1]:
        return None
    columns = values.reshape((sites.size, dims.product(values.shape[1:])))
    padded: Any = np.pad(columns, [(len(first), len(last)), (0, 0)])
    found = solution(partial(of_sparse, system), padded)
    return None if found is None else found.reshape((system.shape[0], *values.shape[1:]))


def _sums(knots: Any, order: int) -> Any:
    """The k + 1 sums of every (k + 1)-th spline."""
    interpolate: Any = importlib.import_module("scipy.interpolate")
    count = len(knots) - order - 1
    return interpolate.BSpline(knots, np.eye(order + 1)[np.arange(count) % (order + 1)], order)


def _row(sparse: Any, knots: Any, order: int, at: float, derivative: int) -> Any:
    """The derivatives of all splines at one place, of which k + 1 may not be 0."""
    count = len(knots) - order - 1
    first = min(int(np.searchsorted(knots, at, side="right")) - 1 - order, count - order - 1)
    place = np.arange(first, first + order + 1)
    numbers = _sums(knots, order)(at, nu=derivative)[place % (order + 1)]
    return sparse.csr_matrix((numbers, (np.zeros_like(place), place)), shape=(1, count))
