"""Converts to the dtypes of few bits that NumPy gets from ml_dtypes, with the same rounding as there."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.carriers import FLOAT8, POWERS_OF_TWO
from primsplit.ir.errors import DtypeError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.tracing.array import Array

INFINITE = {"float8_e4m3fn": np.nextafter(np.float16(464), np.float16(np.inf)), "float8_e5m2": np.float16(61440)}
"""From where on a number is too large: onnxruntime's conversion is wrong for some beyond, and right for infinity."""


@fault(
    "saturate_0_of_casts_to_float8",
    kind="wrong",
    operators=("Cast",),
    says="A Cast to float8 with saturate=0 is wrong for some numbers beyond the largest.",
)
def to_few_bits(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x.astype(dtype)`: a float loses its fraction on the way to an integer, of which the lowest bits stay.

    A float of eight bits that is too large becomes infinite, or NaN; one of fewer the largest. Raises DtypeError for
    powers of two, to which NumPy and the standard round in different ways.
    """
    if dtype.name == POWERS_OF_TWO:
        raise DtypeError(
            f"a conversion to {dtype} has no form", place=tracing.user_place(), cure="Keep such scales in float32."
        )
    if dtype.name in FLOAT8:
        if dtype.name in INFINITE:
            wide = x if x.dtype.kind == "f" else op.Cast(x, to=np.float32)
            is_large = op.GreaterOrEqual(op.Abs(wide), INFINITE[dtype.name].astype(wide.dtype))
            x = op.Where(is_large, op.Mul(wide, np.array(np.inf, wide.dtype)), wide)
        return op.Cast(x, to=dtype, saturate=0)
    is_cut = "int" in dtype.name and x.dtype.kind not in "iub"
    return op.Cast(op.Cast(x, to=np.int32) if is_cut else x, to=dtype)
