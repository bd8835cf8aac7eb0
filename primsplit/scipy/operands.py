"""What SciPy's functions make of their arguments first: arrays of floats, traced or NumPy's."""

from typing import Any

import numpy as np

from primsplit.lifting import array_like, holds_traced
from primsplit.numpy.ufuncs import cast_to


def floating(x: Any) -> Any:
    """A traced or NumPy array of a float dtype; integers become float64."""
    if not holds_traced(x):
        array = np.asarray(x)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    traced = array_like(x)
    return traced if traced.type.is_float else cast_to(traced, np.float64)


def double(x: Any) -> Any:
    """A traced or NumPy array of float64."""
    return cast_to(array_like(x), np.float64) if holds_traced(x) else np.asarray(x, np.float64)
