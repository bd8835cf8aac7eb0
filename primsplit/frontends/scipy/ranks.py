"""scipy.ndimage's rank filters: the minimum, maximum, median or another rank of each window."""

import itertools
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.ndimage import as_given, check_output, chosen_axes, margins, padded
from primsplit.frontends.scipy.operands import floating
from primsplit.ir.errors import ShapeError
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = [
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
]


def maximum_filter(input: Any, *given: Any, **options: Any) -> Any:
    """The largest number of each window; equal ones share the gradient."""
    return _filtered(input, -1, *given, **options)


def minimum_filter(input: Any, *given: Any, **options: Any) -> Any:
    """The smallest number of each window; equal ones share the gradient."""
    return _filtered(input, 0, *given, **options)


def rank_filter(input: Any, rank: int, *given: Any, **options: Any) -> Any:
    """The number of this rank in each window, of the largest for -1."""
    return _filtered(input, rank, *given, **options)


def median_filter(input: Any, *given: Any, **options: Any) -> Any:
    """The middle number of each window, the upper of two."""
    return _filtered(input, None, *given, **options)


def percentile_filter(input: Any, percentile: float, *given: Any, **options: Any) -> Any:
    """The number below which this part of each window is, in percent; from the top for less than 0."""
    share = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    return _filtered(input, float(share) / 100.0, *given, **options)


def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """The largest number of each window along an axis."""
    return _filtered(input, -1, size, None, output, mode, cval, origin, axes=(axis,))


def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """The smallest number of each window along an axis."""
    return _filtered(input, 0, size, None, output, mode, cval, origin, axes=(axis,))


def _filtered(
    input: Any,
    rank: int | float | None,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element of a rank in each window; a float rank is a fraction of the window's size, None is half."""
    check_output(output)
    image: Any = array_like(floating(input))
    chosen = chosen_axes(axes, image.ndim)
    if not isinstance(mode, str):
        raise unsupported("a filter by rank with a mode for each axis")
    picked = _footprint(size, footprint, len(chosen))
    if picked.ndim != len(chosen):
        raise ShapeError(f"a footprint of shape {picked.shape} for {len(chosen)} axes", place=tracing.user_place())
    place = _place(rank, int(picked.sum()))
    parts = windows(image, picked, chosen, mode, cval, placed(origin, picked.shape))
    if place in {0, len(parts) - 1}:
        found = np.min(np.stack(parts), axis=0) if place == 0 else np.max(np.stack(parts), axis=0)
    else:
        ordered = np.sort(np.stack(parts), axis=0)
        found = np.where(np.isnan(ordered[-1]), np.nan, ordered[place])  # NaN comes last
    return as_given(found, input)


def _footprint(size: Any, footprint: Any, count: int) -> Any:
    """Which elements of a window count. Raises RuntimeError as SciPy does."""
    if footprint is not None:
        return np.asarray(footprint, bool)
    if size is None:
        raise RuntimeError("no footprint or filter size provided")
    return np.ones([size] * count if np.ndim(size) == 0 else size, bool)


def _place(rank: int | float | None, count: int) -> int:
    """The place among as many sorted numbers. Raises RuntimeError as SciPy does."""
    if rank is None:
        return count // 2
    if isinstance(rank, float):
        return min(int(count * rank), count - 1)
    if not -count <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    return rank % count


def placed(origin: Any, shape: tuple[int, ...], *, mirrored: bool = False) -> list[int]:
    """The origin along each axis of a footprint of this shape; `mirrored`, as dilations have it, with the footprint."""
    origins = [origin] * len(shape) if np.ndim(origin) == 0 else list(origin)
    return [-o - (n % 2 == 0) for o, n in zip(origins, shape, strict=True)] if mirrored else origins


def windows(image: Any, picked: Any, axes: list[int], mode: str, cval: Any, origins: Any) -> list[Any]:
    """The image moved to each element of the footprint."""
    around = {a: margins(n, shift) for a, n, shift in zip(axes, picked.shape, origins, strict=True)}
    wide = padded(image, [around.get(a, (0, 0)) for a in range(image.ndim)], mode, cval)
    found = []
    for place in itertools.product(*map(range, picked.shape)):
        if picked[place]:
            start = dict(zip(axes, place, strict=True))
            starts = [start.get(a, 0) for a in range(image.ndim)]
            found.append(wide[tuple(slice(s, s + n) for s, n in zip(starts, image.shape, strict=True))])
    return found
