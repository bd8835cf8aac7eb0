"""Record operators that move, concatenate, slice and repeat elements of values of unknown rank."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import dims
from primsplit.onnx.aligned.node import END, MEASURED, MOST, Aligned, Form, Node, along, from_front, led, of_sizes
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array


def _joined(node: Node) -> Sequence[Aligned | Array]:
    """Concatenate values of the same rank."""
    known = next((r for i in range(len(node.values)) if (r := node.given_rank(i)) is not None), None)
    if known is not None:
        return node.settled(dict.fromkeys(node.open_ones(), known))
    axis = node.attribute("axis", 0)
    sides = [node.aligned(i) for i in range(len(node.values))]
    most = max(len(x.wide.shape) for x in sides)
    wide = [Aligned(_with_axes(x.wide, most), x.rank) for x in sides]
    made = node.record(*(x.wide if axis < 0 else x.front() for x in wide))
    return [Aligned(x, sides[0].rank) if axis < 0 else from_front(x, sides[0].rank) for x in made]


def _with_axes(x: Array, count: int) -> Array:
    """Return an array with so many axes, further ones in front."""
    return op.Unsqueeze(x, list(range(count - len(x.shape)))) if len(x.shape) < count else x


def _slice(node: Node) -> list[Aligned] | None:
    """Slice along axes that count from the front, then along those that count from the back."""
    if not node.is_open_first_alone():
        return None
    count = _length(node, 1)
    axes = node.integers(3) or (list(range(count)) if node.value(3) is None and count is not None else None)
    source = node.aligned(0)
    if axes is None:
        given = node.array(3)
        last = op.Reshape(op.Shape(node.array(1)), np.zeros(0, np.int64))
        places = source.from_back(op.Range(0, last, 1) if given is None else given)
        starts, ends, steps = (_counted(node.array(i)) for i in (1, 2, 4))
        return [Aligned(x, source.rank) for x in node.record(source.wide, starts, ends, places, steps)]
    bounds = [_counted(node.array(i)) for i in (1, 2, 4)]
    for is_front in (True, False):
        chosen = [i for i, a in enumerate(axes) if (a >= 0) == is_front]
        if not chosen:
            continue
        starts, ends, steps = (None if x is None else _picked(x, chosen) for x in bounds)
        along_axes = as_array(np.array([axes[i] for i in chosen]))
        cut: Array = op.Slice(source.front() if is_front else source.wide, starts, ends, along_axes, steps)
        source = from_front(cut, source.rank) if is_front else Aligned(cut, source.rank)
    return [source]


def _counted(vector: Array | None) -> Array | None:
    """Return a vector of integers in 64 bits, as axes are; models have them in 32 too."""
    if vector is None or vector.dtype == np.int64:
        return vector
    known = vector.known()
    return op.Cast(vector, to=np.int64) if known is None else as_array(known.astype(np.int64))


def _picked(vector: Array, places: Sequence[int]) -> Array:
    known = vector.known()
    return op.Gather(vector, np.array(places), axis=0) if known is None else as_array(known[list(places)])


def _length(node: Node, position: int) -> int | None:
    """Return the length of an input that is a vector, if it is known."""
    value = node.value(position)
    shape = None if value is None else value.type.shape
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _pad(node: Node) -> Sequence[Aligned | Array] | None:
    """Pad along some axes, or all: then there is a pair of numbers for each."""
    node.settle(2, 0)
    if not node.is_open_first_alone():
        return None
    axes, count = node.integers(3), _length(node, 1)
    if axes:
        return along(node, axes[0]) if len({a < 0 for a in axes}) == 1 else None
    if axes is None:
        places = node.aligned(0).from_back(node.given(3))
        return [Aligned(x, node.rank(0)) for x in node.record(*node.arrays()[:3], places)]
    if count is not None:
        return node.settled({0: count // 2})
    source = node.aligned(0)
    most = len(source.wide.shape)
    pads = node.array(1)
    none = op.ConstantOfShape(op.Sub(np.array([most]), source.rank), value=np.zeros(1, np.int64))
    ends = (op.Slice(pads, [0], source.rank), op.Slice(pads, source.rank, [END]))
    every = op.Reshape(op.Concat(none, ends[0], none, ends[1], axis=0), [2 * most])
    return [Aligned(x, source.rank) for x in node.record(source.wide, every, *node.arrays()[2:])]


def _padded_by_attribute(node: Node) -> Sequence[Aligned | Array]:
    return node.settled({0: len(node.attribute("pads") or node.attribute("paddings")) // 2})


def _tiled(node: Node) -> Sequence[Aligned | Array]:
    count = _length(node, 1)
    if count is not None:
        return node.settled({0: count})
    source = node.aligned(0)
    repeats = led(node.given(1), source.rank, len(source.wide.shape))
    return [Aligned(x, source.rank) for x in node.record(source.wide, repeats)]


def _of_vector(node: Node) -> Sequence[Aligned | Array] | None:
    """An operator with a number for each axis of the input."""
    if node.attribute("axes") is not None:
        return _along_axes(node) if node.is_open_first_alone() else None
    counts = [n for i in range(1, len(node.values)) if (n := _length(node, i))]
    return node.settled({0: counts[-1]}) if counts and node.is_open_first_alone() else None


def _along_axes(node: Node) -> list[Aligned] | None:
    """Resize along the axes of an attribute, all of which count from one side. Modes but "nearest" have few axes."""
    axes = node.attribute("axes")
    if node.attribute("mode", "nearest") not in {"nearest", b"nearest"}:
        return None
    for position in MEASURED.get(node.kind, ()):
        node.measure(position, len(axes))
    return along(node, axes[0]) if len({a < 0 for a in axes}) == 1 else None


def _like_other(node: Node) -> list[Array] | None:
    """Inputs of one rank, which one of them has."""
    known = next((r for i in (0, 1) if (r := node.given_rank(i)) is not None), None)
    return None if known is None else node.settled(dict.fromkeys(node.open_ones(), known))


def _without_axes(node: Node) -> list[Aligned] | None:
    """Remove axes of size 1: some, or all that there are."""
    axes, source = node.integers(1), node.aligned(0)
    if axes is None:
        return None
    if not axes:
        shape = source.own_shape()
        left = op.Compress(shape, op.Not(op.Equal(shape, 1)), axis=0)
        return [of_sizes(source.wide, left, op.Shape(left), len(source.wide.shape))]
    if len({a < 0 for a in axes}) > 1:
        return None
    rank = op.Sub(source.rank, np.array([len(axes)]))
    made: Array = op.Squeeze(source.wide if axes[0] < 0 else source.front(), axes)
    return [Aligned(made, rank) if axes[0] < 0 else from_front(made, rank)]


def _with_new_axes(node: Node) -> list[Aligned] | None:
    axes, source = node.integers(1), node.aligned(0)
    if not axes or len({a < 0 for a in axes}) > 1:
        return None
    rank = op.Add(source.rank, np.array([len(axes)]))
    made: Array = op.Unsqueeze(source.wide if axes[0] < 0 else source.front(), axes)
    return [Aligned(made, rank) if axes[0] < 0 else from_front(made, rank)]


def is_stretched(node: Node) -> bool:
    """Whether an array is expanded to a shape of unknown length."""
    return node.kind == "Expand" and _length(node, 1) is None


def _expanded(node: Node) -> list[Aligned] | None:
    """Expand to a shape of any length."""
    shape, count = node.values[1], _length(node, 1)
    if shape is None:
        return None
    source, length = node.aligned(0), op.Shape(Array(shape))
    sizes = Array(shape) if count is not None else led(Array(shape), length, MOST)
    (made,) = node.record(source.wide, sizes)
    return [Aligned(made, op.Max(source.rank, length))]


def _reshaped(node: Node) -> list[Array] | None:
    """Reshape to a shape that copies no size of the input."""
    wanted = node.values[1]
    if wanted is None or wanted.sizes is None or wanted.type.rank != 1:
        return None
    if not node.attribute("allowzero", 0) and any(dims.same(d, 0) for d in wanted.sizes):
        return None
    return node.record(*node.arrays())


def _flattened(node: Node) -> list[Array]:
    """Reshape to a matrix; the axes before the given one are its rows."""
    source, axis = node.aligned(0), node.attribute("axis", 1)
    shape = source.own_shape()
    sides = (op.Slice(shape, [0], [axis]), op.Slice(shape, [axis], [END]))
    sizes = op.Concat(*(op.ReduceProd(side, [0], keepdims=1) for side in sides), axis=0)
    return [op.Reshape(source.wide, sizes, allowzero=1)]


def _turned(node: Node) -> list[Aligned] | None:
    """Reverse all axes."""
    if "perm" in node.attributes:
        return None
    source = node.aligned(0)
    turned: Array = op.Transpose(source.wide, perm=list(range(len(source.wide.shape)))[::-1])
    return [from_front(turned, source.rank)]


FORMS: dict[str, Form] = {
    "CenterCropPad": _of_vector,
    "Concat": _joined,
    "Expand": _expanded,
    "Flatten": _flattened,
    "GatherElements": _joined,
    "GridSample": _like_other,
    "Pad": _pad,
    "Reshape": _reshaped,
    "Resize": _of_vector,
    "ScatterElements": _joined,
    "Slice": _slice,
    "Squeeze": _without_axes,
    "Tile": _tiled,
    "Transpose": _turned,
    "Unsqueeze": _with_new_axes,
    f"{EARLIER}::Pad": _padded_by_attribute,
    **dict.fromkeys((f"{EARLIER}::Resize", f"{EARLIER}::Upsample"), _of_vector),
}
