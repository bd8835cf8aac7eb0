"""Resize in float64: along each axis, a weighted sum of the neighbours of each new position."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.array import Array
from primsplit.errors import PrimsplitError
from primsplit.ops import op
from primsplit.passes.compositions.axes import along, from_front, positions, size

ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: op.Ceil(x - 0.5),
    "round_prefer_ceil": lambda x: op.Floor(x + 0.5),
    "floor": op.Floor,
    "ceil": op.Ceil,
}


@dataclass(frozen=True)
class Interpolation:
    """How a value between positions is made."""

    mode: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: int


Positions = Callable[[Array], Array]
"""Takes new coordinates, float64, to old ones: divides by the scale."""


def resize(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    axes: Sequence[int] | None = None,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    coordinate_transformation_mode: str = "half_pixel",
    antialias: int = 0,
    keep_aspect_ratio_policy: str = "stretch",
    extrapolation_value: float = 0.0,
) -> Array:
    """Resize of float64, to scales or sizes that may be known only at run time.

    Raises PrimsplitError for antialias, for cropping (tf_crop_and_resize), and for a kept aspect ratio.
    """
    if antialias or coordinate_transformation_mode == "tf_crop_and_resize" or keep_aspect_ratio_policy != "stretch":
        raise PrimsplitError("float64 Resize has no antialias, no tf_crop_and_resize and no kept aspect ratio")
    how = Interpolation(mode, nearest_mode, cubic_coeff_a, exclude_outside)
    targets = range(x.ndim) if axes is None else [from_front(axis, x.ndim) for axis in axes]
    for i, axis in enumerate(targets):
        given, by_scale = (sizes, False) if sizes is not None else (scales, True)
        if given is None:
            raise PrimsplitError("Resize needs scales or sizes")
        number = op.Cast(op.Slice(given, np.array([i]), np.array([i + 1])), to=np.float64)
        at = old_positions(x, axis, number, coordinate_transformation_mode, by_scale=by_scale)
        x = resize_axis(x, axis, at, how)
    return x


def old_positions(x: Array, axis: int, number: Array, transformation: str, *, by_scale: bool) -> Array:
    """The old position of each new one along an axis, for its scale or its new size, a float64[1].

    A size is divided by last, so that positions that are whole come out whole.
    """
    old = op.Cast(size(x, axis), to=np.float64)
    new = op.Floor(old * number) if by_scale else number
    place = op.Cast(positions(op.Cast(new, to=np.int64)), to=np.float64)

    def back(coordinate: Array) -> Array:
        return coordinate / number if by_scale else coordinate * old / number

    return TRANSFORMATIONS[transformation](place, back, old, new)


def _align_corners(place: Array, back: Positions, old: Array, new: Array) -> Array:
    return place * (old - 1.0) / op.Max(new - 1.0, 1.0)


def _half_pixel_symmetric(place: Array, back: Positions, old: Array, new: Array) -> Array:
    return 0.5 * (old - back(new)) + (back(place + 0.5) - 0.5)


def _pytorch_half_pixel(place: Array, back: Positions, old: Array, new: Array) -> Array:
    return op.Where(new > 1.0, back(place + 0.5) - 0.5, 0.0)


TRANSFORMATIONS: dict[str, Callable[[Array, Positions, Array, Array], Array]] = {
    "half_pixel": lambda place, back, old, new: back(place + 0.5) - 0.5,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda place, back, old, new: back(place),
}


def resize_axis(x: Array, axis: int, at: Array, how: Interpolation) -> Array:
    """An array with one axis read at these positions."""
    last = op.Cast(size(x, axis), to=np.float64) - 1.0
    if how.mode == "nearest":
        nearest = op.Min(op.Max(ROUNDINGS[how.nearest_mode](at), 0.0), last)
        return op.Gather(x, op.Cast(nearest, to=np.int64), axis=axis)
    at = op.Min(op.Max(at, 0.0), last) if how.mode == "linear" else at
    floor = op.Floor(at)
    places = [floor + float(k) for k in ((0, 1) if how.mode == "linear" else (-1, 0, 1, 2))]
    weights = linear(at - floor) if how.mode == "linear" else cubic(at - floor, how.cubic_coeff_a)
    if how.exclude_outside and how.mode == "cubic":
        weights = inside_only(places, weights, last)
    terms = [
        op.Gather(x, op.Cast(op.Min(op.Max(place, 0.0), last), to=np.int64), axis=axis) * along(weight, axis, x.ndim)
        for place, weight in zip(places, weights, strict=True)
    ]
    return total(terms)


def linear(t: Array) -> list[Array]:
    """The weights of the two neighbours, t from the first."""
    return [1.0 - t, t]


def cubic(t: Array, a: float) -> list[Array]:
    """Keys's weights of the four neighbours (IEEE Trans. ASSP 29 (1981) 1153-1160), t from the second."""
    return [_cubic_far(t + 1.0, a), _cubic_near(t, a), _cubic_near(1.0 - t, a), _cubic_far(2.0 - t, a)]


def _cubic_near(d: Array, a: float) -> Array:
    return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0


def _cubic_far(d: Array, a: float) -> Array:
    return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a


def inside_only(places: Sequence[Array], weights: Sequence[Array], last: Array) -> list[Array]:
    """The weights of the neighbours that exist, made to add up to 1."""
    kept = [
        op.Where(op.And(place >= 0.0, place <= last), weight, 0.0)
        for place, weight in zip(places, weights, strict=True)
    ]
    whole = total(kept)
    return [weight / whole for weight in kept]


def total(terms: Sequence[Array]) -> Array:
    """The sum of some arrays."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Resize": resize}
