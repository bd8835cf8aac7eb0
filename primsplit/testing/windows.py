"""ONNX's convolutions and poolings as NumPy functions, tap by tap, because onnx.reference has some wrong."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Place = tuple[int, ...]


def _at(place: Sequence[int | slice | AnyArray]) -> tuple[Any, ...]:
    """An index of the trailing axes."""
    return (..., *place)


class _Grid:
    """The layout of windows: strides, dilations, pads and counts of each axis."""

    def __init__(
        self,
        sizes: Sequence[int],
        kernel: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
    ) -> None:
        rank = len(sizes)
        self.sizes, self.kernel = sizes, kernel
        self.strides, self.dilations = strides or [1] * rank, dilations or [1] * rank
        given = pads or [0] * (2 * rank)
        self.pads = list(zip(given[:rank], given[rank:], strict=True))
        self.counts = []
        for axis, (n, k, s, d) in enumerate(zip(sizes, kernel, self.strides, self.dilations, strict=True)):
            span = (k - 1) * d + 1
            if auto_pad.startswith("SAME"):
                total = max((-(-n // s) - 1) * s + span - n, 0)
                low = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
                self.pads[axis] = (low, total - low)
            low, high = self.pads[axis]
            starts = [i for i in range(0, n + low + high, s) if i + span <= n + low + high]
            if ceil_mode and not auto_pad.startswith("SAME") and starts[-1] + span < n + low + high:
                starts += [i for i in [starts[-1] + s] if i < n + low]
            if not starts or not n:
                raise ValueError("no window fits")
            self.counts.append(len(starts))

    def windows(self) -> Iterator[tuple[Place, list[Place]]]:
        """Each window's position, and the places that its taps read, which may lie outside of the array."""
        taps = list(itertools.product(*map(range, self.kernel)))
        axes = range(len(self.kernel))
        for window in itertools.product(*map(range, self.counts)):
            start = [window[a] * self.strides[a] - self.pads[a][0] for a in axes]
            yield window, [tuple(start[a] + tap[a] * self.dilations[a] for a in axes) for tap in taps]

    def taps(self) -> Iterator[tuple[Place, tuple[slice, ...], tuple[slice, ...]]]:
        """Each tap, the windows whose place for it is in the array, and these places."""
        for tap in itertools.product(*map(range, self.kernel)):
            windows, places = [], []
            rows = zip(tap, self.sizes, self.counts, self.strides, self.dilations, self.pads, strict=True)
            for t, size, count, step, spread, (low, _) in rows:
                at = t * spread - low
                first, end = max(0, -(at // step)), min(count, (size - 1 - at) // step + 1)
                windows.append(slice(first, max(first, end)))
                places.append(slice(first * step + at, max(end - 1, first - 1) * step + at + 1, step))
            if all(w.stop > w.start for w in windows):
                yield tap, tuple(windows), tuple(places)

    def places(self) -> tuple[list[AnyArray], AnyArray, AnyArray]:
        """The places of each window and tap by axis, kept in the array; whether they are in it, and in its padding."""
        rank, taps = (
            len(self.sizes),
            [np.asarray(t) for t in zip(*itertools.product(*map(range, self.kernel)), strict=True)],
        )
        kept, inside, counted = [], np.asarray(True), np.asarray(True)
        for axis in range(rank):
            low, high = self.pads[axis]
            starts = np.arange(self.counts[axis]) * self.strides[axis] - low
            at = starts.reshape([-1 if a == axis else 1 for a in range(rank)] + [1]) + taps[axis] * self.dilations[axis]
            inside = inside & (at >= 0) & (at < self.sizes[axis])
            counted = counted & (at < self.sizes[axis] + high)
            kept.append(np.clip(at, 0, self.sizes[axis] - 1))
        return kept, inside, counted

    def holds(self, place: Place) -> bool:
        """Return whether a place is in the array."""
        return all(0 <= p < n for p, n in zip(place, self.sizes, strict=True))

    def counted(self, place: Place) -> bool:
        """Return whether a place is in the array or its padding."""
        return all(-low <= p < n + high for p, n, (low, high) in zip(place, self.sizes, self.pads, strict=True))


def _pooled(
    x: AnyArray, grid: _Grid, reduce: Callable[[AnyArray, AnyArray], AnyArray], outside: Any, *, include: int = 0
) -> AnyArray:
    """`reduce` of each window's elements, `outside` for those not in the array, and how many of its places count."""
    places, inside, counted = grid.places()
    if not inside.any(-1).all():
        raise ValueError("a window has no element")
    values = np.where(inside, x[_at(places)], np.asarray(outside, x.dtype))
    found: AnyArray = reduce(values, np.sum(counted if include else inside, -1)).astype(x.dtype)
    return found


def max_pool(x: AnyArray, *, kernel_shape: Sequence[int], storage_order: int = 0, **options: Any) -> AnyArray:
    """The maximum of each window."""
    least = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    return _pooled(x, _Grid(x.shape[2:], kernel_shape, **options), lambda values, _: values.max(-1), least)


def max_pool_with_places(
    x: AnyArray, *, kernel_shape: Sequence[int], storage_order: int = 0, **options: Any
) -> tuple[AnyArray, AnyArray]:
    """The maximum of each window, and the place of the first one: row-major, or with the axes reversed."""
    grid = _Grid(x.shape[2:], kernel_shape, **options)
    steps = np.ones(len(grid.sizes), np.int64)
    if storage_order:
        steps[1:] = np.cumprod(grid.sizes[:-1])
    else:
        steps[:-1] = np.cumprod(grid.sizes[:0:-1])[::-1]
    values = np.zeros((*x.shape[:2], *grid.counts), x.dtype)
    found = np.zeros(values.shape, np.int64)
    first = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) * int(np.prod(x.shape[2:]))
    for window, places in grid.windows():
        inside = [p for p in places if grid.holds(p)]
        read = np.stack([x[_at(p)] for p in inside], -1)
        flat = np.array(inside) @ steps
        values[_at(window)] = read.max(-1)
        found[_at(window)] = first + flat[read.argmax(-1)]
    return values, found


def average_pool(x: AnyArray, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **options: Any) -> AnyArray:
    """The mean of each window."""
    grid = _Grid(x.shape[2:], kernel_shape, **options)
    return _pooled(x, grid, lambda values, count: values.sum(-1) / count, 0, include=count_include_pad)


def lp_pool(x: AnyArray, *, kernel_shape: Sequence[int], p: int = 2, **options: Any) -> AnyArray:
    """The p-norm of each window."""
    grid = _Grid(x.shape[2:], kernel_shape, **options)
    return _pooled(x, grid, lambda values, _: (np.abs(values) ** p).sum(-1) ** (1 / p), 0)


def global_lp_pool(x: AnyArray, *, p: int = 2) -> AnyArray:
    """The p-norm of each channel."""
    total: AnyArray = (np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)
    return total.astype(x.dtype)


def _taps(w: AnyArray) -> AnyArray:
    """The weights with all taps on one axis: [A, B, taps]."""
    return w.reshape(*w.shape[:2], -1)


def _product(w: AnyArray, x: AnyArray) -> AnyArray:
    """The weights [group, B, A] times arrays [N, group, A, ...]."""
    if w.dtype.name not in {"float32", "float64"}:
        return np.asarray(np.einsum("gba,nga...->ngb...", w, x))
    found: AnyArray = np.matmul(w, x.reshape(*x.shape[:3], -1))
    return found.reshape(*x.shape[:2], w.shape[1], *x.shape[3:])


def conv(
    x: AnyArray, w: AnyArray, b: AnyArray | None = None, *, group: int = 1, kernel_shape: Any = None, **options: Any
) -> AnyArray:
    """The product of each window with the weights of its group."""
    grid = _Grid(x.shape[2:], w.shape[2:], **options)
    result = np.zeros((x.shape[0], w.shape[0], *grid.counts), x.dtype)
    split = x.reshape(x.shape[0], group, w.shape[1], *x.shape[2:])
    flat = _taps(w).reshape(group, w.shape[0] // group, w.shape[1], -1)
    for tap, windows, places in grid.taps():
        found = _product(flat[..., np.ravel_multi_index(tap, w.shape[2:])], split[_at(places)])
        result[_at(windows)] += found.reshape(x.shape[0], w.shape[0], *found.shape[3:])
    return result if b is None else result + b.reshape(-1, *(1 for _ in grid.counts))


def conv_transpose(
    x: AnyArray,
    w: AnyArray,
    b: AnyArray | None = None,
    *,
    group: int = 1,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    kernel_shape: Any = None,
) -> AnyArray:
    """Each element times the weights, added at its place; then cut to the requested size."""
    rank = x.ndim - 2
    steps, spread, extra = strides or [1] * rank, dilations or [1] * rank, output_padding or [0] * rank
    given = pads or [0] * (2 * rank)
    rows = zip(x.shape[2:], w.shape[2:], steps, spread, extra, strict=True)
    full = [(n - 1) * s + (k - 1) * d + 1 + e for n, k, s, d, e in rows]
    cuts = list(zip(given[:rank], given[rank:], strict=True))
    if output_shape or auto_pad.startswith("SAME"):
        wanted = output_shape or [n * s for n, s in zip(x.shape[2:], steps, strict=True)]
        totals = [f - size for f, size in zip(full, wanted, strict=True)]
        lows = [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in totals]
        cuts = [(low, t - low) for low, t in zip(lows, totals, strict=True)]
    if not all(x.shape[2:]):
        raise ValueError("an empty image")
    result = np.zeros((x.shape[0], w.shape[1] * group, *full), x.dtype)
    split = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    flat = _taps(w).reshape(group, w.shape[0] // group, w.shape[1], -1)
    for tap, at in enumerate(itertools.product(*map(range, w.shape[2:]))):
        axes = zip(at, spread, x.shape[2:], steps, strict=True)
        there = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in axes]
        found = _product(np.swapaxes(flat[..., tap], 1, 2), split)
        result[_at(there)] += found.reshape(x.shape[0], -1, *x.shape[2:])
    longer = np.pad(result, [(0, 0), (0, 0), *((max(-low, 0), max(-high, 0)) for low, high in cuts)])
    kept = [slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(longer.shape[2:], cuts, strict=True)]
    cut: AnyArray = longer[_at(kept)]
    return cut if b is None else cut + b.reshape(-1, *(1 for _ in full))


WINDOWED: dict[str, Callable[..., Any]] = {
    "AveragePool": average_pool, "Conv": conv, "ConvTranspose": conv_transpose, "GlobalLpPool": global_lp_pool,
    "LpPool": lp_pool, "MaxPool": max_pool,
}  # fmt: skip
"""Operators with one result, by name."""

SEVERAL: dict[str, Callable[..., Any]] = {"MaxPool": max_pool_with_places}
"""Operators with more than one result."""
