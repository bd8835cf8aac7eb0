"""Decompose conversions to narrow dtypes that files hold in a carrier: round the numbers to those of the dtype.

Floats are rounded in float64, where every step is exact: divide by a power of two, round, and multiply by it. The power
of two below a number is the `ufp` of Rump, Ogita & Oishi 2008 (Accurate floating-point summation, part I).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir.carriers import CARRIERS, POWERS_OF_TWO, least_and_greatest, limits
from primsplit.ir.dims import is_one
from primsplit.numpy.approximations.signs import is_negative
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to

SMALLEST_POWER, LARGEST_POWER = 2.0**-127, 2.0**127
"""The range of float8e8m0, which holds the powers of two between these, and NaN."""


def converted(x: Array, name: str) -> Any:
    """Return the result of `Cast` to this dtype, in its carrier.

    A float8e8m0 is rounded up and saturates, the default.
    """
    if "int" in name:
        return low_bits(x, name)
    return op.Cast(power_of_two(x) if name == POWERS_OF_TWO else rounded(x, name), to=CARRIERS[name])


def low_bits(x: Array, name: str) -> Any:
    """Return the lowest bits of an integer, or of the integer nearest to a float.

    The standard leaves open how a float is rounded, and the result for one out of range; halves go away from zero, as
    in onnxruntime's integers of two and four bits.
    """
    every = 2 ** limits(name).bits
    bits = op.BitwiseAnd(op.Cast(_nearest(x) if "float" in x.dtype.name else x, to=np.int32), every - 1)
    if not name.startswith("u"):
        bits = op.Sub(op.BitwiseXor(bits, every // 2), every // 2)
    return op.Cast(bits, to=CARRIERS[name])


def _nearest(x: Array) -> Any:
    wide = op.Cast(x, to=np.float64)
    size = op.Abs(wide)
    whole = op.Floor(size)
    further = op.Cast(op.GreaterOrEqual(op.Sub(size, whole), 0.5), to=np.float64)
    return op.Mul(op.Add(whole, further), op.Sign(wide))


def rounded(x: Array, name: str) -> Any:
    """Return the nearest number of a float dtype of four or six bits, ties to even; float64.

    Values that are too large become the largest, as the standard says of these dtypes; NaN, which they lack, becomes 0.
    """
    held = limits(name)
    greatest = float(held.max)
    wide = op.Cast(x, to=np.float64)
    size = op.Min(op.Abs(wide), 2 * greatest)
    step = op.Mul(op.Max(power_below(size), 2.0**held.minexp), 2.0**-held.nmant)
    nearest = op.Min(op.Mul(op.Round(op.Div(size, step)), step), greatest)
    # -0 is a number of its own, and Where would lose its sign.
    return op.Mul(op.Where(op.IsNaN(wide), 0.0, nearest), op.Where(is_negative(wide), -1.0, 1.0))


def power_of_two(x: Array, round_mode: str = "up", *, saturate: bool = True) -> Any:
    """Return the power of two that float8e8m0 has for a number; float64.

    It is the one above, below, or the nearest, the larger in a tie. Values out of range, as 0 and negative numbers are,
    become its end, or NaN if it does not saturate. NaN stays. This is the standard's table, and what onnxruntime does;
    onnx.reference makes NaN of infinity, and does not look at the lower end.
    """
    wide = op.Cast(x, to=np.float64)
    inside = op.Min(op.Max(wide, SMALLEST_POWER), LARGEST_POWER)
    power = power_below(inside)
    if round_mode != "down":
        is_nearer = op.Greater(inside, power) if round_mode == "up" else op.GreaterOrEqual(inside, op.Mul(power, 1.5))
        power = op.Where(is_nearer, op.Mul(power, 2.0), power)
    is_none = op.IsNaN(wide)
    if not saturate:
        is_none = op.Or(is_none, op.Not(op.Equal(wide, inside)))
    return op.Where(is_none, np.nan, power)


def power_below(size: Array) -> Any:
    """Return the largest power of two that is no larger than a float64; 0 for 0. Numbers are far from the bounds."""
    shifted = op.Mul(size, 2.0**52 + 1)
    return op.Abs(op.Sub(shifted, op.Mul(shifted, 1 - 2.0**-53)))


def quantized(x: Array, scale: Array, zero: Array | None, *, name: str, axis: int = 1, block_size: int = 0) -> Any:
    """Return the result of `QuantizeLinear` to this dtype, in its carrier; `zero` is in the carrier too."""
    if "int" not in name:
        levels = op.Div(x, per_element(scale, x, axis, block_size))
        if zero is not None:
            levels = op.Add(levels, per_element(op.Cast(zero, to=x.dtype), x, axis, block_size))
        return converted(levels, name)
    carrier = CARRIERS[name]
    along: dict[str, Any] = {"axis": axis, "block_size": block_size or None}
    if zero is None:
        along["output_dtype"] = int(onnx.helper.np_dtype_to_tensor_dtype(carrier))
    integers = op.QuantizeLinear(x, scale, zero, **along)
    least, greatest = least_and_greatest(np.dtype(name))
    return op.Clip(integers, np.array(least, carrier), np.array(greatest, carrier))


def dequantized(x: Array, scale: Array, zero: Array | None, *, axis: int = 1, block_size: int = 0) -> Any:
    """Return the result of `DequantizeLinear` of numbers in their carrier, as a product.

    onnxruntime would fuse the operator itself with a MatMul that reads constant weights of it, into a product of
    integers for which it rounds the other factor.
    """
    levels = op.Cast(x, to=scale.dtype)
    if zero is not None:
        levels = op.Sub(levels, per_element(op.Cast(zero, to=scale.dtype), x, axis, block_size))
    return op.Mul(levels, per_element(scale, x, axis, block_size))


def through_float16(kind: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return an operator that moves floats of eight bits, applied to the same numbers in float16."""

    def composition(*inputs: Array | None, **attributes: Any) -> Any:
        wide = [op.Cast(x, to=np.float16) if x is not None and x.dtype == dtype else x for x in inputs]
        given = {k: v.astype(np.float16) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
        return op.Cast(getattr(op, kind)(*wide, **given), to=dtype, saturate=0)

    return composition


def per_element(values: Array, x: Array, axis: int, block_size: int) -> Any:
    """Scales or zero points (one for all, per slice of an axis or per block) in a shape that broadcasts with x."""
    if block_size:
        ones = op.Cast(op.ConstantOfShape(op.Shape(x), value=np.ones(1, np.int8)), to="int8")
        return op.DequantizeLinear(ones, values, axis=axis, block_size=block_size)
    if not values.shape:
        return values
    if is_one(values.shape[0]):
        return op.Squeeze(values, [0])
    rank = len(x.shape)
    return reshape_to(values, [values.shape[0] if i == axis % rank else 1 for i in range(rank)])
