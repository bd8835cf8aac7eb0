"""scipy.ndimage's interpolation of traced images at points between pixels, by splines of orders 0 to 5.

Zoom, shift, rotation and other mappings are built on it. M. Unser, Splines: a perfect fit for signal and image
processing, IEEE Signal Process. Mag. 16 (1999) 22-38. At a knot of order 0 or 1 the derivative in a coordinate is the
one to its right.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.ndimage import as_given, check_output, correlate1d
from primsplit.frontends.scipy.operands import double, of_length
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import as_size, size_as
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "spline_filter", "spline_filter1d", "zoom"]

POLES = {
    2: (math.sqrt(8) - 3,),
    3: (math.sqrt(3) - 2,),
    4: (
        math.sqrt(664 - math.sqrt(438976)) + math.sqrt(304) - 19,
        math.sqrt(664 + math.sqrt(438976)) - math.sqrt(304) - 19,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}
"""The poles inside of the unit circle of the filter that gives a spline of each order its values."""
CONTINUED = {
    "constant": "mirror", "wrap": "mirror", "mirror": "mirror", "grid-constant": "mirror", "nearest": "reflect",
    "reflect": "reflect", "grid-mirror": "reflect", "grid-wrap": "grid-wrap",
}  # fmt: skip
"""The extension of the coefficients beyond the edges, by the mode in which the image itself is extended."""
MARGIN = 12
"""The padding that SciPy adds on each side of an image whose coefficients are not extended as the image is."""


def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients, along one axis, of the spline that goes through the pixels. Sums of what is within 1e-17."""
    found = double(input)
    _check(order, mode)
    for pole in POLES.get(order, ()):
        reach = math.ceil(math.log(1e-17) / math.log(-pole))
        taps = (1 - pole) / (1 + pole) * pole ** np.abs(np.arange(-reach, reach + 1.0))
        found = correlate1d(found, taps, axis, None, CONTINUED[mode])
    return cast_to(array_like(found), np.dtype(output))


def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the spline that goes through the pixels."""
    found = double(input)
    for axis in range(found.ndim):
        found = spline_filter1d(found, order, axis, np.float64, mode)
    return cast_to(array_like(found), np.dtype(output))


def _check(order: int, mode: str) -> None:
    if order not in range(6):
        raise unsupported(f"scipy.ndimage with splines of order {order}")
    if mode not in CONTINUED:
        raise ShapeError(f"boundary mode {mode!r} is not supported", place=tracing.user_place())


@dataclass(frozen=True)
class _Spline:
    """The coefficients of images along the last axes, and how they go on."""

    coefficients: Any
    order: int
    mode: str
    cval: Any
    margin: int


@dataclass(frozen=True)
class _Taps:
    """The places and weights of the coefficients that count at points along one axis.

    `is_within` tells of each place whether there is a coefficient, where one outside counts as `cval`; `inside` tells
    of each point whether the image has a value. None is always.
    """

    places: Sequence[Any]
    weights: Sequence[Any]
    is_within: Sequence[Any] | None
    inside: Any


def _spline(
    input: Any, output: Any, order: int, mode: str, cval: Any, prefilter: bool, rank: int | None = None
) -> _Spline:
    """The spline through an image, or through each image of a stack, whose last `rank` axes are those of images."""
    check_output(output)
    _check(order, mode)
    found: Any = array_like(double(input))
    rank = found.ndim if rank is None else rank
    is_filtered = prefilter and order > 1
    margin = MARGIN if is_filtered and mode in {"nearest", "grid-constant"} else 0
    if margin:
        pads = [(0, 0)] * (found.ndim - rank) + [(margin, margin)] * rank
        found = np.pad(found, pads, mode="edge") if mode == "nearest" else np.pad(found, pads, constant_values=cval)
    for axis in range(-rank, 0) if is_filtered else ():
        found = spline_filter1d(found, order, axis, np.float64, mode)
    return _Spline(found, order, mode, cval, margin)


def _taps(spline: _Spline, axis: int, points: Any) -> _Taps:
    """The taps along an axis for points of any shape."""
    size = array_like(spline.coefficients.shape[axis])
    points, inside = _inward(points + float(spline.margin), size, spline.mode)
    moved = points + (0.5 if spline.order % 2 == 0 else 0.0)
    first = np.floor(moved)
    weights = _weights(moved - first, spline.order)
    start = first.astype(np.int64) - spline.order // 2
    places = [start + k for k in range(spline.order + 1)]
    within = [(p >= 0) & (p < size) for p in places] if spline.mode == "grid-constant" else None
    return _Taps([_continued(p, size, spline.mode) for p in places], weights, within, inside)


def _inward(x: Any, size: Array, mode: str) -> tuple[Any, Any]:
    """Points mapped to where the spline is known, and which of them the image has values at, as SciPy does it."""
    last = cast_to(size, np.float64) - 1.0
    if mode == "constant":
        return np.clip(x, 0.0, last), (x >= 0.0) & (x <= last)
    outside = (x < 0.0) | (x > last)
    if mode == "wrap":
        period = np.maximum(last, 1.0)
        return np.where(outside, np.where(last > 0.0, x - period * np.floor(x / period), 0.0), x), None
    if mode == "mirror":
        period = np.maximum(2.0 * last, 1.0)
        size_of = np.abs(x) - period * np.floor(np.abs(x) / period)
        is_far = np.where(x < 0.0, size_of >= last, size_of >= last + 1.0)
        turned = np.where(is_far, period - size_of, size_of)
        return np.where(outside, np.where(last > 0.0, turned, 0.0), x), None
    if mode in {"reflect", "grid-mirror"}:
        period = 2.0 * last + 2.0
        turned = np.where(x < 0.0, -1.0 - x, x)
        turned = turned - period * np.floor(turned / period)
        turned = np.where(turned > last + 1.0, period - turned - 1.0, turned)
        return np.where(outside, turned, x), None
    if mode == "grid-wrap":
        return np.where(outside, x - (last + 1.0) * np.floor(x / (last + 1.0)), x), None
    return x, None


def _continued(place: Any, size: Array, mode: str) -> Any:
    """The place of the coefficient that stands for one beyond the edges."""
    last = size - 1
    if mode == "nearest":
        return np.clip(place, 0, last)
    if CONTINUED[mode] == "grid-wrap":
        return np.remainder(place, size)
    period = np.maximum(2 * last, 1) if CONTINUED[mode] == "mirror" else 2 * size
    turned = np.remainder(place, period)
    return np.minimum(turned, (period if CONTINUED[mode] == "mirror" else period - 1) - turned) * np.minimum(last, 1)


def _weights(t: Any, order: int) -> list[Any]:
    """The B-splines of this order that are not 0 at t between two knots, by their recurrence."""
    weights: list[Any] = [np.ones_like(t)]
    for d in range(1, order + 1):
        left, right = [*weights, 0.0], [0.0, *weights]
        weights = [((j + 1 - t) * left[j] + (t + (d - j)) * right[j]) * (1 / d) for j in range(d + 1)]
    return weights


def _at_points(spline: _Spline, points: Sequence[Any]) -> Any:
    """The image at points, an array of one shape for each axis."""
    every = [_taps(spline, axis, x) for axis, x in enumerate(points, start=-len(points))]
    found: Any = 0.0
    for chosen in itertools.product(range(spline.order + 1), repeat=len(every)):
        value = spline.coefficients[(..., *(t.places[k] for t, k in zip(every, chosen, strict=True)))]
        for taps, k in zip(every, chosen, strict=True):
            value = value if taps.is_within is None else np.where(taps.is_within[k], value, spline.cval)
        found = found + value * math.prod((t.weights[k] for t, k in zip(every, chosen, strict=True)), start=1.0)
    for taps in every:
        found = found if taps.inside is None else np.where(taps.inside, found, spline.cval)
    return found


def _along_axes(spline: _Spline, points: Sequence[Any]) -> Any:
    """The image at the points of a grid, a vector for each axis: one axis after the other."""
    found, inside = spline.coefficients, []
    for axis, x in enumerate(points):
        taps = _taps(spline, axis, x)
        shape = [1] * len(points)
        shape[axis] = -1
        total: Any = 0.0
        for k, (place, weight) in enumerate(zip(taps.places, taps.weights, strict=True)):
            value = np.take(found, place, axis=axis)
            if taps.is_within is not None:
                value = np.where(taps.is_within[k].reshape(shape), value, spline.cval)
            total = total + value * weight.reshape(shape)
        found = total
        inside += [] if taps.inside is None else [taps.inside.reshape(shape)]
    for one in inside:
        found = np.where(one, found, spline.cval)
    return found


def _as_given(found: Any, input: Any) -> Any:
    """The result in the dtype of the image; integers are rounded, halves away from 0."""
    if np.result_type(input).kind in "iu":
        found = np.trunc(found + np.where(found < 0.0, -0.5, 0.5))
    return as_given(found, input)


def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at the points `coordinates`, [axes, ...]."""
    spline = _spline(input, output, order, mode, cval, prefilter)
    points = cast_to(array_like(coordinates), np.float64)
    return _as_given(_at_points(spline, [points[a] for a in range(spline.coefficients.ndim)]), input)


def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image moved along its axes."""
    spline = _spline(input, output, order, mode, cval, prefilter)
    sizes = np.shape(input)
    moved = np.broadcast_to(cast_to(array_like(shift), np.float64), (len(sizes),))
    points = [cast_to(count_up(n), np.float64) - moved[a] for a, n in enumerate(sizes)]
    return _as_given(_along_axes(spline, points), input)


def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """An image with as many times the pixels along its axes."""
    if holds_traced(zoom):
        raise unsupported("scipy.ndimage.zoom by a traced factor, which sizes depend on,")
    sizes = np.shape(input)
    factors = np.broadcast_to(np.asarray(zoom, float), (len(sizes),)).tolist()
    if prefilter and all(f == 1 for f in factors):
        check_output(output)
        return _as_given(array_like(double(input)), input)
    spline = _spline(input, output, order, mode, cval, prefilter)
    points = []
    for size, factor in zip(sizes, factors, strict=True):
        wide = _times(size, factor)
        old, new = (cast_to(array_like(n), np.float64) - (0.0 if grid_mode else 1.0) for n in (size, wide))
        step = np.where(new == 0.0, 1.0, old / np.where(new == 0.0, 1.0, new))
        middle = 0.5 if grid_mode else 0.0
        points.append((cast_to(count_up(wide), np.float64) + middle) * step - middle)
    return _as_given(_along_axes(spline, points), input)


def _times(size: Dim, factor: float) -> Dim:
    """A size times a factor, rounded as Python does it, halves to the even number."""
    if factor % 1 == 0:
        return size * int(factor)
    if isinstance(size, int):
        return round(size * factor)
    return as_size(cast_to(array_like(np.round(size_as(size, np.float64) * factor)), np.int64))


def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at `matrix @ o + offset` for the places `o` of the result; a vector is a diagonal matrix."""
    spline = _spline(input, output, order, mode, cval, prefilter)
    rank = spline.coefficients.ndim
    sizes = np.shape(input) if output_shape is None else tuple(output_shape)
    matrix = cast_to(array_like(matrix), np.float64)
    if matrix.ndim == 2 and matrix.shape[1] == rank + 1:
        matrix, offset = matrix[:rank, :rank], matrix[:rank, rank]
    matrix = of_length(matrix, rank, 0)
    offset = np.broadcast_to(cast_to(array_like(offset), np.float64), (rank,))
    lines = [cast_to(count_up(n), np.float64) for n in sizes]
    if matrix.ndim == 1:
        found = _along_axes(spline, [line * matrix[a] + offset[a] for a, line in enumerate(lines)])
        return _as_given(found, input)
    grid = [line.reshape([-1 if a == b else 1 for b in range(len(lines))]) for a, line in enumerate(lines)]
    points = [sum((line * matrix[r, a] for a, line in enumerate(grid)), start=offset[r]) for r in range(rank)]
    return _as_given(_at_points(spline, points), input)


def rotate(
    input: Any, angle: Any, axes: Sequence[int] = (1, 0), reshape: bool = True, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image turned in the plane of two axes by degrees; with `reshape`, sizes and angle are known."""
    given = np.shape(input)
    plane = sorted(a % len(given) for a in axes)
    sizes = [given[a] for a in plane]
    sine, cosine = _turn(angle)
    wide: list[Any] = sizes
    if reshape:
        if holds_traced(angle):
            raise unsupported("scipy.ndimage.rotate by a traced angle with reshape=True")
        known = [literal_size(n, "scipy.ndimage.rotate") for n in sizes]
        turned = (abs(cosine) * known[0] + abs(sine) * known[1], abs(sine) * known[0] + abs(cosine) * known[1])
        wide = [int(n + 0.5) for n in turned]
    image: Any = array_like(double(input))
    image = np.moveaxis(image, plane, (-2, -1))
    spline = _spline(image, output, order, mode, cval, prefilter, rank=2)
    middles = [(cast_to(array_like(n), np.float64) - 1.0) * 0.5 for n in (*sizes, *wide)]
    down = cast_to(count_up(wide[0]), np.float64)[:, None] - middles[2]
    right = cast_to(count_up(wide[1]), np.float64) - middles[3]
    points = [cosine * down + sine * right + middles[0], cosine * right - sine * down + middles[1]]
    return _as_given(np.moveaxis(_at_points(spline, points), (-2, -1), plane), input)


def _turn(angle: Any) -> tuple[Any, Any]:
    """The sine and the cosine of degrees; of a known right angle exact."""
    if holds_traced(angle):
        radians = cast_to(array_like(angle), np.float64) * (math.pi / 180)
        return np.sin(radians), np.cos(radians)
    quarters, rest = divmod(float(angle), 90.0)
    sine, cosine = math.sin(math.radians(rest)), math.cos(math.radians(rest))
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][int(quarters) % 4]
