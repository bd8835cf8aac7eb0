"""Define what later versions added to operators that the written opset has with a narrower meaning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.helper

from primsplit.ir.carriers import FLOAT8, POWERS_OF_TWO
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.bits import left_shift, right_shift
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.rewrites.decompositions.few_bits import power_of_two
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, sum_to
from primsplit.tracing.operators import cast_to


@defines("Cast", since=24)
def cast(x: Array, *, to: int, outputs: int = 1, round_mode: str = "up", saturate: int = 1) -> Array:
    """Convert. `saturate` is for floats of 8 bits, and `round_mode` for those of them that are powers of two."""
    target = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
    if target.name == POWERS_OF_TWO and not (round_mode == "up" and saturate):
        # What is a power of two already is converted as it is.
        x = power_of_two(x, round_mode, saturate=bool(saturate))
    made: Array = op.Cast(x, to=to, saturate=_told(saturate, target))
    return made


@defines("CastLike", since=24)
def cast_like(x: Array, target: Array, *, outputs: int = 1, round_mode: str = "up", saturate: int = 1) -> Array:
    """Convert to the dtype of `target`."""
    to = int(onnx.helper.np_dtype_to_tensor_dtype(target.dtype))
    made: Array = cast(x, to=to, round_mode=round_mode, saturate=saturate)
    return made


def _told(saturate: int, target: np.dtype[Any]) -> int | None:
    """Return the attribute, if it makes a difference."""
    return 0 if not saturate and target.name in FLOAT8 else None


@defines("QuantizeLinear", since=23)
def quantize_linear(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    outputs: int = 1,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Array:
    """Return `round(x / scale) + zero point`; the quotient in the dtype of `scale`, or in that of `precision`."""
    wide = onnx.helper.tensor_dtype_to_np_dtype(precision) if precision else scale.dtype
    if wide.name == POWERS_OF_TWO:
        wide = x.dtype  # powers of two, which no quotient is computed in
    made = onnx.helper.tensor_dtype_to_np_dtype(output_dtype or onnx.TensorProto.UINT8)
    return op.QuantizeLinear(
        cast_to(x, wide),
        cast_to(scale, wide),
        zero_point,
        axis=axis,
        block_size=block_size,
        output_dtype=output_dtype,
        saturate=_told(saturate, made if zero_point is None else zero_point.dtype),
    )


@defines("DequantizeLinear", since=23)
def dequantize_linear(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    outputs: int = 1,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Array:
    """Return `(x - zero point) * scale`, in the dtype of `scale` or in that of `output_dtype`."""
    wide = onnx.helper.tensor_dtype_to_np_dtype(output_dtype) if output_dtype else scale.dtype
    return op.DequantizeLinear(x, cast_to(scale, wide), zero_point, axis=axis, block_size=block_size)


@defines("Range", since=27)
def arange(start: Array, limit: Array, delta: Array, *, outputs: int = 1, stash_type: int = 1) -> Array:
    """Return start, start + delta, ... below the limit; 16-bit floats are counted in float32 and rounded once."""
    if start.dtype.itemsize > 2 or not start.type.is_float:
        return op.Range(start, limit, delta)
    return cast_to(op.Range(*(cast_to(x, np.float32) for x in (start, limit, delta))), start.dtype)


@defines("Celu", since=28)
def celu(x: Array, *, outputs: int = 1, alpha: float = 1.0) -> Array:
    """`max(0, x) + min(0, alpha (exp(x / alpha) - 1))`, of any floats."""
    if x.dtype == np.float32:
        return op.Celu(x, alpha=alpha)
    return op.Mul(op.Elu(op.Div(x, alpha)), alpha)


@defines("SpaceToDepth", since=28)
def space_to_depth(x: Array, *, blocksize: int, outputs: int = 1, mode: str = "DCR") -> Array:
    """Move blocks of [height, width] to the channels: before them (`DCR`), or behind each channel (`CRD`)."""
    made = op.SpaceToDepth(x, blocksize=blocksize)
    if mode == "DCR":
        return made
    if mode != "CRD":
        raise UnsupportedFunction(f"SpaceToDepth has no mode {mode}")
    batch, _, height, width = made.shape
    parts = reshape_to(made, (batch, blocksize * blocksize, x.shape[1], height, width))
    return reshape_to(op.Transpose(parts, perm=[0, 2, 1, 3, 4]), made.shape)


def _mod_rule(a: Array, b: Array, *, outputs: int, fmod: int) -> tuple[Array, Callable[..., Any]]:
    """Between its jumps, a - q b with the rounded quotient q: the cotangents are dz and -q dz."""
    z = mod(a, b, fmod=fmod)

    def pullback(dz: Array) -> tuple[Array | None, Array | None]:
        if not a.type.is_float:
            return None, None
        quotient = op.Round(op.Div(op.Sub(a, z), b))
        return sum_to(dz, a.shape), op.Neg(sum_to(dz * quotient, b.shape))

    return z, pullback


@defines("Mod", since=28, rule=_mod_rule)
def mod(a: Array, b: Array, *, outputs: int = 1, fmod: int = 0) -> Array:
    """Return the remainder of a division rounded to zero (`fmod`) or down, of floats too since this version.

    Rounded down, it has the sign of `b`, also where it is zero.
    """
    if fmod or not a.type.is_float:
        return op.Mod(a, b, fmod=fmod)
    rest, is_negative = op.Mod(a, b, fmod=1), op.Less(b, 0)
    is_other = op.And(op.Not(op.Equal(rest, 0)), op.Xor(op.Less(rest, 0), is_negative))
    found = op.Where(is_other, op.Add(rest, b), rest)
    return op.Mul(op.Abs(found), op.Where(is_negative, np.array(-1, b.dtype), np.array(1, b.dtype)))


@defines("BitShift", since=28)
def bit_shift(x: Array, y: Array, *, direction: str, outputs: int = 1) -> Array:
    """Shift bits left or right, also of signed integers, whose sign is shifted in from the left.

    A shift by a negative number, or by as many places as there are bits, shifts all bits out.
    """
    known = y.known()
    if known is not None and x.dtype.kind == "u" and bool(np.all(known < 8 * x.dtype.itemsize)):
        return op.BitShift(x, y, direction=direction)
    everything = np.array(8 * x.dtype.itemsize, y.dtype)
    places = op.Where(op.Less(y, 0), everything, y) if y.dtype.kind == "i" else y
    shifted: Array = left_shift(x, places) if direction == "LEFT" else right_shift(x, places)
    return shifted
