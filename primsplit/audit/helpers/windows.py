"""Convolutions and pools: functions of windows that slide over the axes behind the first two."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def windows(a: AnyArray, kernel: Any, strides: Any, dilations: Any) -> AnyArray:
    """Return the windows of an array: batch, channels, places of windows, places in a window."""
    lengths = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    axes = tuple(range(2, a.ndim))
    found = np.lib.stride_tricks.sliding_window_view(a, lengths, axes)
    inside: Any = (..., *[slice(None, None, d) for d in dilations])
    places: Any = (slice(None), slice(None), *[slice(None, None, s) for s in strides])
    parts: AnyArray = found[inside][places]
    return parts


def padded(a: AnyArray, pads: Any, value: Any = 0) -> AnyArray:
    """Return an array with elements before and behind those of the axes behind the first two."""
    half = len(pads) // 2
    widths = [(0, 0), (0, 0), *zip(pads[:half], pads[half:], strict=True)]
    return np.pad(a, widths, constant_values=value)


def same_pads(sizes: Any, kernel: Any, strides: Any, dilations: Any, upper: bool) -> list[int]:
    """Return the pads with which there are as many windows as strides fit into an axis."""
    rows = zip(sizes, kernel, strides, dilations, strict=True)
    totals = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in rows]
    small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return [*small, *large] if upper else [*large, *small]


def conv(
    a: AnyArray, w: AnyArray, bias: Any = None, *, strides: Any, dilations: Any, pads: Any, group: int = 1
) -> AnyArray:
    """Return the sums of products of each window with each kernel."""
    if isinstance(pads, str):
        pads = same_pads(a.shape[2:], w.shape[2:], strides, dilations, pads == "SAME_UPPER")
    parts = np.split(windows(padded(a, pads), w.shape[2:], strides, dilations), group, axis=1)
    last = range(-(w.ndim - 2), 0)
    found = [
        np.tensordot(part, kernels, ((1, *last), (1, *last)))
        for part, kernels in zip(parts, np.split(w, group), strict=True)
    ]
    joined = np.moveaxis(np.concatenate(found, axis=-1), -1, 1)
    return joined if bias is None else joined + bias.reshape(-1, *[1] * (a.ndim - 2))


def conv_kernel_grad(
    d: AnyArray, a: AnyArray, *, kernel: Any, strides: Any, dilations: Any, pads: Any, group: int = 1
) -> AnyArray:
    """Return the gradient of `conv` by its kernel: sums of products of cotangents and what each weight meets."""
    found = windows(padded(a, pads), kernel, strides, dilations)
    axes = (0, *range(2, d.ndim))
    parts = zip(np.split(d, group, axis=1), np.split(found, group, axis=1), strict=True)
    return np.concatenate([np.tensordot(of, with_it, (axes, axes)) for of, with_it in parts])


def conv_transpose(
    a: AnyArray, w: AnyArray, bias: Any = None, *, strides: Any, dilations: Any, pads: Any, extra: Any, group: int = 1
) -> AnyArray:
    """Return the transposed convolution: each element adds its multiple of a kernel to a window of the result.

    `extra` is added to the sizes of the result.
    """
    kernel, d = w.shape[2:], a.ndim - 2
    rows = zip(a.shape[2:], kernel, strides, dilations, extra, strict=True)
    sizes = [(n - 1) * s + (k - 1) * e + 1 + x for n, k, s, e, x in rows]
    found = np.zeros((a.shape[0], w.shape[1] * group, *sizes), a.dtype)
    parts = list(zip(np.split(a, group, axis=1), np.split(w, group), strict=True))
    for place in np.ndindex(*kernel):
        starts = [p * e for p, e in zip(place, dilations, strict=True)]
        ends = zip(starts, a.shape[2:], strides, strict=True)
        window = tuple(slice(i, i + (n - 1) * s + 1, s) for i, n, s in ends)
        added = [np.tensordot(part, v[(..., *place)], ((1,), (0,))) for part, v in parts]
        found[(slice(None), slice(None), *window)] += np.moveaxis(np.concatenate(added, axis=-1), -1, 1)
    kept = tuple(slice(low, n - high) for low, high, n in zip(pads[:d], pads[d:], sizes, strict=True))
    found = found[(slice(None), slice(None), *kept)]
    return found if bias is None else found + bias.reshape(-1, *[1] * d)


def pool_pads(sizes: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, ceil: bool) -> tuple[Any, Any]:
    """Return the pads of a pool, and those with which the last window, which may reach further, is whole."""
    if isinstance(pads, str):
        pads = same_pads(sizes, kernel, strides, dilations, pads == "SAME_UPPER")
    half = len(sizes)
    behind = []
    for n, k, s, d, low, high in zip(sizes, kernel, strides, dilations, pads[:half], pads[half:], strict=True):
        room = n + low + high - (k - 1) * d - 1
        count = (-(-room // s) if ceil else room // s) + 1
        if ceil and (count - 1) * s >= n + low:
            count -= 1
        behind.append(max(high, (count - 1) * s + (k - 1) * d + 1 - n - low))
    return pads, [*pads[:half], *behind]


def max_pool(
    a: AnyArray, *, kernel: Any, strides: Any, dilations: Any, pads: Any, ceil: bool = False, columns: bool = False
) -> Any:
    """Return the greatest element of each window, and its place in the flat array (by columns if requested)."""
    _, wide = pool_pads(a.shape[2:], kernel, strides, dilations, pads, ceil)
    least = np.iinfo(a.dtype).min if a.dtype.kind in "iu" else -np.inf
    found = windows(padded(a, wide, least), kernel, strides, dilations)
    places = np.arange(a.size).reshape(a.shape)
    if columns:
        inner = np.arange(a[0, 0].size).reshape(a.shape[2:], order="F")
        places = inner + places[(slice(None), slice(None), *[slice(0, 1)] * (a.ndim - 2))]
    at = windows(padded(places, wide, -1), kernel, strides, dilations)
    flat = found.reshape(*found.shape[: a.ndim], -1)
    is_greatest = (flat == np.max(flat, axis=-1, keepdims=True)) | np.isnan(flat)
    first = np.argmax(is_greatest & (at.reshape(flat.shape) >= 0), axis=-1, keepdims=True)
    picked = [np.take_along_axis(v.reshape(flat.shape), first, axis=-1)[..., 0] for v in (found, at)]
    return tuple(picked)


def max_pool_grad(
    d: AnyArray, a: AnyArray, *, kernel: Any, strides: Any, dilations: Any, pads: Any, ceil: bool = False
) -> AnyArray:
    """Return an array with the cotangent of each window of `max_pool` added at its greatest element."""
    _, places = max_pool(a, kernel=kernel, strides=strides, dilations=dilations, pads=pads, ceil=ceil)
    found = np.zeros(a.size, a.dtype)
    np.add.at(found, places.reshape(-1), d.reshape(-1))
    return found.reshape(a.shape)


def average_pool(
    a: AnyArray, *, kernel: Any, strides: Any, dilations: Any, pads: Any, ceil: bool = False, with_pads: bool = False
) -> Any:
    """Return the mean of each window; of the elements of the array alone, or of those of its pads too."""
    own, wide = pool_pads(a.shape[2:], kernel, strides, dilations, pads, ceil)
    axes = tuple(range(-len(kernel), 0))
    total = np.sum(windows(padded(a, wide), kernel, strides, dilations), axis=axes)
    ones = padded(np.ones((1, 1, *a.shape[2:]), a.dtype), own, 1 if with_pads else 0)
    more = [0] * len(kernel) + [w - o for w, o in zip(wide, own, strict=True)][len(kernel) :]
    return total / np.sum(windows(padded(ones, more), kernel, strides, dilations), axis=axes)


def lp_pool(
    a: AnyArray, *, kernel: Any, strides: Any, dilations: Any, pads: Any, ceil: bool = False, p: int = 2
) -> Any:
    """Return the norm of each window."""
    _, wide = pool_pads(a.shape[2:], kernel, strides, dilations, pads, ceil)
    powers = windows(padded(np.abs(a) ** p, wide), kernel, strides, dilations)
    return np.sum(powers, axis=tuple(range(-len(kernel), 0))) ** (1 / p)


def max_unpool(a: AnyArray, places: AnyArray, sizes: Any, wanted: Any = None) -> AnyArray:
    """Return zeros of these sizes with elements at places in the flat array; `wanted` are the sizes of the result."""
    found = np.zeros(tuple(sizes), a.dtype)
    found.reshape(-1)[places.reshape(-1)] = a.reshape(-1)
    return found if wanted is None else np.pad(found, [(0, w - n) for w, n in zip(wanted, sizes, strict=True)])


def patches(x: AnyArray, kernel: Any, strides: Any = (1, 1), dilations: Any = (1, 1)) -> AnyArray:
    """Return the parts of images that each weight of a kernel meets: batch, weights and channels, places of windows."""
    found = windows(x, kernel, strides, dilations)
    batch, _, height, width, *_ = found.shape
    places: AnyArray = found.transpose(0, 4, 5, 1, 2, 3).reshape(batch, -1, height * width)
    return places
