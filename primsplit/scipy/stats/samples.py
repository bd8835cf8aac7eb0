"""What the functions of scipy.stats make of a sample first: floats, an axis, how many there are."""

from typing import Any

import numpy as np

from primsplit.dims import Dim
from primsplit.lifting import array_like
from primsplit.numpy.axes import size_as
from primsplit.scipy.operands import floating


def sample(a: Any, axis: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The numbers, and the axis along which they are a sample: all of them in a row for None."""
    given: Any = array_like(floating(a))
    if dtype is not None:
        given = given.astype(dtype)
    return (np.ravel(given), 0) if axis is None else (given, axis)


def count_of(x: Any, axis: int) -> Any:
    """How many numbers a sample has, as a number of its dtype where only the run knows."""
    size: Dim = x.shape[axis]
    return size if isinstance(size, int) else size_as(size, x.dtype)
