"""Integers that stand for floats, by scales and zero points."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def for_each(a: AnyArray, like: AnyArray, axis: int, block: int) -> AnyArray:
    """Return one number, one for each place of an axis, or one for each block of it, so that it fits an array."""
    if a.size == 1:
        return a.reshape(())
    if a.ndim == 1:
        return a.reshape([-1 if i == axis % like.ndim else 1 for i in range(like.ndim)])
    return np.repeat(a, block, axis)[tuple(slice(n) for n in like.shape)]


def quantize(a: AnyArray, scale: AnyArray, zero: Any, dtype: Any, axis: int = 1, block: int = 0) -> AnyArray:
    """Return the nearest integers of a dtype to numbers in units of a scale, from a zero point."""
    ends = np.iinfo(dtype)
    start = 0 if zero is None else for_each(zero, a, axis, block).astype(np.float32)
    found = np.rint(a / for_each(scale, a, axis, block)) + start
    return np.clip(found, ends.min, ends.max).astype(dtype)


def dequantize(a: AnyArray, scale: AnyArray, zero: Any = None, axis: int = 1, block: int = 0) -> AnyArray:
    """Return the numbers that integers stand for."""
    wide = a.astype(np.int64) - (0 if zero is None else for_each(zero, a, axis, block).astype(np.int64))
    return wide.astype(scale.dtype) * for_each(scale, a, axis, block)


def integer_matmul(a: AnyArray, b: AnyArray, zero_a: Any = None, zero_b: Any = None) -> AnyArray:
    """Return the product of matrices of integers from their zero points."""
    wide = [x.astype(np.int32) for x in (a, b)]
    if zero_a is not None:
        wide[0] = wide[0] - (zero_a.astype(np.int32)[..., None] if zero_a.ndim else zero_a.astype(np.int32))
    if zero_b is not None:
        wide[1] = wide[1] - zero_b.astype(np.int32)
    return wide[0] @ wide[1]
