"""Decomposes a matrix that need not be symmetric: its real Schur form, and the basis that leads back to the matrix."""

from typing import NamedTuple

import numpy as np

from primsplit.numpy.dense.general.balancing import balanced, of_rows
from primsplit.numpy.dense.general.blocks import eigenvalues_of_blocks
from primsplit.numpy.dense.general.francis import schur
from primsplit.numpy.dense.general.hessenberg import hessenberg
from primsplit.numpy.dense.rotations import to_unit
from primsplit.ops import op
from primsplit.tracing.array import Array


class Decomposed(NamedTuple):
    """A = S T S^-1 c, T a real Schur form with the eigenvalues `real` + i `imag`, c a power of two."""

    t: Array
    s: Array
    real: Array
    imag: Array
    scale: Array
    defect: Array
    """0, or NaN for a matrix that is not finite or whose iteration did not end."""


def decomposed(a: Array) -> Decomposed:
    """The decomposition of a matrix [n, n]."""
    unit, scale = to_unit(a)
    is_finite = op.Not(op.IsNaN(unit))
    found = balanced(op.Where(is_finite, unit, 0.0))
    h, q = hessenberg(found.matrix, found.low, found.high)
    t, z, is_settled = schur(h, found.low, found.high)
    missing = op.Where(is_settled, 0.0, np.asarray(np.nan, a.dtype))
    defect = op.Add(op.ReduceSum(op.Where(is_finite, 0.0, unit), keepdims=0), missing)
    return Decomposed(t, of_rows(found, op.MatMul(q, z)), *eigenvalues_of_blocks(t), scale, defect)
