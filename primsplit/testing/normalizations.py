"""ONNX's normalizations as NumPy functions, because onnx.reference has some of them wrong, or in float32 only."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]


def _standardized(x: AnyArray, axes: tuple[int, ...], epsilon: float) -> AnyArray:
    deviation = x - x.mean(axes, keepdims=True)
    return np.asarray(deviation / np.sqrt((deviation**2).mean(axes, keepdims=True) + epsilon))


def _by_channel(values: AnyArray, rank: int) -> AnyArray:
    return values.reshape(1, -1, *(1,) * (rank - 2))


def _instance(x: AnyArray, scale: AnyArray, bias: AnyArray, *, epsilon: float = 1e-5) -> AnyArray:
    standardized = _standardized(x, tuple(range(2, x.ndim)), epsilon)
    found = standardized * _by_channel(scale, x.ndim) + _by_channel(bias, x.ndim)
    return found.astype(x.dtype)


def _group(
    x: AnyArray, scale: AnyArray, bias: AnyArray, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> AnyArray:
    rows = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    standardized = _standardized(rows, (2,), epsilon).reshape(x.shape)
    found = standardized * _by_channel(scale, x.ndim) + _by_channel(bias, x.ndim)
    return found.astype(x.dtype)


def _norm(x: AnyArray, *, axis: int = -1, p: int = 2) -> AnyArray:
    norm = np.abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))
    return np.asarray(np.divide(x, norm, out=np.zeros_like(x), where=norm != 0))


def _response(x: AnyArray, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> AnyArray:
    squares = np.zeros_like(x)
    for channel in range(x.shape[1]):
        window = x[:, max(channel - (size - 1) // 2, 0) : channel + size // 2 + 1]
        squares[:, channel] = (window**2).sum(1)
    return np.asarray(x / (bias + alpha / size * squares) ** beta, x.dtype)


def _mean_variance(x: AnyArray, *, axes: Sequence[int] = (0, 2, 3)) -> AnyArray:
    return np.asarray((x - x.mean(tuple(axes), keepdims=True)) / (x.std(tuple(axes), keepdims=True) + 1e-9), x.dtype)


NORMALIZATIONS: dict[str, Callable[..., Any]] = {
    "GroupNormalization": _group,
    "InstanceNormalization": _instance,
    "LRN": _response,
    "LpNormalization": _norm,
    "MeanVarianceNormalization": _mean_variance,
}
