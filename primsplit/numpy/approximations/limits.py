"""The largest and smallest numbers of a dtype."""

from typing import Any

import ml_dtypes

from primsplit.tracing.array import Array


def float_limits(x: Array) -> Any:
    """NumPy's `finfo` of the array's dtype, of bfloat16 too."""
    return ml_dtypes.finfo(x.dtype)  # type: ignore[no-untyped-call]  # it has no types
