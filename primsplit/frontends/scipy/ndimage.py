"""scipy.ndimage's window filters for traced arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import floating, not_empty
from primsplit.frontends.scipy.signal import slid
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import one_axis
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import holds_traced, plain_or_traced

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter1d",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

PADDED = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip
"""NumPy's names of how an image goes on beyond its edges."""


def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The sums of weights times windows, of images with up to three axes; a run without weights fails."""
    check_output(output)
    image = floating(input)
    weights, origins = _spread(not_empty(floating(weights)), origin, axes, image.ndim)
    pads = [margins(n, o) for n, o in zip(weights.shape, origins, strict=True)]
    return as_given(slid(padded(image, pads, mode, cval), weights.astype(image.dtype)), input)


def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """`correlate` with the weights turned round."""
    weights, origins = _spread(floating(weights), origin, axes, plain_or_traced(input).ndim)
    turned = [_turned(o, n) for o, n in zip(origins, weights.shape, strict=True)]
    return correlate(input, np.flip(weights), output, mode, cval, turned)


def _turned(origin: Any, count: Dim) -> Any:
    """The origin of as many weights that are turned round."""
    return dims.remainder(count, 2) - origin - 1


def _spread(weights: Any, origin: Any, axes: Any, rank: int) -> tuple[Any, list[int]]:
    """The weights with all axes of the image, in its order, and an origin for each of these. Raises ShapeError."""
    chosen = chosen_axes(axes, rank)
    if weights.ndim != len(chosen):
        raise ShapeError("weights have as many axes as they are moved along", place=tracing.user_place())
    origins = _each(origin, len(chosen))
    if len(chosen) == rank:
        return weights, origins
    given = dict(zip(chosen, origins, strict=True))
    rest = [a for a in range(rank) if a not in given]
    return np.expand_dims(weights, tuple(rest)), [given.get(a, 0) for a in range(rank)]


def margins(count: Dim, origin: Dim) -> tuple[Dim, Dim]:
    """Return the reach of windows beyond the first and the last element. Raises ValueError as SciPy does."""
    before = dims.floor_divide(count, 2) + origin
    if dims.above(0, before) or dims.at_least(before, dims.maximum(count, 1)):
        raise ValueError("Invalid origin: it must lie in the window")
    return before, count - 1 - before


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Dim = 0,
) -> Any:  # fmt: skip
    """The sums of weights times windows along one axis."""
    check_output(output)
    image, weights = floating(input), not_empty(floating(weights))
    count = weights.shape[0]
    place = one_axis(axis, image.ndim)
    pads = [margins(count, origin) if a == place else (0, 0) for a in range(image.ndim)]
    wide = np.moveaxis(padded(image, pads, mode, cval), place, -1)
    size, shape = wide.shape[-1], wide.shape[:-1]
    rows = wide.reshape((-1, size)) if image.ndim > 1 else wide[None]
    found = slid(rows, weights.astype(image.dtype)[None])
    return as_given(np.moveaxis(found.reshape((*shape, size - count + 1)), -1, place), input)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """`correlate1d` with the weights turned round."""
    weights = floating(weights)
    return correlate1d(input, np.flip(weights), axis, output, mode, cval, _turned(origin, weights.shape[0]))


def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> Any:  # fmt: skip
    """The convolution with a Gaussian along one axis, or with its derivative of this order."""
    if holds_traced(sigma) and radius is None:
        raise unsupported("scipy.ndimage's Gaussian filter with a traced sigma and no radius")
    if order < 0:
        raise ValueError("order must be non-negative")
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    return correlate1d(input, np.flip(_gaussian(sigma, order, reach)), axis, output, mode, cval)


def _gaussian(sigma: Any, order: int, reach: int) -> Any:
    """A Gaussian with sum 1 at -reach, ..., reach, times the polynomial that its derivative has beside it."""
    places = np.arange(-reach, reach + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * places**2)
    bell = bell / np.sum(bell)
    factor: list[Any] = [1.0]
    for _ in range(order):
        moved = [0.0, *(-c / (sigma * sigma) for c in factor)]
        sloped = [*(k * c for k, c in enumerate(factor) if k), 0.0, 0.0]
        factor = [m + s for m, s in zip(moved, sloped, strict=False)]
    polynomial: Any = sum(c * places**k for k, c in enumerate(factor))
    return polynomial * bell


def _each(value: Any, count: int) -> list[Any]:
    """One value for each axis."""
    is_one = value is None or isinstance(value, str) or np.ndim(value) == 0
    return [value] * count if is_one else list(value)


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """The means of windows along one axis; of integers, the sums divided, which a product would miss by a rounding."""
    image = floating(input)
    if image.dtype == plain_or_traced(input).dtype:
        return correlate1d(image, np.full(size, 1 / size), axis, output, mode, cval, origin)
    return as_given(correlate1d(image, np.ones(size), axis, output, mode, cval, origin) / size, input)


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The means of windows, along one axis after the other, each in the dtype of the image."""
    check_output(output)
    found = plain_or_traced(input)
    chosen = chosen_axes(axes, found.ndim)
    for axis, one, beyond, shift in zip(chosen, *(_each(v, len(chosen)) for v in (size, mode, origin)), strict=True):
        found = uniform_filter1d(found, one, axis, None, beyond, cval, shift)
    return found


def _sloped(input: Any, axis: int, across: Sequence[float], mode: Any, cval: Any) -> Any:
    """Differences along one axis, sums with these weights along the others."""
    found = floating(input)
    modes = _each(mode, found.ndim)
    place = axis % found.ndim
    found = correlate1d(found, [-1.0, 0.0, 1.0], place, None, modes[place], cval)
    for other in range(found.ndim):
        if other != place:
            found = correlate1d(found, across, other, None, modes[other], cval)
    return as_given(found, input)


def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """The Sobel filter."""
    check_output(output)
    return _sloped(input, axis, [1.0, 2.0, 1.0], mode, cval)


def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """The Prewitt filter."""
    check_output(output)
    return _sloped(input, axis, [1.0, 1.0, 1.0], mode, cval)


def padded(image: Any, pads: Sequence[tuple[Any, Any]], mode: str, cval: Any) -> Any:
    """The image, continued; one without elements as if it had a 0, by margins that hold no window."""
    if mode not in PADDED:
        raise ShapeError(f"boundary mode {mode!r} is not supported", place=tracing.user_place())
    if PADDED[mode] == "constant":
        return np.pad(image, pads, constant_values=cval)
    if all(dims.above(n, 0) for n in image.shape):
        return np.pad(image, pads, mode=PADDED[mode])  # type: ignore[call-overload]  # the names are NumPy's
    missing: list[Any] = [(0, dims.maximum(1 - n, 0)) for n in image.shape]
    filled: Any = np.pad(image, missing)
    wide = np.pad(filled, pads, mode=PADDED[mode])  # type: ignore[call-overload]
    return wide[tuple(slice(0, n + sum(p)) for n, p in zip(image.shape, pads, strict=True))]


def chosen_axes(axes: Any, rank: int) -> list[int]:
    """The axes that are filtered, counted from the front: all for None. Raises ShapeError."""
    listed = range(rank) if axes is None else (axes,) if isinstance(axes, int) else axes
    return [one_axis(a, rank) for a in listed]


def as_given(found: Any, given: Any) -> Any:
    """The result in the dtype of the image, as SciPy gives it: integers, and booleans, are cut."""
    dtype = plain_or_traced(given).dtype
    if found.dtype == dtype:
        return found
    return (np.trunc(found) if dtype.kind == "b" else found).astype(dtype)


def check_output(output: Any) -> None:
    if output is not None:
        raise unsupported("output= of scipy.ndimage")
