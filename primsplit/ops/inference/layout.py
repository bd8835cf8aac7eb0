"""Infer the result types of operators that move elements: reshape, transpose, concatenate, slice, pad, fill."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape, Size, broadcast_shapes
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import MOST_AXES, Site, UnknownRank, axis_of, fresh, rule, typed


def rank_from(site: Site, position: int) -> int:
    """Return the rank that an input with a shape describes, which is its length."""
    (length,) = site.shape(position)
    if isinstance(length, Size):
        raise UnknownRank
    if length > MOST_AXES:
        raise ShapeError(f"{site.kind} of {length:,} axes: arrays of NumPy have at most {MOST_AXES}")
    return length


@rule("Reshape")
def reshape(site: Site) -> Sequence[Type]:
    """The requested shape; -1 is what is left, 0 the input's size there unless `allowzero`."""
    shape, dtype = site.shape(0), site.type(0).dtype
    wanted = site.sizes(1)
    if wanted is None:
        return typed(dtype, tuple(fresh("reshaped") for _ in range(rank_from(site, 1))))
    result: list[Dim] = []
    for axis, size in enumerate(wanted):
        zero = dims.same(size, 0) and not site.attribute("allowzero")
        if zero and axis >= len(shape):
            raise ShapeError(f"Reshape: size 0 at axis {axis} copies from a tensor with {len(shape)} axes")
        result.append(shape[axis] if zero else size)
    if (hole := next((i for i, s in enumerate(result) if dims.same(s, -1)), None)) is not None:
        result[hole] = left_over(shape, [s for i, s in enumerate(result) if i != hole])
    _check_elements(shape, tuple(result))
    return typed(dtype, tuple(result))


def left_over(shape: Shape, known: Sequence[Dim]) -> Dim:
    """Return the size that `-1` stands for. Raises ShapeError beside a size of 0, where it may be any."""
    rest, left = list(known), list(shape)
    for dim in known:
        if (match := next((d for d in left if dims.same(d, dim)), None)) is not None and not dims.same(dim, 0):
            left.pop(next(i for i, d in enumerate(left) if d is match))
            rest.pop(next(i for i, d in enumerate(rest) if d is dim))
    divisor = dims.product(rest)
    if dims.same(divisor, 0):
        told = ",".join(map(str, known))
        raise ShapeError(f"Reshape: -1 may be any size beside [{told}], which hold no element")
    return dims.floor_divide(dims.product(left), divisor)


def _check_elements(before: Shape, after: Shape) -> None:
    a, b = dims.product(before), dims.product(after)
    if not dims.could_be(a, b):
        raise ShapeError(f"cannot reshape [{','.join(map(str, before))}] into [{','.join(map(str, after))}]")


@rule("Transpose")
def transpose(site: Site) -> Sequence[Type]:
    """The axes in the order of `perm`, by default reversed."""
    shape = site.shape(0)
    permutation = site.attribute("perm")
    if permutation is None:
        return typed(site.type(0).dtype, shape[::-1])
    if sorted(permutation) != list(range(len(shape))):
        raise ShapeError(f"Transpose: {list(permutation)} does not permute {len(shape)} axes")
    return typed(site.type(0).dtype, tuple(shape[p] for p in permutation))


@rule("Squeeze")
def squeeze(site: Site) -> Sequence[Type]:
    """The input without these axes of size 1; if only the run knows the axes, their number gives the rank."""
    shape, axes = site.shape(0), site.integers(1)
    if axes is None:
        if site.has(1):
            return typed(site.type(0).dtype, tuple(fresh("squeezed") for _ in range(len(shape) - rank_from(site, 1))))
        if any(isinstance(d, Size) for d in shape):
            raise UnknownRank
        axes = tuple(i for i, d in enumerate(shape) if d == 1)
    gone = {axis_of(a, len(shape), site.kind) for a in axes}
    for axis in gone:
        if not dims.could_be(shape[axis], 1):
            raise ShapeError(f"cannot squeeze axis {axis} of size {shape[axis]}")
    return typed(site.type(0).dtype, tuple(d for i, d in enumerate(shape) if i not in gone))


@rule("Unsqueeze")
def unsqueeze(site: Site) -> Sequence[Type]:
    """The input with new axes of size 1; if only the run knows the axes, their number gives the rank."""
    shape, axes = site.shape(0), site.integers(1)
    if axes is None:
        return typed(site.type(0).dtype, tuple(fresh("unsqueezed") for _ in range(len(shape) + rank_from(site, 1))))
    rank = len(shape) + len(axes)
    new = {axis_of(a, rank, site.kind) for a in axes}
    if len(new) < len(axes):
        raise ShapeError(f"{site.kind}: an axis is twice in {list(axes)}")
    rest = iter(shape)
    return typed(site.type(0).dtype, tuple(1 if i in new else next(rest) for i in range(rank)))


@rule("Flatten")
def flatten(site: Site) -> Sequence[Type]:
    """Two axes."""
    shape = site.shape(0)
    axis = site.attribute("axis")
    axis = axis + len(shape) if axis < 0 else axis
    return typed(site.type(0).dtype, (dims.product(shape[:axis]), dims.product(shape[axis:])))


@rule("Expand")
def expand(site: Site) -> Sequence[Type]:
    """The input's shape broadcast with the given one."""
    wanted = site.sizes(1)
    if wanted is None:
        rank = max(len(site.shape(0)), rank_from(site, 1))
        return typed(site.type(0).dtype, tuple(fresh("expanded") for _ in range(rank)))
    return typed(site.type(0).dtype, broadcast_shapes(site.shape(0), wanted))


@rule("Concat")
def concat(site: Site) -> Sequence[Type]:
    """Sizes add along the axis, and are equal elsewhere."""
    shapes = [site.shape(i) for i in range(len(site.inputs))]
    axis = axis_of(site.attribute("axis"), len(shapes[0]), site.kind)
    result = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(result):
            raise ShapeError(f"Concat of tensors with {len(result)} and {len(shape)} axes")
        for i, (known, dim) in enumerate(zip(result, shape, strict=True)):
            if i == axis:
                result[i] = known + dim
            elif not dims.could_be(known, dim):
                raise ShapeError(f"Concat along axis {axis}: sizes {known} and {dim} differ at axis {i}")
            elif isinstance(known, Size) and not isinstance(dim, Size):
                result[i] = dim
    return typed(site.type(0).dtype, tuple(result))


@rule("Split")
def split(site: Site) -> Sequence[Type]:
    """The input cut along the axis, by the given sizes or evenly."""
    shape, dtype = list(site.shape(0)), site.type(0).dtype
    axis = axis_of(site.attribute("axis"), len(shape), site.kind)
    sizes = site.sizes(1)
    known = site.integers(1)
    whole = shape[axis]
    if known is not None and (min(known, default=0) < 0 or (isinstance(whole, int) and sum(known) != whole)):
        raise ShapeError(f"Split along an axis of {whole} into {list(known)[:9]}")
    parts = site.attribute("num_outputs") if sizes is None else len(sizes)
    if parts is not None and parts != site.outputs:
        raise ShapeError(f"Split into {parts} parts has {site.outputs} outputs")
    if sizes is None:
        if site.has(1):
            sizes = tuple(fresh("part") for _ in range(site.outputs))
        else:
            part = -(-whole // site.outputs)
            sizes = (*(part,) * (site.outputs - 1), whole - part * (site.outputs - 1))
    return [Type(dtype, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]


@rule("Slice")
def slice_(site: Site) -> Sequence[Type]:
    """Sizes by Python's slicing rules along each axis."""
    shape = list(site.shape(0))
    starts, ends = site.sizes(1), site.sizes(2)
    count = rank_from(site, 1)
    axes = site.integers(3) if site.has(3) else tuple(range(count))
    steps = site.integers(4) if site.has(4) else (1,) * count
    for i in range(count):
        if axes is None:
            return typed(site.type(0).dtype, tuple(fresh("sliced") for _ in shape))
        axis = axis_of(axes[i], len(shape), site.kind)
        if starts is None or ends is None or steps is None:
            shape[axis] = fresh("sliced")
        else:
            shape[axis] = slice_size(shape[axis], starts[i], ends[i], steps[i])
    return typed(site.type(0).dtype, tuple(shape))


def slice_size(size: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """Return how many elements `start:end:step` picks of an axis, by Python's rules.

    A start past the end, or an end before the front, needs no clamping: the count is then negative, so 0. One rule is
    not Python's: backwards, from a start before the front, ONNX takes the first element, where Python takes none.
    """
    first, last = _from_front(start, size), _from_front(end, size)
    if step > 0:
        distance = dims.minimum(last, size) - dims.maximum(first, 0)
    else:
        clamped = first if dims.at_least(first, size - 1) else dims.maximum(first, 0)
        distance = dims.minimum(clamped, size - 1) - dims.maximum(last, -1)
    return dims.maximum(0, (distance + (abs(step) - 1)) // abs(step))


def _from_front(position: Dim, size: Dim) -> Dim:
    """Return a slice bound counted from the front; of an axis of unknown size, bounds past every size are its ends."""
    if isinstance(position, Size):
        return position
    if position >= 2**31 - 1 and isinstance(size, Size):
        return size
    if position <= -(2**31) + 1 and isinstance(size, Size):
        return -1
    return position + size if position < 0 else position


@rule("Pad")
def pad(site: Site) -> Sequence[Type]:
    """Sizes grown by the pads at both ends."""
    shape = list(site.shape(0))
    pads = site.sizes(1)
    axes = site.integers(3) if site.has(3) else tuple(range(len(shape)))
    if pads is None or axes is None:
        return typed(site.type(0).dtype, tuple(fresh("padded") for _ in shape))
    for i, axis in enumerate(axes):
        place = axis_of(axis, len(shape), site.kind)
        shape[place] = shape[place] + pads[i] + pads[i + len(axes)]
    return typed(site.type(0).dtype, tuple(shape))


@rule("Tile")
def tile(site: Site) -> Sequence[Type]:
    """Each size times its count."""
    repeats = site.sizes(1)
    shape = site.shape(0)
    if repeats is None:
        return typed(site.type(0).dtype, tuple(fresh("tiled") for _ in shape))
    return typed(site.type(0).dtype, tuple(d * r for d, r in zip(shape, repeats, strict=True)))


@rule("Shape")
def shape(site: Site) -> Sequence[Type]:
    """int64, one element an axis of the window `start:end`."""
    window = range(len(site.shape(0)))[slice(site.attribute("start") or 0, site.attribute("end"))]
    return typed(np.int64, (len(window),))


@rule("Size")
def size(site: Site) -> Sequence[Type]:
    """int64 scalar."""
    return typed(np.int64, ())


@rule("ConstantOfShape")
def constant_of_shape(site: Site) -> Sequence[Type]:
    """The given shape; the dtype of attribute `value`, by default float32."""
    value = site.attribute("value")
    dtype = np.float32 if value is None else value.dtype
    wanted = site.sizes(0)
    if wanted is None:
        return typed(dtype, tuple(fresh("filled") for _ in range(rank_from(site, 0))))
    return typed(dtype, wanted)


@rule("Range")
def range_(site: Site) -> Sequence[Type]:
    """One axis of ceil((limit - start) / step) elements."""
    start, limit, step = (site.sizes(i) for i in range(3))
    if start is None or limit is None or step is None or not isinstance(step[0], int):
        numbers = [site.constant(i) for i in range(3)]
        if any(n is None for n in numbers):
            return typed(site.type(0).dtype, (fresh("range"),))
        a, b, c = (n.item() for n in numbers if n is not None)
        return typed(site.type(0).dtype, (max(0, int(np.ceil((b - a) / c))),))
    distance = limit[0] - start[0] if step[0] > 0 else start[0] - limit[0]
    return typed(site.type(0).dtype, (dims.maximum(0, -(-distance // abs(step[0]))),))


@rule("DepthToSpace", "SpaceToDepth")
def depth_space(site: Site) -> Sequence[Type]:
    """Channels traded for height and width by the square of the block size."""
    n, c, h, w = site.shape(0)
    b = site.attribute("blocksize")
    if site.kind == "DepthToSpace":
        return typed(site.type(0).dtype, (n, c // (b * b), h * b, w * b))
    return typed(site.type(0).dtype, (n, c * (b * b), h // b, w // b))


@rule("CenterCropPad")
def center_crop_pad(site: Site) -> Sequence[Type]:
    """The requested sizes along the named axes, by default all."""
    shape = list(site.shape(0))
    axes = site.attribute("axes")
    chosen = range(len(shape)) if axes is None else [axis_of(a, len(shape), site.kind) for a in axes]
    known = site.sizes(1)
    (count,) = site.type(1).shape or (None,)
    if isinstance(count, int) and count != len(chosen):
        raise ShapeError(f"{site.kind} is given {count} sizes for {len(chosen)} axes")
    for position, axis in enumerate(chosen):
        size = fresh("cropped") if known is None else known[position]
        shape[axis] = max(size, 0) if isinstance(size, int) else size
    return typed(site.type(0).dtype, tuple(shape))
