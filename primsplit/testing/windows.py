"""ONNX's convolutions and poolings as NumPy functions, because onnx.reference has some wrong.

They are the functions that `primsplit audit` writes for these operators.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from primsplit.audit.helpers import windows
from primsplit.ir import AnyArray


def _geometry(
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
) -> dict[str, Any]:
    """Return how windows lie; the pads are a text where they follow from the sizes."""
    ones = [1] * len(kernel)
    given = pads or [0] * (2 * len(kernel))
    is_same = auto_pad.startswith("SAME")
    return {"strides": strides or ones, "dilations": dilations or ones, "pads": auto_pad if is_same else given}


def _at(places: Iterable[int | slice]) -> tuple[Any, ...]:
    """An index of the trailing axes."""
    return (..., *places)


def _read(x: AnyArray) -> AnyArray:
    if not all(x.shape[2:]):
        raise ValueError("an empty image")
    return x


def _pool(x: AnyArray, kernel: Sequence[int], *, ceil_mode: int = 0, **options: Any) -> dict[str, Any]:
    """Return how the windows of a pool lie, each of which has an element."""
    told = {"kernel": kernel, "ceil": bool(ceil_mode), **_geometry(kernel, **options)}
    pads, sizes = told["pads"], _read(x).shape[2:]
    if not isinstance(pads, str):
        padded = [n + low + high for n, low, high in zip(sizes, pads, pads[len(kernel) :], strict=False)]
        if any((k - 1) * d >= n for n, k, d in zip(padded, kernel, told["dilations"], strict=True)):
            raise ValueError("no window fits")
    if np.any(windows.max_pool(np.zeros((1, 1, *sizes)), **told)[1] < 0):
        raise ValueError("a window has no element")
    return told


def max_pool(x: AnyArray, **options: Any) -> AnyArray:
    """The maximum of each window."""
    return max_pool_with_places(x, **options)[0]


def max_pool_with_places(
    x: AnyArray, *, kernel_shape: Sequence[int], storage_order: int = 0, **options: Any
) -> tuple[AnyArray, AnyArray]:
    """The maximum of each window, and the place of the first one: row-major, or with the axes reversed."""
    found: tuple[AnyArray, AnyArray] = windows.max_pool(
        x, columns=bool(storage_order), **_pool(x, kernel_shape, **options)
    )
    return found


def average_pool(x: AnyArray, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **options: Any) -> AnyArray:
    """The mean of each window."""
    found = windows.average_pool(x, with_pads=bool(count_include_pad), **_pool(x, kernel_shape, **options))
    return np.asarray(found, x.dtype)


def lp_pool(x: AnyArray, *, kernel_shape: Sequence[int], p: int = 2, **options: Any) -> AnyArray:
    """The p-norm of each window."""
    return np.asarray(windows.lp_pool(x, p=p, **_pool(x, kernel_shape, **options)), x.dtype)


def global_lp_pool(x: AnyArray, *, p: int = 2) -> AnyArray:
    """The p-norm of each channel."""
    total: AnyArray = (np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)
    return total.astype(x.dtype)


def conv(
    x: AnyArray, w: AnyArray, b: AnyArray | None = None, *, group: int = 1, kernel_shape: Any = None, **options: Any
) -> AnyArray:
    """The product of each window with the weights of its group, tap by tap: an infinite weight meets no padding."""
    told, kernel = _geometry(w.shape[2:], **options), w.shape[2:]
    rank, sizes, strides, pads = len(kernel), _read(x).shape[2:], told["strides"], told["pads"]
    if isinstance(pads, str):
        pads = windows.same_pads(sizes, kernel, strides, told["dilations"], upper=pads == "SAME_UPPER")
    rows = list(zip(sizes, kernel, strides, told["dilations"], pads[:rank], pads[rank:], strict=True))
    counts = [(n + low + high - (k - 1) * d - 1) // s + 1 for n, k, s, d, low, high in rows]
    if min(counts) < 1:
        raise ValueError("no window fits")
    result = np.zeros((len(x), len(w), *counts), x.dtype)
    parts = list(zip(np.split(x, group, axis=1), np.split(w, group), strict=True))
    for tap in np.ndindex(*kernel):
        starts = [t * d - low for t, (_, _, _, d, low, _) in zip(tap, rows, strict=True)]
        first = [max(0, -(at // s)) for at, s in zip(starts, strides, strict=True)]
        ends = [min(c, (n - 1 - at) // s + 1) for c, n, at, s in zip(counts, sizes, starts, strides, strict=True)]
        if any(i >= end for i, end in zip(first, ends, strict=True)):
            continue
        places = zip(first, ends, starts, strides, strict=True)
        read = _at(slice(i * s + at, (end - 1) * s + at + 1, s) for i, end, at, s in places)
        added = [np.tensordot(part[read], v[_at(tap)], ((1,), (1,))) for part, v in parts]
        result[_at(map(slice, first, ends))] += np.moveaxis(np.concatenate(added, axis=-1), -1, 1)
    return result if b is None else result + b.reshape(-1, *(1 for _ in counts))


def conv_transpose(
    x: AnyArray,
    w: AnyArray,
    b: AnyArray | None = None,
    *,
    group: int = 1,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    kernel_shape: Any = None,
    **options: Any,
) -> AnyArray:
    """Each element times the weights, added at its place; then cut to the requested size."""
    rank = x.ndim - 2
    told, extra = _geometry(w.shape[2:], **options), output_padding or [0] * rank
    pads, told["pads"] = told["pads"], [0] * (2 * rank)
    full = windows.conv_transpose(_read(x), w, extra=extra, group=group, **told)
    if output_shape or isinstance(pads, str):
        wanted = output_shape or [n * s for n, s in zip(x.shape[2:], told["strides"], strict=True)]
        totals = [f - size for f, size in zip(full.shape[2:], wanted, strict=True)]
        lows = [t // 2 if pads == "SAME_UPPER" else t - t // 2 for t in totals]
        pads = [*lows, *(t - low for low, t in zip(lows, totals, strict=True))]
    cuts = list(zip(pads[:rank], pads[rank:], strict=True))
    longer = np.pad(full, [(0, 0), (0, 0), *((max(-low, 0), max(-high, 0)) for low, high in cuts)])
    kept = [slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(longer.shape[2:], cuts, strict=True)]
    cut: AnyArray = longer[_at(kept)]
    return cut if b is None else cut + b.reshape(-1, *(1 for _ in kept))


WINDOWED: dict[str, Callable[..., Any]] = {
    "AveragePool": average_pool, "Conv": conv, "ConvTranspose": conv_transpose, "GlobalLpPool": global_lp_pool,
    "LpPool": lp_pool, "MaxPool": max_pool,
}  # fmt: skip
"""Operators with one result, by name."""

SEVERAL: dict[str, Callable[..., Any]] = {"MaxPool": max_pool_with_places}
"""Operators with more than one result."""
