"""Images in other sizes: each axis is multiplied by a matrix of weights."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def resize(
    a: AnyArray,
    scales: Any = None,
    sizes: Any = None,
    *,
    axes: Any = None,
    roi: Any = None,
    policy: str = "stretch",
    outside: float = 0.0,
    **more: Any,
) -> AnyArray:
    """Return an array with other sizes along axes, by scales or to sizes; `more` are options of `_resize_weights`."""
    axes = range(a.ndim) if axes is None else axes
    lengths = np.array([a.shape[axis] for axis in axes])
    if sizes is None:
        factors = np.asarray(scales, np.float32)
        sizes = np.floor(lengths * factors).astype(np.int64)
    else:
        factors = (np.asarray(sizes) / lengths).astype(np.float32)
        if policy != "stretch":
            factors[:] = np.min(factors) if policy == "not_larger" else np.max(factors)
            sizes = np.floor(lengths * factors + 0.5).astype(np.int64)
    found, missing = a, np.zeros((1,) * a.ndim, np.bool_)
    for i, axis in enumerate(axes):
        ends = (0, 1) if roi is None else (roi[i], roi[i + len(lengths)])
        weights, is_outside = resize_weights(int(lengths[i]), int(sizes[i]), factors[i], ends, **more)
        found = np.moveaxis(np.tensordot(weights.astype(a.dtype), found, ((1,), (axis,))), 0, axis)
        missing = missing | is_outside.reshape([-1 if k == axis else 1 for k in range(a.ndim)])
    return np.where(missing, np.asarray(outside, a.dtype), found)


def resize_weights(
    n: int,
    m: int,
    scale: Any,
    ends: Any = (0, 1),
    *,
    mode: str = "nearest",
    places: str = "half_pixel",
    nearest: str = "round_prefer_floor",
    cubic: float = -0.75,
    exclude: int = 0,
    antialias: int = 0,
) -> Any:
    """Return the weights of n elements in each of m, and which of these lie outside of the array."""
    x = resize_places(n, m, np.float32(scale), ends, places)
    is_outside = (x < 0) | (x > n - 1) if places == "tf_crop_and_resize" else np.zeros(m, np.bool_)
    weights = np.zeros((m, n))
    rows = np.arange(m)
    if mode == "nearest":
        rounded = {
            "round_prefer_floor": np.ceil(x - np.float32(0.5)),
            "round_prefer_ceil": np.floor(x + np.float32(0.5)),
            "floor": np.floor(x),
            "ceil": np.ceil(x),
        }[nearest]
        weights[rows, np.clip(rounded, 0, n - 1).astype(np.int64)] = 1
        return weights, is_outside
    shrunk = min(float(scale), 1.0) if antialias else 1.0
    support = int(np.ceil((1 if mode == "linear" else 2) / shrunk))
    for step in range(-support + 1, support + 1):
        j = np.floor(x).astype(np.int64) + step
        t = np.abs(j - x.astype(np.float64)) * shrunk
        if mode == "linear":
            w = np.maximum(1 - t, 0)
        else:
            near = ((cubic + 2) * t - (cubic + 3)) * t * t + 1
            far = ((cubic * t - 5 * cubic) * t + 8 * cubic) * t - 4 * cubic
            w = np.where(t <= 1, near, np.where(t < 2, far, 0))
        w = np.where((j < 0) | (j >= n), 0, w) if exclude else w
        np.add.at(weights, (rows, np.clip(j, 0, n - 1)), w)
    return weights / np.sum(weights, axis=1, keepdims=True), is_outside


def resize_places(n: int, m: int, scale: Any, ends: Any, places: str) -> Any:
    """Return the places of m elements among n."""
    x, half = np.arange(m, dtype=np.float32), np.float32(0.5)
    if places == "asymmetric":
        return x / scale
    if places == "align_corners":
        return x * np.float32((n - 1) / (m - 1)) if m > 1 else np.zeros(m, np.float32)
    if places == "tf_crop_and_resize":
        if m == 1:
            return np.full(1, (ends[0] + ends[1]) / 2 * (n - 1), np.float32)
        return np.float32(ends[0] * (n - 1)) + x * np.float32((ends[1] - ends[0]) * (n - 1) / (m - 1))
    if places == "pytorch_half_pixel" and m == 1:
        return np.zeros(1, np.float32)
    moved = np.float32(n / 2 * (1 - m / (float(scale) * n))) if places == "half_pixel_symmetric" else np.float32(0)
    return moved + (x + half) / scale - half
