"""Checks and converts operands of matrix functions: floats with at least two axes, square where required."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import of_size


def matrices(*values: Any) -> list[Array]:
    """The values in the float dtype that np.linalg computes in: integers become float64.

    Raises ShapeError for a first value that is no matrix, DtypeError for float16, as NumPy does.
    """
    arrays = [array_like(v) for v in values]
    dtypes = [a.dtype if a.type.is_float else np.dtype(np.float64) for a in arrays]
    dtype = np.result_type(*dtypes)
    if dtype.itemsize < 4:
        raise DtypeError(f"np.linalg does not take {dtype}", place=tracing.user_place(), cure="Convert to float32.")
    if len(arrays[0].shape) < 2:
        raise ShapeError("np.linalg takes arrays with at least two axes", place=tracing.user_place())
    return [cast_to(a, dtype) for a in arrays]


def square(*values: Any) -> list[Array]:
    """`matrices`, the first of which is square. Raises ShapeError where it can never be."""
    arrays = matrices(*values)
    rows, columns = arrays[0].shape[-2:]
    if not dims.could_be(rows, columns):
        raise ShapeError(f"the matrix must be square, not {rows} by {columns}", place=tracing.user_place())
    return [of_size(arrays[0], -1, rows), *arrays[1:]]
