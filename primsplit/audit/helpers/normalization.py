"""Functions along axes, and normalizations of layers and batches."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def softmax(a: AnyArray, axis: Any) -> Any:
    """Return exponentials along axes, divided by their sum."""
    e = np.exp(a - np.max(a, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(a: AnyArray, axis: Any) -> Any:
    """Return the logarithm of `_softmax`."""
    shifted = a - np.max(a, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def hardmax(a: AnyArray, axis: Any) -> AnyArray:
    """Return 1 at the first greatest element along an axis, 0 elsewhere; axes of a tuple are one."""
    kept = a.shape if isinstance(axis, int) else (*a.shape[: axis[0]], -1)
    rows = np.moveaxis(a.reshape(kept), axis if isinstance(axis, int) else -1, -1)
    found = np.zeros(rows.shape, a.dtype)
    np.put_along_axis(found, np.argmax(rows, axis=-1, keepdims=True), 1, axis=-1)
    return np.moveaxis(found, -1, axis if isinstance(axis, int) else -1).reshape(a.shape)


def layer_norm(a: AnyArray, scale: Any, bias: Any = None, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """Return numbers with the mean 0 and the variance 1 over all axes from one on, then their mean and factor."""
    axes = tuple(range(axis % a.ndim, a.ndim))
    wide = a.astype(np.float32) if a.dtype.itemsize < 4 else a
    mean = np.mean(wide, axis=axes, keepdims=True)
    factor = 1 / np.sqrt(np.mean(np.square(wide - mean), axis=axes, keepdims=True) + epsilon)
    found = ((wide - mean) * factor).astype(a.dtype) * scale
    return (found if bias is None else found + bias), mean, factor


def rms_norm(a: AnyArray, scale: Any, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """Return numbers scaled to the mean square 1 over all axes from one on."""
    axes = tuple(range(axis % a.ndim, a.ndim))
    wide = a.astype(np.float32) if a.dtype.itemsize < 4 else a
    factor = 1 / np.sqrt(np.mean(np.square(wide), axis=axes, keepdims=True) + epsilon)
    return (wide * factor).astype(a.dtype) * scale


def group_norm(a: AnyArray, scale: Any, bias: Any, num_groups: int, epsilon: float = 1e-5) -> Any:
    """Return groups of channels, each shifted to the mean 0 and scaled to the variance 1."""
    groups = a.reshape(a.shape[0], num_groups, np.prod(a.shape[1:]) // num_groups)
    wide = groups.astype(np.float32) if a.dtype.itemsize < 4 else groups
    centred = wide - np.mean(wide, axis=-1, keepdims=True)
    found = centred / np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True) + epsilon)
    if len(scale) == a.shape[1]:
        return found.reshape(a.shape).astype(a.dtype) * channels(scale, a) + channels(bias, a)
    return (found.astype(a.dtype) * scale[:, None] + bias[:, None]).reshape(a.shape)


def channels(a: AnyArray, like: AnyArray) -> AnyArray:
    """Return one number for each channel with as many axes as an array that has them along axis 1."""
    return a.reshape(-1, *[1] * (like.ndim - 2))


def batch_norm(a: AnyArray, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float = 1e-5) -> Any:
    """Return channels, each shifted and scaled by its mean and variance, then by a scale and bias."""
    factor = scale / np.sqrt(var + epsilon)
    return ((a - channels(mean, a)) * channels(factor, a) + channels(bias, a)).astype(a.dtype)


def batch_norm_in_training(
    a: AnyArray, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float = 1e-5, momentum: float = 0.9
) -> Any:
    """Return `_batch_norm` by the batch's own mean and variance, and the running mean and variance."""
    axes = tuple(i for i in range(a.ndim) if i != 1)
    own = np.mean(a, axis=axes), np.var(a, axis=axes)
    found = batch_norm(a, scale, bias, *own, epsilon=epsilon)
    return found, *[(r * momentum + o * (1 - momentum)).astype(r.dtype) for r, o in zip((mean, var), own, strict=True)]


def local_response(a: AnyArray, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0) -> Any:
    """Return numbers divided by a power of the mean square over neighbouring channels."""
    low = (size - 1) // 2
    square = np.pad(np.square(a), [(0, 0), (low, size - 1 - low), *[(0, 0)] * (a.ndim - 2)])
    total = sum(square[:, i : i + a.shape[1]] for i in range(size))
    return a / (bias + alpha / size * total) ** beta


def mean_variance_norm(a: AnyArray, axes: Any) -> Any:
    """Return numbers shifted to the mean 0 and scaled to the variance 1 over axes."""
    mean = np.mean(a, axis=axes, keepdims=True)
    deviation = np.sqrt(np.mean(np.square(a), axis=axes, keepdims=True) - np.square(mean))
    return (a - mean) / (deviation + 1e-9)


def lp_norm(a: AnyArray, axis: int = -1, p: int = 2) -> Any:
    """Return numbers divided by their norm along an axis; 0 where that is 0."""
    norm = np.sum(np.abs(a) ** p, axis=axis, keepdims=True) ** (1 / p)
    return np.where(norm == 0, 0, a / norm).astype(a.dtype)
