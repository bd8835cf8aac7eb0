"""Define BitCast: the bits of numbers read as another dtype of the same width.

The standard's opset 21 has no operator that reads bits, so a float's sign, exponent and fraction are computed, or
combined, by exact arithmetic; floats of at most 8 bits by a table of all of them. A NaN has the bits of the quiet one:
its payload cannot be seen.
"""

from typing import Any, NamedTuple

import numpy as np
import onnx.helper

from primsplit.ir.carriers import FLOAT8, bits_in_file
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.approximations.signs import is_negative
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full
from primsplit.tracing.operators import cast_to


class Layout(NamedTuple):
    """A binary format of IEEE 754 (2019), section 3.4: `fraction` bits below `exponent` bits."""

    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        """The bias of the exponent."""
        return (1 << (self.exponent - 1)) - 1


LAYOUTS = {"float16": Layout(5, 10), "bfloat16": Layout(8, 7), "float32": Layout(8, 23), "float64": Layout(11, 52)}


@defines("BitCast")
def bit_cast(x: Array, *, to: int, outputs: int = 1) -> Array:
    """Return the bits of `x` as another dtype. No gradient goes through it."""
    target = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
    if bits_in_file(target) != bits_in_file(x.dtype):
        raise UnsupportedFunction(f"BitCast from {x.dtype} to {target}, which have different widths")
    if target == x.dtype:
        return x
    if np.bool_ in {target, x.dtype} or "float" not in x.dtype.name + target.name:
        return cast_to(x, target)
    if bits_in_file(target) <= 8:
        bits = _code_of(x) if "float" in x.dtype.name else cast_to(x, np.int64)
        return _number_with(bits, target) if "float" in target.name else cast_to(bits, target)
    bits = bits_of(x) if x.dtype.name in LAYOUTS else cast_to(x, np.int64)
    return cast_to(number_of(bits, target), target) if target.name in LAYOUTS else cast_to(bits, target)


def _every(dtype: np.dtype[Any]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return every number of a float of at most 8 bits, in the order of their bits."""
    return np.arange(2 ** bits_in_file(dtype), dtype=np.uint8).view(dtype).astype(np.float64)


def _code_of(x: Array) -> Array:
    """The bits of floats of at most 8 bits, as int64: numbers grow in each half of the table, and NaN comes last."""
    every = _every(x.dtype)
    has_sign = bool(np.any(every < 0))
    half = len(every) // 2 if has_sign else len(every)
    wide = cast_to(x, np.float64)
    size = op.Abs(wide)
    place = _place_of(size, every[:half][~np.isnan(every[:half])])
    place = op.Where(op.IsNaN(size), np.int64(np.array(np.nan).astype(x.dtype).view(np.uint8)), place)
    return op.Where(is_negative(wide), op.Add(place, np.int64(half)), place) if has_sign else place


def _number_with(bits: Array, dtype: np.dtype[Any]) -> Array:
    """Return the floats of at most 8 bits that have these bits, given as int64."""
    every = _every(dtype)
    found = op.Gather(every, op.BitwiseAnd(bits, np.int64(len(every) - 1)))
    return op.Cast(found, to=dtype, saturate=0 if dtype.name in FLOAT8 else None)


def _place_of(size: Array, table: np.ndarray[Any, np.dtype[np.float64]]) -> Array:
    """Return the index of the last number in a growing table that is no larger; 0 if there is none. A binary search."""
    place = full(size.shape, np.int64(0))
    for step in (2**i for i in reversed(range((len(table) - 1).bit_length()))):
        further = op.Min(op.Add(place, np.int64(step)), np.int64(len(table) - 1))
        place = op.Where(op.LessOrEqual(op.Gather(table, further), size), further, place)
    return place


def _powers(layout: Layout) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the powers of two of the normal numbers, in order."""
    return np.ldexp(1.0, np.arange(1 - layout.bias, layout.bias + 1))


def bits_of(x: Array) -> Array:
    """Return the bits of floats, as int64: those of a narrower dtype with zeros before them."""
    layout = LAYOUTS[x.dtype.name]
    wide = cast_to(x, np.float64)
    size = op.Abs(wide)
    exponent, fraction = _parts(size, layout)
    is_special = op.Or(op.IsInf(size), op.IsNaN(size))
    exponent = op.Where(is_special, np.int64(2**layout.exponent - 1), exponent)
    quiet = op.Where(op.IsNaN(size), np.int64(2 ** (layout.fraction - 1)), np.int64(0))
    fraction = op.Where(is_special, quiet, fraction)
    low = op.Add(op.Mul(exponent, np.int64(2**layout.fraction)), fraction)
    sign = np.int64(-(2**63)) if layout.fraction == 52 else np.int64(2 ** (layout.exponent + layout.fraction))
    return op.Where(is_negative(wide), op.Add(low, sign), low)


def _parts(size: Array, layout: Layout) -> tuple[Array, Array]:
    """Return the biased exponent and the fraction of finite numbers."""
    powers = _powers(layout)
    place = _place_of(size, powers)
    is_normal = op.GreaterOrEqual(size, powers[0])
    whole = 2.0**layout.fraction
    normal = op.Mul(op.Sub(op.Div(size, op.Gather(powers, place)), 1.0), whole)
    below = op.Mul(op.Div(size, powers[0]), whole)
    fraction = op.Where(is_normal, normal, below)
    fraction = op.Where(op.LessOrEqual(fraction, whole), fraction, 0.0)
    return op.Where(is_normal, op.Add(place, 1), np.int64(0)), cast_to(fraction, np.int64)


def number_of(bits: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return the floats of a dtype that have these bits, given as int64, in float64."""
    layout = LAYOUTS[dtype.name]
    powers = _powers(layout)
    unsigned = cast_to(bits, np.uint64)
    fraction = op.BitwiseAnd(unsigned, np.uint64(2**layout.fraction - 1))
    above = op.BitShift(unsigned, np.uint64(layout.fraction), direction="RIGHT")
    exponent = cast_to(op.BitwiseAnd(above, np.uint64(2**layout.exponent - 1)), np.int64)
    sign = op.BitwiseAnd(op.BitShift(above, np.uint64(layout.exponent), direction="RIGHT"), np.uint64(1))
    part = op.Div(cast_to(cast_to(fraction, np.int64), np.float64), 2.0**layout.fraction)
    place = op.Max(op.Min(op.Sub(exponent, 1), np.int64(len(powers) - 1)), np.int64(0))
    normal = op.Mul(op.Gather(powers, place), op.Add(part, 1.0))
    found = op.Where(op.Equal(exponent, np.int64(0)), op.Mul(part, powers[0]), normal)
    special = op.Where(op.Equal(fraction, np.uint64(0)), np.inf, np.nan)
    found = op.Where(op.Equal(exponent, np.int64(2**layout.exponent - 1)), special, found)
    return op.Mul(found, op.Sub(1.0, op.Mul(cast_to(cast_to(sign, np.int64), np.float64), 2.0)))
