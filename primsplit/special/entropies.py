"""SciPy's entropies. Where x is 0, a term is 0, and its derivative in x is infinite, NaN where y is 0 too."""

import math

import numpy as np

from primsplit.numpy.approximations.exponential import log1p as log1p_of
from primsplit.numpy.exponential import unless_both_zero
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.tracing.array import Array


def _entr(x: Array) -> Array:
    inside = op.Where(op.Equal(x, 0.0), 0.0, -x * op.Log(x))
    return op.Where(x < 0.0, -math.inf, inside)


entr = elementwise("entr", is_total=True)(unit("entr", _entr, lambda dz, x, z: -dz * (op.Log(x) + 1.0)))


def _log_ratio(x: Array, y: Array) -> Array:
    """log(x / y), without cancellation where the two are close."""
    ratio = x / y
    close = op.And(ratio > 0.5, ratio < 2.0)
    return op.Where(close, log1p_of(op.Where(close, (x - y) / y, 0.0)), op.Log(x) - op.Log(y))


def _rel_entr(x: Array, y: Array) -> Array:
    inside = op.And(x > 0.0, y >= 0.0)
    value = x * _log_ratio(op.Where(inside, x, 1.0), op.Where(inside, y, 1.0))
    boundary = op.Where(op.And(op.Equal(x, 0.0), y >= 0.0), np.zeros((), x.dtype), math.inf)
    undefined = op.Or(op.IsNaN(x), op.IsNaN(y))
    return op.Where(undefined, math.nan, op.Where(inside, value, boundary))


log_ratio = unit("log_ratio", _log_ratio, lambda dz, x, y, z: dz / x, lambda dz, x, y, z: -dz / y)

rel_entr = elementwise("rel_entr", is_total=True)(
    unit(
        "rel_entr",
        _rel_entr,
        lambda dz, x, y, z: dz * (log_ratio(x, y) + 1.0),
        lambda dz, x, y, z: -dz * (x / unless_both_zero(x, y)),
    )
)


@elementwise("kl_div")
def kl_div(x: Array, y: Array) -> Array:
    """x log(x / y) - x + y; infinite outside x >= 0, y >= 0."""
    inside = op.And(x >= 0.0, y >= 0.0)
    return op.Where(op.Not(inside), rel_entr(x, y), rel_entr(x, y) - x + y)
