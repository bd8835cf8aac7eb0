"""Covariances and integrals of complex observations."""

from typing import Any

import numpy as np

from primsplit.ir import dims
from primsplit.numpy.axes import one_axis
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import as_complex, operand
from primsplit.numpy.statistics import variables
from primsplit.tracing.array import FUNCTIONS
from primsplit.tracing.complex_array import ComplexArray, refused


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """The observations as a complex matrix, a row a variable."""
    first, second = (None if v is None else as_complex(v) for v in (m, y))
    real, imag = (
        variables(getattr(first, part), None if second is None else getattr(second, part), rowvar, np.float64)
        for part in ("real", "imag")
    )
    return ComplexArray(real, imag)


@offers(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The means of the products of distances from the means, of which the second is conjugated; complex128."""
    if dtype is not None or fweights is not None or aweights is not None:
        raise refused("np.cov with weights or dtype=", "Write it out: x = z - mean; (x * w) @ x.conj().T / w.sum().")
    x = _variables(m, y, rowvar)
    apart = x - np.mean(x, axis=1, keepdims=True)
    count: Any = FUNCTIONS[np.sum](np.ones_like(apart.real[:1]))
    left = np.maximum(count - ((0 if bias else 1) if ddof is None else ddof), 0)
    found = apart @ np.conj(apart).T / left
    return np.reshape(found, ()) if dims.is_one(x.shape[0]) else found


@offers(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """`cov` over the standard deviations, both parts clipped to [-1, 1] as in NumPy."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c.real))
    scaled = c / deviation[:, None] / deviation
    return np.clip(scaled.real, -1.0, 1.0) + 1j * np.clip(scaled.imag, -1.0, 1.0)


@offers(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The sums of means of neighbours times the way from one to the other, which may be complex."""
    values: Any = operand(y)
    place = one_axis(axis, values.ndim)
    rows = np.moveaxis(values, place, -1)
    if x is None:
        steps = dx
    else:
        points: Any = operand(x)
        own = one_axis(axis, points.ndim) if points.ndim > 1 else 0
        steps = np.moveaxis(np.diff(points, axis=own), own, -1)
    return np.sum(steps * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)
