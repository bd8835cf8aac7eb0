"""Shapes of ONNX, where NumPy's differ."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def reshape(a: AnyArray, sizes: Any) -> AnyArray:
    """Reshape; a size of 0 is that of the same axis of the array."""
    return a.reshape([a.shape[i] if size == 0 else int(size) for i, size in enumerate(sizes)])


def flatten(a: AnyArray, axis: int) -> AnyArray:
    """Join the axes before one, and those from it on."""
    axis = axis + a.ndim if axis < 0 else axis
    rows = int(np.prod(a.shape[:axis]))
    return a.reshape(rows, int(np.prod(a.shape[axis:])))


def expand(a: AnyArray, sizes: Any) -> AnyArray:
    """Repeat an array along axes that it lacks or has with size 1; a size of 1 keeps its axis."""
    return np.broadcast_to(a, np.broadcast_shapes(np.shape(a), tuple(sizes)))


def split(a: AnyArray, count: int, axis: int) -> list[AnyArray]:
    """Return parts of equal length along an axis; the last may be shorter."""
    length = -(-a.shape[axis] // count)
    return np.split(a, [length * i for i in range(1, count)], axis=axis)


def pad(a: AnyArray, pads: Any, axes: Any = None, mode: str = "constant", value: Any = 0) -> AnyArray:
    """Put elements before and behind those of axes; negative numbers take elements away."""
    axes = range(a.ndim) if axes is None else axes
    widths = np.zeros((a.ndim, 2), np.int64)
    widths[list(axes)] = np.reshape(pads, (2, -1)).T
    ends = zip(widths, a.shape, strict=True)
    kept = [slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in ends]
    named: Any = {"mode": mode, **({"constant_values": value} if mode == "constant" else {})}
    found: AnyArray = np.pad(a[tuple(kept)], np.maximum(widths, 0), **named)
    return found


def stack(items: list[AnyArray], empty: AnyArray, axis: int = 0) -> AnyArray:
    """Return the values of all steps of a loop as one array; `empty` if there was no step."""
    return np.stack(items, axis=axis) if items else np.moveaxis(empty, 0, axis)
