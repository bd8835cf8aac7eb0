"""Decompose Resize in float64: along each axis, a weighted sum of the neighbours of each new position.

Also in float32 if onnxruntime's kernel reads other positions than the standard; see `is_rounded`.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Const, Op, Value, dims
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.axes import along, from_front, positions, size
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import inverse_permutation
from primsplit.tracing.operators import cast_to

ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: op.Ceil(x - 0.5),
    "round_prefer_ceil": lambda x: op.Floor(x + 0.5),
    "floor": later.Floor,
    "ceil": later.Ceil,
}


@dataclass(frozen=True)
class Interpolation:
    """The attributes of Resize that determine a value between positions."""

    mode: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: int


Positions = Callable[[Array], Array]
"""Map new coordinates, float64, to old ones: divide by the scale."""


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
    """Resize to scales or sizes that may be known only at run time. Positions and weights are computed in float64.

    x: any float, float16 summed in float32; or any dtype for the nearest neighbour.
    """
    narrow = x.dtype
    x = op.Cast(x, to=np.float32) if narrow == np.float16 else x
    how = Interpolation(mode, nearest_mode, cubic_coeff_a, exclude_outside)
    is_cropping = coordinate_transformation_mode == "tf_crop_and_resize"
    targets = list(range(x.ndim)) if axes is None else [from_front(axis, x.ndim) for axis in axes]
    told = _Told(x, scales, sizes, targets, keep_aspect_ratio_policy)
    outside: list[tuple[int, Array]] = []
    for i, axis in enumerate(targets):
        if not is_cropping and told.is_kept(i):
            continue
        to = told.of(i)
        if is_cropping:
            at = _cropped(x, axis, to, *_ends(roi, i, len(targets)))
            outside.append((axis, op.Or(at < 0.0, at > op.Cast(size(x, axis), to=np.float64) - 1.0)))
        else:
            at = old_positions(x, axis, to, coordinate_transformation_mode)
        if antialias and mode != "nearest":
            x = smooth_axis(x, axis, at, to.ratio(x, axis), how)
        else:
            x = resize_axis(x, axis, at, how)
    for axis, is_out in outside:
        x = op.Where(along(is_out, axis, x.ndim), extrapolation_value, x)
    return cast_to(x, narrow)


ROUNDED = frozenset({"align_corners", "pytorch_half_pixel", "tf_crop_and_resize"})
"""The coordinate transformations that read the new length itself."""


def is_rounded(step: Op) -> bool:
    """Whether onnxruntime computes the positions of a Resize from a rounded length, or not at all.

    It does not crop along an axis that keeps its size; the standard does. A length that follows from a scale may be
    fractional: the standard divides by it as it is (`output_width` of the operator's text;
    https://github.com/onnx/onnx/issues/2462), onnxruntime by the number of elements.
    """
    said = {name: text(value) for name, value in step.attributes.items() if isinstance(value, str | bytes)}
    if said.get("coordinate_transformation_mode") not in ROUNDED:
        return False
    x, _, scales, sizes = (*step.inputs, None, None, None)[:4]
    if x is None or not (x.type.is_float or said.get("mode", "nearest") == "nearest"):
        return False
    if said["coordinate_transformation_mode"] == "tf_crop_and_resize" and _may_keep_a_cropped_axis(step):
        return True
    if sizes is not None:
        return said.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    return not (isinstance(scales, Const) and _are_whole(x, scales.numpy(), step.attributes.get("axes")))


def _may_keep_a_cropped_axis(step: Op) -> bool:
    """Whether an axis may have the scale 1 and a region of interest other than the whole of it."""
    x, roi, scales, sizes = (*step.inputs, None, None, None)[:4]
    shape = None if x is None else x.type.shape
    if shape is None:
        return False
    axes = step.attributes.get("axes") or range(len(shape))
    region = roi.numpy().reshape(2, -1).T if isinstance(roi, Const) else None
    for i, axis in enumerate(axes):
        is_whole = region is not None and tuple(region[i]) == (0, 1)
        if sizes is not None:
            new = None if sizes.sizes is None else sizes.sizes[i]
            is_kept = not (isinstance(new, int) and isinstance(shape[axis], int) and new != shape[axis])
        else:
            is_kept = not isinstance(scales, Const) or float(scales.numpy()[i]) == 1
        if is_kept and not is_whole:
            return True
    return False


def counts_from_back(step: Op) -> bool:
    """Whether axes count from the last: with a policy of the aspect ratio onnxruntime resizes none of these."""
    return any(axis < 0 for axis in step.attributes.get("axes") or ())


def _are_whole(x: Value, scales: Any, axes: Sequence[int] | None) -> bool:
    """Whether the sizes times these scales are known to be whole, as nearly as float32 holds a scale."""
    shape = x.type.shape
    if shape is None:
        return False
    lengths = [shape[axis] for axis in axes] if axes is not None else shape
    pairs = [(1 if isinstance(n, dims.Size) else n, float(scale)) for n, scale in zip(lengths, scales, strict=True)]
    return all(abs(n * scale - round(n * scale)) <= NEARLY_WHOLE * n * scale for n, scale in pairs)


def is_long(step: Op) -> bool:
    """Whether onnxruntime's kernel makes the result of a Resize longer than its shape inference says.

    The kernel multiplies a length by its scale in float32: 100 times 0.7, which is a little less, is 70 there.
    """
    x, scales = step.inputs[0], step.inputs[2] if len(step.inputs) == 3 else None
    if x is None or not isinstance(scales, Const):
        return False
    pairs = _lengths(x.type.shape, scales.numpy(), step.attributes.get("axes"))
    return any(_new_length(n, scale) != np.floor(np.float64(n) * scale) for n, scale in pairs)


def _lengths(shape: dims.Shape | None, scales: Any, axes: Sequence[int] | None) -> list[tuple[int, Any]]:
    """Return the literal lengths that are resized, each with its scale."""
    given = () if shape is None else shape if axes is None else [shape[axis] for axis in axes]
    return [(n, scale) for n, scale in zip(given, scales, strict=False) if isinstance(n, int)]


def _new_length(length: int, scale: Any) -> Any:
    return np.floor(np.float32(length) * np.float32(scale))


@fault(
    "resize_does_not_crop_kept_axis",
    kind="wrong",
    operators=("Resize",),
    says="Resize with tf_crop_and_resize does not crop an axis that keeps its size.",
)
@fault(
    "resize_divides_by_rounded_length",
    kind="wrong",
    operators=("Resize",),
    says="Resize divides by the rounded length where a scale makes the length fractional.",
)
@fault(
    "resize_length_by_float32_scale",
    kind="wrong",
    operators=("Resize",),
    says="Resize multiplies a length by its scale in float32: 100 times 0.7 is 70 there, and 69 by inference of "
    "shapes.",
)
@fault(
    "resize_policy_with_axes_from_the_end",
    kind="wrong",
    operators=("Resize",),
    says="Resize with a policy of the aspect ratio does not resize axes that are counted from the end.",
)
def resize_as_told(
    x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None, **attributes: Any
) -> Array:
    """Resize to the sizes that follow from the scales, if onnxruntime computes the same scales from them.

    Else `resize`.

    Axes that count from the last are counted from the first, and the rest is decided again.
    """
    said = {name: value for name, value in attributes.items() if value is not None}
    if any(axis < 0 for axis in said.get("axes", ())):
        return op.Resize(x, roi, scales, sizes, **{**said, "axes": [from_front(axis, x.ndim) for axis in said["axes"]]})
    known = None if scales is None or sizes is not None else scales.known()
    pairs = [] if known is None else _lengths(x.shape, known, attributes.get("axes"))
    lengths = [int(_new_length(n, scale)) for n, scale in pairs]
    is_same = all(n and np.float32(new / n) == scale for new, (n, scale) in zip(lengths, pairs, strict=True))
    if known is None or len(pairs) < len(known) or not is_same:
        return resize(x, roi, scales, sizes, **attributes)
    return op.Resize(x, roi, None, np.array(lengths), **said)


NEARLY_WHOLE = 1e-6
"""A length that is relatively so close to a whole number is that number: scales are float32."""


@dataclass(frozen=True)
class _Length:
    """The length of one axis, float64[1]: its scale or new size, and the number of elements and length that follow."""

    number: Array
    new: Array
    length: Array
    by_scale: bool

    def ratio(self, x: Array, axis: int) -> Array:
        """The scale, also if a size was given."""
        return self.number if self.by_scale else self.number / op.Cast(size(x, axis), to=np.float64)


@dataclass(frozen=True)
class _Told:
    """The requested sizes: scales, or sizes, which a policy may replace by one scale."""

    x: Array
    scales: Array | None
    sizes: Array | None
    targets: Sequence[int]
    policy: str

    def is_kept(self, position: int) -> bool:
        """Whether an axis is known to keep its size."""
        if self.sizes is not None:
            given = self.sizes.value.sizes
            return self.policy == "stretch" and given is not None and dims.same(given[position], self._old(position))
        known = None if self.scales is None else self.scales.known()
        return known is not None and float(known[position]) == 1

    def _old(self, position: int) -> dims.Dim:
        old: dims.Dim = self.x.shape[self.targets[position]]
        return old

    def of(self, position: int) -> _Length:
        """Return the length of one axis. The number of elements is rounded as in onnxruntime, in float32."""
        axis = self.targets[position]
        old = op.Cast(size(self.x, axis), to=np.float64)
        given = self.scales if self.sizes is None else self.sizes
        if given is None:
            raise PrimsplitError("Resize needs scales or sizes")
        if self.sizes is not None and self.policy != "stretch":
            ratios = [self._number(given, i) / op.Cast(size(self.x, a), to=np.float64) for i, a in self._places()]
            pick = op.Min if self.policy == "not_larger" else op.Max
            scale = pick(*ratios)
            return _Length(scale, op.Floor(old * scale + 0.5), _nearly_whole(old * scale), by_scale=True)
        number = self._number(given, position)
        if self.sizes is not None:
            return _Length(number, number, number, by_scale=False)
        narrow = op.Cast(old, to=np.float32) * op.Cast(number, to=np.float32)
        return _Length(number, op.Cast(op.Floor(narrow), to=np.float64), _nearly_whole(old * number), by_scale=True)

    def _places(self) -> list[tuple[int, int]]:
        return list(enumerate(self.targets))

    @staticmethod
    def _number(given: Array, position: int) -> Array:
        return op.Cast(op.Slice(given, np.array([position]), np.array([position + 1])), to=np.float64)


def _nearly_whole(length: Array) -> Array:
    """Return a length, or the whole number that it is but for the rounding of its scale to float32."""
    whole = op.Floor(length + 0.5)
    return op.Where(op.Abs(length - whole) <= length * NEARLY_WHOLE, whole, length)


def _ends(roi: Array | None, position: int, count: int) -> list[Array]:
    """Return where the region of interest starts and ends along an axis, relative to the image, float64[1]."""
    if roi is None:
        raise PrimsplitError("Resize needs a region of interest to crop")
    places = (position, position + count)
    return [op.Cast(op.Slice(roi, np.array([k]), np.array([k + 1])), to=np.float64) for k in places]


def _cropped(x: Array, axis: int, to: _Length, start: Array, end: Array) -> Array:
    """Return the old positions of the new ones of a crop, which may lie outside of the image."""
    last = op.Cast(size(x, axis), to=np.float64) - 1.0
    place = op.Cast(positions(op.Cast(to.new, to=np.int64)), to=np.float64)
    several = start * last + place * (end - start) * last / _steps(to.length)
    return op.Where(to.length > 1.0, several, (start + end) * last * 0.5)


def _steps(length: Array) -> Array:
    """Return the length minus 1, by which the old one minus 1 is divided; 1 if there is at most one position."""
    return op.Where(length > 1.0, length - 1.0, 1.0)


def smooth_axis(x: Array, axis: int, at: Array, ratio: Array, how: Interpolation) -> Array:
    """Return an array with one axis averaged around these positions, by the kernel stretched by the scale.

    It is a product with all weights: beyond the border are the border's elements, or none.
    """
    scale = op.Min(ratio, 1.0)
    reach = op.Ceil((1.0 if how.mode == "linear" else 2.0) / scale) + 1.0
    old = op.Cast(size(x, axis), to=np.float64)
    place = op.Cast(positions(op.Cast(old + reach * 2.0, to=np.int64)), to=np.float64) - reach
    distance = op.Abs((op.Unsqueeze(place, np.array([0])) - op.Unsqueeze(at, np.array([1]))) * scale)
    if how.mode == "linear":
        weights = op.Max(1.0 - distance, 0.0)
    else:
        a = how.cubic_coeff_a
        near = op.Where(distance <= 1.0, _cubic_near(distance, a), _cubic_far(distance, a))
        weights = op.Where(distance < 2.0, near, 0.0)
    last = old - 1.0
    if how.exclude_outside:
        weights = op.Where(op.And(place >= 0.0, place <= last), weights, 0.0)
    weights = weights / op.ReduceSum(weights, np.array([1]), keepdims=1)
    wide = op.Gather(x, op.Cast(op.Max(op.Min(place, last), 0.0), to=np.int64), axis=axis)
    order = [*(i for i in range(x.ndim) if i != axis), axis]
    rows = op.MatMul(op.Transpose(wide, perm=order), op.Transpose(op.Cast(weights, to=x.dtype), perm=[1, 0]))
    return op.Transpose(rows, perm=inverse_permutation(order))


def old_positions(x: Array, axis: int, to: _Length, transformation: str) -> Array:
    """Return the old position of each new one along an axis.

    Division by a size comes last, so that positions that are whole come out whole.
    """
    old = op.Cast(size(x, axis), to=np.float64)
    place = op.Cast(positions(op.Cast(to.new, to=np.int64)), to=np.float64)

    def back(coordinate: Array) -> Array:
        return coordinate / to.number if to.by_scale else coordinate * old / to.number

    return TRANSFORMATIONS[transformation](place, back, old, to)


def _align_corners(place: Array, back: Positions, old: Array, to: _Length) -> Array:
    return place * (old - 1.0) / _steps(to.length)


def _half_pixel_symmetric(place: Array, back: Positions, old: Array, to: _Length) -> Array:
    return 0.5 * (old - back(to.new)) + (back(place + 0.5) - 0.5)


def _pytorch_half_pixel(place: Array, back: Positions, old: Array, to: _Length) -> Array:
    return op.Where(to.length > 1.0, back(place + 0.5) - 0.5, 0.0)


TRANSFORMATIONS: dict[str, Callable[[Array, Positions, Array, _Length], Array]] = {
    "half_pixel": lambda place, back, old, to: back(place + 0.5) - 0.5,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda place, back, old, to: back(place),
    "tf_half_pixel_for_nn": lambda place, back, old, to: back(place + 0.5),
}


def resize_axis(x: Array, axis: int, at: Array, how: Interpolation) -> Array:
    """Return an array with one axis read at these positions."""
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
        op.Gather(x, op.Cast(op.Min(op.Max(place, 0.0), last), to=np.int64), axis=axis)
        * along(op.Cast(weight, to=x.dtype), axis, x.ndim)
        for place, weight in zip(places, weights, strict=True)
    ]
    return functools.reduce(operator.add, terms)


def linear(t: Array) -> list[Array]:
    """Return the weights of the two neighbours, t from the first."""
    return [1.0 - t, t]


def cubic(t: Array, a: float) -> list[Array]:
    """Return Keys's weights of the four neighbours (IEEE Trans. ASSP 29 (1981) 1153-1160), t from the second."""
    return [_cubic_far(t + 1.0, a), _cubic_near(t, a), _cubic_near(1.0 - t, a), _cubic_far(2.0 - t, a)]


def _cubic_near(d: Array, a: float) -> Array:
    return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0


def _cubic_far(d: Array, a: float) -> Array:
    return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a


def inside_only(places: Sequence[Array], weights: Sequence[Array], last: Array) -> list[Array]:
    """Return the weights of the neighbours that exist, scaled to add up to 1."""
    kept = [
        op.Where(op.And(place >= 0.0, place <= last), weight, 0.0)
        for place, weight in zip(places, weights, strict=True)
    ]
    whole = functools.reduce(operator.add, kept)
    return [weight / whole for weight in kept]


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Resize": resize}
SPELT: dict[str, Callable[..., Any]] = {"Resize": resize_as_told}
