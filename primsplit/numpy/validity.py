"""NaN for arguments outside of a function's domain, in value and derivative."""

from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.lifting import array_like
from primsplit.numpy.units import unit
from primsplit.ops import op


def _nan(x: Array) -> Any:
    return np.asarray(np.nan, x.dtype)


_valid = unit(
    "valid",
    lambda x, is_valid: op.Where(is_valid, x, _nan(x)),
    lambda dz, x, is_valid, z: dz * op.Where(is_valid, np.ones((), x.dtype), _nan(x)),
    None,
)


def _same(x: Array) -> Array:
    found: Array = op.Identity(x)  # `op.Identity` itself would read the schema at import
    return found


missing = unit("missing", _same, lambda dz, x, z: dz * op.Where(op.IsNaN(x), _nan(x), 1.0))
"""The float itself, whose derivative is NaN where it is NaN.

A function that is linear in its argument needs it: the derivative of -x at NaN would be -1.
"""


def where_valid(is_valid: Any, *values: Array) -> list[Array]:
    """The floats where the condition holds, and NaN with a derivative of NaN elsewhere.

    A condition that is known to hold costs nothing. A derivative is NaN also where its cotangent is 0.
    """
    condition = array_like(is_valid)
    known = condition.known()
    if known is not None and np.all(known):
        return list(values)
    return [_valid(v, condition) for v in values]
