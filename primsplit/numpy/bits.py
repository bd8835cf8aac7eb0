"""NumPy's bitwise functions of integers. ONNX shifts only unsigned integers, and only by less than their width."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import DtypeError
from primsplit.numpy.axes import array_like, one_axis, slab
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.numpy.units import is_bool, is_signed, number
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import axis_back, axis_first, reshape_to, zeros


@elementwise("bitwise_and")
def bitwise_and(x: Array, y: Array) -> Array:
    """Of bools, their conjunction."""
    return op.And(x, y) if is_bool(x) else op.BitwiseAnd(x, y)


@elementwise("bitwise_or")
def bitwise_or(x: Array, y: Array) -> Array:
    """Of bools, their disjunction."""
    return op.Or(x, y) if is_bool(x) else op.BitwiseOr(x, y)


@elementwise("bitwise_xor")
def bitwise_xor(x: Array, y: Array) -> Array:
    """Of bools, whether they differ."""
    return op.Xor(x, y) if is_bool(x) else op.BitwiseXor(x, y)


@elementwise("invert")
def invert(x: Array) -> Array:
    """Every bit flipped; of bools, the negation."""
    return op.Not(x) if is_bool(x) else op.BitwiseNot(x)


@elementwise("left_shift")
def left_shift(x: Array, places: Array) -> Array:
    """x * 2**places, modulo the range of the dtype; 0 for places beyond it."""
    return cast_to(_shift(cast_to(x, np.uint64), _count(places), "LEFT"), x.dtype)


@elementwise("right_shift")
def right_shift(x: Array, places: Array) -> Array:
    """floor(x / 2**places)."""
    if not is_signed(x):
        return cast_to(_shift(cast_to(x, np.uint64), _count(places), "RIGHT"), x.dtype)
    negative = op.Less(x, np.zeros((), x.dtype))
    magnitude = op.Where(negative, op.BitwiseNot(x), x)
    shifted = cast_to(_shift(cast_to(magnitude, np.uint64), _count(places), "RIGHT"), x.dtype)
    return op.Where(negative, op.BitwiseNot(shifted), shifted)


def _count(places: Array) -> Array:
    known = number(places)
    if known is not None and known < 0:
        raise DtypeError("negative shift count", place=tracing.user_place())
    return cast_to(places, np.uint64)


def _shift(x: Array, places: Array, direction: str) -> Array:
    most = np.asarray(63, np.uint64)
    shifted = op.BitShift(x, op.Min(places, most), direction=direction)
    return op.Where(op.Greater(places, most), np.asarray(0, np.uint64), shifted)


@elementwise("bitwise_count")
def bitwise_count(x: Array) -> Array:
    """The number of set bits of |x|: the counts of neighbours are added in parallel, in pairs, nibbles and bytes."""
    size = cast_to(op.Abs(x), f"uint{8 * x.dtype.itemsize}") if is_signed(x) else x
    bits = cast_to(size, np.uint64)

    def mask(pattern: int) -> np.ndarray[tuple[()], np.dtype[np.uint64]]:
        return np.asarray(pattern, np.uint64)

    def down(value: Array, places: int) -> Array:
        return op.BitShift(value, mask(places), direction="RIGHT")

    pairs = op.Sub(bits, op.BitwiseAnd(down(bits, 1), mask(0x5555555555555555)))
    low = mask(0x3333333333333333)
    nibbles = op.Add(op.BitwiseAnd(pairs, low), op.BitwiseAnd(down(pairs, 2), low))
    counts = op.BitwiseAnd(op.Add(nibbles, down(nibbles, 4)), mask(0x0F0F0F0F0F0F0F0F))
    return cast_to(down(op.Mul(counts, mask(0x0101010101010101)), 56), np.uint8)


# Bytes.


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Array:
    """np.packbits: eight flags along an axis are a byte, 0 in the place of those that are missing in the last one."""
    x = array_like(a)
    if x.dtype.kind not in "biu":
        raise _not_bits("Expected an input array of integer or boolean data type")
    flags, place = _along(cast_to(cast_to(x, np.bool_), np.int64), axis)
    size, rest = flags.shape[0], flags.shape[1:]
    count = (size + 7) // 8
    whole = op.Concat(flags, zeros((count * 8 - size, *rest), np.dtype(np.int64)), axis=0)
    weights = (1 << _places(bitorder)).reshape(8, *(1 for _ in rest))
    found = op.ReduceSum(op.Mul(reshape_to(whole, (count, 8, *rest)), weights), [1], keepdims=0)
    return axis_back(cast_to(found, np.uint8), place)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: int | None = None, bitorder: str = "big") -> Array:
    """np.unpackbits: the flags of bytes; `count` of them, 0 behind the last, or all but so many."""
    x = array_like(a)
    if x.dtype != np.uint8:
        raise _not_bits("Expected an input array of unsigned byte data type")
    rows, place = _along(cast_to(x, np.int64), axis)
    size, rest = rows.shape[0], rows.shape[1:]
    weights = (1 << _places(bitorder)).reshape(8, *(1 for _ in rest))
    flags = op.Cast(op.Equal(op.BitwiseAnd(op.Unsqueeze(rows, [1]), weights), weights), to=np.uint8)
    found = reshape_to(flags, (size * 8, *rest))
    if count is not None and count >= 0:
        found = op.Concat(found, zeros((count, *rest), np.dtype(np.uint8)), axis=0)
    return axis_back(found if count is None else slab(found, 0, 0, count), place)


def _along(x: Array, axis: Any) -> tuple[Array, int]:
    """The array with an axis in front, flat where none is named, and which one that was."""
    if axis is None:
        return reshape_to(x, (x.size,)), 0
    place = one_axis(axis, x.ndim)
    return axis_first(x, place), place


def _places(bitorder: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the distance of each flag of a byte from its lowest bit. Raises ValueError."""
    if bitorder not in {"big", "little"}:
        raise ValueError("'order' must be either 'little' or 'big'")
    return np.arange(8)[::-1] if bitorder == "big" else np.arange(8)


def _not_bits(told: str) -> DtypeError:
    error = DtypeError(told, place=tracing.user_place())
    error.numpys = TypeError(told)
    return error
