"""scipy.interpolate's smoothing spline through traced values at many known sites, without a matrix of all of them."""

import importlib
from functools import partial
from typing import Any

import numpy as np

from primsplit.frontends.scipy.hermite import hermite
from primsplit.frontends.scipy.interpolate import Piecewise
from primsplit.frontends.scipy.known_systems import of_sparse, product, solution
from primsplit.frontends.scipy.operands import finite, of_length, wide
from primsplit.ir import dims
from primsplit.tracing.asarray import array_like

__all__ = ["is_long", "smoothing_spline"]

MANY = 48
"""The least number of sites that are not written out as a matrix of all values."""

ALLOWED = 1e-9
"""The largest difference of the spline from SciPy's, relative to the values."""


def is_long(x: Any) -> bool:
    """Whether these known sites are many."""
    return bool(np.ndim(x) == 1 and len(x) >= MANY)


def smoothing_spline(x: Any, y: Any, weights: Any, penalty: float, axis: int) -> Piecewise | None:
    """The f that is least in sum w (y - f)^2 + penalty * integral f''^2; None where that is not accurate.

    In terms of B-splines with knots at the sites, of coefficients c, it solves (B^T W B + penalty P) c = B^T W y, P the
    products of second derivatives, which are lines between their values at the sites.
    """
    interpolate: Any = importlib.import_module("scipy.interpolate")
    sites = np.asarray(x, np.float64)
    w = np.ones(sites.size) if weights is None else np.asarray(weights, np.float64)
    values, slopes, system = _matrices(interpolate, sites, w, penalty)
    sweeps = of_sparse(system)
    sample = np.random.default_rng(0).standard_normal(sites.size)
    wanted = interpolate.make_smoothing_spline(sites, sample, weights, penalty)(sites)
    if sweeps is None or not np.max(np.abs(values @ sweeps.solve_known(values.T @ (w * sample)) - wanted)) <= ALLOWED:
        return None
    given: Any = np.moveaxis(finite(of_length(wide(array_like(y)), sites.size, axis)), axis, 0)
    columns = given.reshape((sites.size, dims.product(given.shape[1:])))
    coefficients = solution(lambda: sweeps, product(values.T, w[:, None] * columns))
    f, df = (np.moveaxis(product(m, coefficients).reshape(given.shape), 0, axis) for m in (values, slopes))
    made = hermite(sites, f, df, axis, True)
    return Piecewise(made.c, sites, made.extrapolate, made.axis)


def _matrices(interpolate: Any, sites: Any, w: Any, penalty: float) -> tuple[Any, Any, Any]:
    """Return the matrices from coefficients to values and to slopes at the sites, and the matrix of the system."""
    sparse: Any = importlib.import_module("scipy.sparse")
    knots = np.concatenate([sites[:1].repeat(3), sites, sites[-1:].repeat(3)])
    design = partial(interpolate.BSpline.design_matrix, sites)
    first, second = _differences(sparse, knots, 3), _differences(sparse, knots[1:-1], 2)
    values, slopes = design(knots, 3), design(knots[1:-1], 2) @ first
    bends, widths = second @ first, np.diff(sites)
    diagonal = (np.append(0.0, widths) + np.append(widths, 0.0)) / 3
    mass = sparse.diags([widths / 6, diagonal, widths / 6], [-1, 0, 1])
    system = values.T @ sparse.diags([w], [0]) @ values + penalty * (bends.T @ mass @ bends)
    return values, slopes, system


def _differences(sparse: Any, knots: Any, degree: int) -> Any:
    """The coefficients of a spline's derivative, of those of the spline."""
    count = len(knots) - degree - 1
    gaps = knots[degree + 1 : degree + count] - knots[1:count]
    return sparse.diags([-degree / gaps, degree / gaps], [0, 1], shape=(count - 1, count))
