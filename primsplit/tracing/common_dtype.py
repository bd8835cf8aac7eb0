"""Choose the dtype of a value that is one of several, such as the result of a branch.

    if n > 0:
        return 0.5          # Python's float
    return np.sum(x > 1)    # NumPy's int64: the result is float64

Python's numbers take the dtype of NumPy's, as in NumPy, unless that would change their value.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir import Const
from primsplit.tracing.array import Array

_ORDER = "biufc"
"""The kinds of dtypes, each of which holds the numbers of those before it. Other kinds, as of bfloat16, are floats."""


def common_dtype(arrays: Sequence[Array]) -> np.dtype[Any] | None:
    """Return the dtype that holds all of the arrays.

    None if those of NumPy have several dtypes, or one of them is uint64 and a number of Python's may be negative.
    """
    strong = {a.dtype for a in arrays if not a.weak}
    if len(strong) > 1:
        return None
    weak = [a for a in arrays if a.weak]
    if not strong:
        return np.result_type(*(a.dtype for a in weak))
    (dtype,) = strong
    larger = [a.dtype for a in weak if not _fits(a, dtype)]
    found = np.result_type(dtype, *larger) if larger else dtype
    return None if found.kind == "f" and all(d.kind in "iu" for d in (dtype, *larger)) else found


def _fits(number: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a number of Python's keeps its value in a dtype; digits of a float may be rounded."""
    kind, other = number.dtype.kind, dtype.kind
    if other not in _ORDER:
        return True
    if kind in "iu" and other in "iu":
        known = _known(number)
        if known is None:
            return np.can_cast(number.dtype, dtype)
        limits = np.iinfo(dtype)
        return bool(np.all((known >= limits.min) & (known <= limits.max)))
    if kind == "f" and other == "f" and (known := _known(number)) is not None:
        return bool(np.all(~np.isfinite(known) | (np.abs(known) <= np.finfo(dtype).max)))
    return _ORDER.index(kind) <= _ORDER.index(other)


def _known(number: Array) -> Any:
    """Return the number if it is a constant, also after the recording that it is of; else None."""
    value = number.last_value
    return value.numpy() if isinstance(value, Const) and not value.is_weight else None
