"""Values of unknown rank in operators that pick and put elements."""

from collections.abc import Sequence

import numpy as np

from primsplit.array import Array
from primsplit.onnxio.aligned.node import END, Aligned, Form, Node, along, closed, from_front, of_sizes
from primsplit.ops import op


def _gathered(node: Node) -> list[Aligned]:
    """The axis of the data is replaced by the axes of the indices, which are laid in a row."""
    axis, data, indices = node.attribute("axis", 0), node.aligned(0), node.aligned(1)
    shape = data.own_shape()
    behind = op.Slice(shape, [axis + 1], [END]) if axis != -1 else None
    sides = [op.Slice(shape, [0], [axis]), indices.own_shape(), *([] if behind is None else [behind])]
    (made,) = node.record(data.wide if axis < 0 else data.front(), op.Reshape(indices.wide, [-1]))
    rank = op.Add(data.rank, op.Sub(indices.rank, np.array([1])))
    most = len(data.wide.shape) + len(indices.wide.shape) - 1
    return [of_sizes(made, op.Concat(*sides, axis=0), rank, most)]


def _depth(node: Node) -> int | None:
    """How many axes a row of the indices tells the place in, where that is known."""
    value = node.value(1)
    shape = None if value is None else value.type.shape
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def _gathered_slices(node: Node) -> list[Aligned] | None:
    depth, batch = _depth(node), node.attribute("batch_dims", 0)
    if depth is None:
        return None
    data, count = node.aligned(0), node.given_rank(1) or 0
    (made,) = node.record(data.front(), node.array(1))
    return [from_front(made, op.Add(data.rank, np.array([count - 1 - batch - depth])))]


def _scattered_slices(node: Node) -> Sequence[Aligned | Array] | None:
    """The updates have the axes of the indices but the last, then those of the data that no index tells."""
    depth = _depth(node)
    if depth is None:
        return None
    known, count = node.given_rank(2), node.given_rank(1) or 0
    if known is not None:
        return node.settled({0: known - count + 1 + depth})
    if node.given_rank(0) is not None:
        return node.settled({2: (node.given_rank(0) or 0) + count - 1 - depth})
    data, indices = node.aligned(0), node.array(1)
    front, rows = data.front(), op.Shape(indices, end=-1)
    sizes = op.Concat(rows, op.Shape(front, start=depth), axis=0)
    (made,) = node.record(front, indices, op.Reshape(node.array(2), sizes, allowzero=1))
    return [from_front(made, data.rank)]


def _compressed(node: Node) -> Sequence[Aligned | Array] | None:
    """Along an axis, or of all elements in a row."""
    axis = node.attribute("axis")
    if axis is not None:
        return along(node, axis) if node.is_open_first_alone() else None
    return [*node.record(op.Reshape(node.array(0), [-1]), node.array(1))]


def _unique(node: Node) -> list[Aligned | Array]:
    """Along an axis, or of all elements in a row; the places are vectors."""
    axis = node.attribute("axis")
    if axis is None:
        return [*node.record(op.Reshape(node.array(0), [-1]))]
    source = node.aligned(0)
    made = node.record(source.wide if axis < 0 else source.front())
    return [Aligned(made[0], source.rank) if axis < 0 else from_front(made[0], source.rank), *made[1:]]


def _one_hot(node: Node) -> list[Aligned] | None:
    axis, indices = node.attribute("axis", -1), node.aligned(0)
    node.stretch(1, 1)
    if not node.is_open_first_alone():
        return None
    rank = op.Add(indices.rank, np.array([1]))
    (made,) = node.record(indices.wide if axis < 0 else indices.front(), *node.rest())
    return [Aligned(made, rank) if axis < 0 else from_front(made, rank)]


def _written_rows(node: Node) -> Sequence[Aligned | Array] | None:
    """A cache and what is written to it, which has as many axes; the batch is the first of them."""
    known = node.given_rank(0) or node.given_rank(1)
    if known is not None:
        return node.settled(dict.fromkeys(node.open_ones(), known))
    cache, update, axis = node.aligned(0), node.aligned(1), node.attribute("axis", -2)
    before = 1 if axis < 0 else axis + 1
    sides = [x.opened(before, len(x.wide.shape)) for x in (cache, update)]
    return [closed(x, before, cache.rank) for x in node.record(*sides, *node.arrays()[2:])]


FORMS: dict[str, Form] = {
    "Compress": _compressed,
    "Gather": _gathered,
    "GatherND": _gathered_slices,
    "OneHot": _one_hot,
    "ScatterND": _scattered_slices,
    "TensorScatter": _written_rows,
    "Unique": _unique,
}
