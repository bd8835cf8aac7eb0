"""Arithmetic in the dtypes of ONNX, where NumPy's differs."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def divide(a: AnyArray, b: AnyArray) -> Any:
    """Divide; a quotient of integers is rounded toward 0."""
    if np.result_type(a, b).kind == "f":
        return a / b
    return a // b + ((a % b != 0) & ((a < 0) != (b < 0)))


def power(a: AnyArray, b: AnyArray) -> Any:
    """Raise to a power, in the dtype of the base."""
    if a.dtype.kind in "iu" and (b.dtype.kind == "f" or np.any(b < 0)):
        return np.power(a.astype(np.float64), b).astype(a.dtype)
    return np.power(a, b).astype(a.dtype)


def logsumexp(a: AnyArray, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of a sum of exponentials, without overflow."""
    high = np.max(a, axis=axis, keepdims=True, initial=-np.inf)
    high = np.where(np.isfinite(high), high, 0)
    found = np.log(np.sum(np.exp(a - high), axis=axis, keepdims=True)) + high
    return found if keepdims else np.squeeze(found, axis=axis)


def cumulated(function: Any, a: AnyArray, axis: int, exclusive: bool = False, reverse: bool = False) -> AnyArray:
    """Return np.cumsum or np.cumprod along an axis, perhaps without the element itself, or from the end."""
    a = np.flip(a, axis) if reverse else a
    found: AnyArray = function(a, axis=axis, dtype=a.dtype)
    if exclusive:
        found = np.roll(found, 1, axis)
        first = [slice(None)] * a.ndim
        first[axis] = slice(0, 1)
        found[tuple(first)] = 0 if function is np.cumsum else 1
    return np.flip(found, axis) if reverse else found


def last_place(place: Any, a: AnyArray, axis: int, keepdims: bool = False) -> Any:
    """Return the last place of an extreme element along an axis; `place` is np.argmax or np.argmin."""
    return a.shape[axis] - 1 - place(np.flip(a, axis), axis=axis, keepdims=keepdims)
