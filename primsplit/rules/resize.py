"""The derivative rule of Resize: a product with an interpolation matrix along each axis, so its pullback is one too.

The matrix of an axis is the operator applied to the identity matrix, which is right for every mode, coordinate
transformation and size, and rounds positions as the operator itself does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import MissingRule
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rules.indexing import part, scatter_along
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to, size_scalar, transpose


@dataclass(frozen=True, slots=True)
class Resizing:
    """One use of Resize: the input's shape, the axes that it may resize, and the operator's inputs for them."""

    x: Array
    z: Array
    roi: Array | None
    scales: Array | None
    sizes: Array | None
    axes: list[int]
    attributes: Mapping[str, Any]

    @property
    def is_cropping(self) -> bool:
        """Whether positions are relative to a region of interest."""
        return text(self.attributes["coordinate_transformation_mode"]) == "tf_crop_and_resize"

    @property
    def keeps_aspect(self) -> bool:
        """Whether the scale of an axis depends on the sizes of all."""
        policy = text(self.attributes["keep_aspect_ratio_policy"])
        return self.sizes is not None and policy != "stretch"

    def is_identity(self, position: int) -> bool:
        """Whether an axis is known to be left as it is."""
        if self.is_cropping or self.keeps_aspect:
            return False
        axis = self.axes[position]
        if self.scales is not None and self.sizes is None:
            known = self.scales.known()
            return known is not None and float(known[position]) == 1
        return dims.same(self.x.shape[axis], self.z.shape[axis])

    def may_be_copied(self, position: int) -> bool:
        """Whether a scale other than 1 may keep an axis's size.

        onnxruntime copies an array that keeps its whole shape, whatever the scales are; otherwise it moves such an axis
        too.
        """
        if self.is_cropping or self.scales is None or self.sizes is not None:
            return False
        known, axis = self.scales.known(), self.axes[position]
        is_near = known is None or 1 < float(known[position]) < 2
        return is_near and dims.could_be(self.x.shape[axis], self.z.shape[axis])

    def along(self, position: int, basis: Array) -> Array:
        """Apply the operator to the first axis of `basis` [old, ...] alone; pixels outside of the image are zero."""
        if self.scales is not None and self.may_be_copied(position):
            return self._beside_another(position, basis, self.scales)
        count = len(self.axes)
        roi = self.roi if self.is_cropping else None
        if roi is not None:
            roi = op.Concat(part(roi, position), part(roi, position + count), axis=0)
        scales = None if self.sizes is not None or self.scales is None else part(self.scales, position)
        sizes = None if self.sizes is None else part(self.sizes, position)
        new = self.z.shape[self.axes[position]]
        declared = Type(basis.dtype, (new, *basis.shape[1:]))
        return op.Resize(basis, roi, scales, sizes, types=[declared], **{**self.attributes, "axes": [0]})

    def _beside_another(self, position: int, basis: Array, scales: Array) -> Array:
        """Do so beside an axis of one, which is doubled if this use changes the size of any axis.

        That keeps `basis` from being copied there. Of four axes, onnxruntime interpolates along the last two.
        """
        is_same = op.Cast(op.Equal(op.Shape(self.x), op.Shape(self.z)), to=np.float32)
        doubled = op.Sub(np.float32(2), op.ReduceMin(is_same, [0], keepdims=1))
        old, new = (a.shape[self.axes[position]] for a in (self.x, self.z))
        columns = dims.product(basis.shape[1:])
        image = op.Transpose(reshape_to(basis, (1, old, columns, 1)), perm=[0, 2, 1, 3])
        told = op.Concat(part(scales, position), doubled, axis=0)
        resized = op.Resize(image, None, told, None, **{**self.attributes, "axes": [2, 3]})
        found = reshape_to(op.Gather(resized, 0, axis=3), (columns, new))
        return reshape_to(op.Transpose(found, perm=[1, 0]), (new, *basis.shape[1:]))


@rrule("Resize")
def resize(
    x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None, **attributes: Any
) -> tuple[Array, Pullback]:
    """Along each axis the transposed product; nearest neighbours return their cotangents by adding up."""
    z = op.Resize(x, roi, scales, sizes, **attributes)
    rank = len(x.shape)
    given = attributes.get("axes")
    axes = list(range(rank)) if given is None else [axis % rank for axis in given]
    made = Resizing(x, z, roi, scales, sizes, axes, {**attributes, "extrapolation_value": 0.0})
    given_inputs = max(i for i, value in enumerate((x, roi, scales, sizes)) if value is not None)

    def pullback(dz: Array) -> list[Array | None]:
        for position in reversed(range(len(axes))):
            if not made.is_identity(position):
                dz = _back(made, position, dz)
        return [dz, *[None] * given_inputs]

    return z, pullback


def _back(made: Resizing, position: int, dz: Array) -> Array:
    """Return the cotangent before one axis was resized."""
    axis = made.axes[position]
    old = made.x.shape[axis]
    if text(made.attributes["mode"]) != "nearest" or made.is_cropping or made.keeps_aspect:
        matrix = _matrix_of_all if made.keeps_aspect else _matrix
        return multiply_along(dz, matrix(made, position, dz.dtype), axis)
    times = _repeats(made, position)
    if times is not None:
        split = [*dz.shape[:axis], old, times, *dz.shape[axis + 1 :]]
        return op.ReduceSum(reshape_to(dz, split), [axis + 1], keepdims=0)
    exact = dz.dtype if dz.dtype == np.float64 else np.dtype(np.float32)
    places = made.along(position, op.Cast(_counting(old), to=exact))
    return scatter_along(dz, (*dz.shape[:axis], old, *dz.shape[axis + 1 :]), op.Cast(places, to=np.int64), axis)


def _repeats(made: Resizing, position: int) -> int | None:
    """Return how often each element is repeated, if that is all that happens: place i reads i // times.

    At whole scales, half-pixel positions keep at least 1 / (2 times) from the middle between neighbours.
    """
    axis = made.axes[position]
    old, new = made.x.shape[axis], made.z.shape[axis]
    if made.scales is not None and made.sizes is None:
        known = made.scales.known()
        scale = 0.5 if known is None else float(known[position])
        times = int(scale) if scale == int(scale) else 0
    else:
        times = new // old if isinstance(old, int) and isinstance(new, int) and old and new % old == 0 else 0
    transformation = text(made.attributes["coordinate_transformation_mode"])
    rounding = text(made.attributes["nearest_mode"])
    is_half = transformation in {"half_pixel", "half_pixel_symmetric"} and rounding.startswith("round")
    is_even = is_half or (transformation, rounding) == ("asymmetric", "floor")
    return times if times and is_even and dims.same(new, old * times) else None


def _counting(size: Dim) -> Array:
    return op.Range(0, size_scalar(size), 1, types=[Type(np.int64, (size,))])


LONGEST = 2**14
"""The longest axis that is interpolated by a matrix, which then takes 1 GB."""


def _identity(size: Dim, dtype: np.dtype[Any]) -> Array:
    """Return the identity matrix of a size that may be known only at run time.

    Raises MissingRule for one that is too long.
    """
    if isinstance(size, int) and size > LONGEST:
        raise MissingRule(f"Resize has no derivative where an axis of {size:,} elements is interpolated")
    counted = _counting(size)
    return op.Cast(op.Equal(op.Unsqueeze(counted, [1]), op.Unsqueeze(counted, [0])), to=dtype)


def _matrix(made: Resizing, position: int, dtype: np.dtype[Any]) -> Array:
    """Return the matrix that multiplies one axis, [new, old]."""
    return made.along(position, _identity(made.x.shape[made.axes[position]], dtype))


def _matrix_of_all(made: Resizing, position: int, dtype: np.dtype[Any]) -> Array:
    """Return the matrix of one axis whose scale depends on the others: these are constant, one element of each is kept.

    They follow two axes that are not resized, which is the rank that onnxruntime interpolates at.
    """
    count = len(made.axes)
    old = [made.x.shape[axis] for axis in made.axes]
    new = [made.z.shape[axis] for axis in made.axes]
    column = [old[position] if i == position else 1 for i in range(count)]
    identity = reshape_to(_identity(old[position], dtype), (1, old[position], *column))
    basis = expand_to(identity, (1, old[position], *old))
    declared = Type(dtype, (1, old[position], *new))
    options = {**made.attributes, "axes": list(range(2, count + 2))}
    resized = op.Resize(basis, _region_along(made, position), None, made.sizes, types=[declared], **options)
    others = [i + 2 for i in range(count) if i != position]
    first = op.Slice(resized, [0] * len(others), [1] * len(others), others) if others else resized
    return op.Transpose(reshape_to(first, (old[position], new[position])), perm=[1, 0])


def _region_along(made: Resizing, position: int) -> Array | None:
    """Return the region of interest along one axis, and the whole of the others; None if nothing is cropped."""
    if made.roi is None or not made.is_cropping:
        return None
    count = len(made.axes)
    ends: list[Any] = [np.full(1, end, made.roi.dtype) for end in (0, 1) for _ in range(count)]
    ends[position] = part(made.roi, position)
    ends[position + count] = part(made.roi, position + count)
    found: Array = op.Concat(*ends, axis=0)
    return found


def multiply_along(dz: Array, matrix: Array, axis: int) -> Array:
    """Multiply each vector along an axis by a matrix from the right.

    onnxruntime multiplies a matrix with a stack of matrices from the left only if the stack is not empty.
    """
    rank = len(dz.shape)
    if axis == rank - 2 and all(dims.at_least(d, 1) for d in dz.shape[:-2]):
        return op.MatMul(op.Transpose(matrix, perm=[1, 0]), dz)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    if rank == 1:
        return op.Squeeze(op.MatMul(op.Unsqueeze(dz, [0]), matrix), [0])
    return transpose(op.MatMul(transpose(dz, order), matrix), order)
