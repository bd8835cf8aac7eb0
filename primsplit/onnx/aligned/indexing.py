"""Record operators that gather and scatter elements of values of unknown rank."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type
from primsplit.onnx.aligned.node import END, MOST, Aligned, Form, Node, along, closed, from_front, of_sizes, trailed
from primsplit.ops import op
from primsplit.tracing.array import Array


def _gathered(node: Node) -> list[Aligned]:
    """Replace the axis of the data by the axes of the indices, which are flattened."""
    axis, data, indices = node.attribute("axis", 0), node.aligned(0), node.aligned(1)
    shape = data.own_shape()
    behind = op.Slice(shape, [axis + 1], [END]) if axis != -1 else None
    sides = [op.Slice(shape, [0], [axis]), indices.own_shape(), *([] if behind is None else [behind])]
    (made,) = node.record(data.wide if axis < 0 else data.front(), op.Reshape(indices.wide, [-1]))
    rank = op.Add(data.rank, op.Sub(indices.rank, np.array([1])))
    most = len(data.wide.shape) + len(indices.wide.shape) - 1
    return [of_sizes(made, op.Concat(*sides, axis=0), rank, most)]


def _depth(node: Node) -> int | None:
    """Return how many axes a row of the indices indexes, if that is known."""
    value = node.value(1)
    shape = None if value is None else value.type.shape
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def is_deep(node: Node) -> bool:
    """Whether only the run knows the length of the rows of indices."""
    return node.kind in {"GatherND", "ScatterND"} and _depth(node) is None


def _gathered_slices(node: Node) -> list[Aligned]:
    depth, batch = _depth(node), node.attribute("batch_dims", 0)
    if depth is None:
        return _gathered_by_rows(node, batch)
    data, count = node.aligned(0), node.given_rank(1) or 0
    (made,) = node.record(data.front(), node.array(1))
    return [from_front(made, op.Add(data.rank, np.array([count - 1 - batch - depth])))]


def _gathered_by_rows(node: Node, batch: int) -> list[Aligned]:
    """Gather from data by rows of any rank: see `_by_rows`.

    After the batch are the rows, then axes without an index.
    """
    data, indices = node.aligned(0), node.aligned(1)
    table, rows, behind = _by_rows(data, indices, batch)
    (made,) = node.record(table, rows)
    sizes = op.Concat(op.Slice(indices.own_shape(), [0], [-1]), behind, axis=0)
    return [of_sizes(made, sizes, op.Shape(sizes), len(data.wide.shape) + len(indices.wide.shape) - 1)]


def _by_rows(data: Aligned, indices: Aligned, batch: int) -> tuple[Array, Array, Array]:
    """Return data with `MOST` axes that rows of as many indices index, and one axis for those without an index.

    The rows are in one axis behind the batch, and have indices 0 for axes of size 1 behind those that they index. The
    third result is a vector of the sizes of axes without an index.
    """
    sizes, places = data.own_shape(), indices.own_shape()
    depth = op.Slice(places, [-1], [END])
    end = op.Add(depth, np.array([batch]))
    behind = op.Slice(sizes, end, [END])
    rest = op.ReduceProd(behind, [0], keepdims=1)
    table = op.Concat(trailed(op.Slice(sizes, [0], end), end, MOST), rest, axis=0)
    each, missing = MOST - batch, op.Sub(np.array([MOST]), end)
    lead = op.Slice(places, [0], [batch])
    count = op.ReduceProd(op.Slice(places, [batch], [-1]), [0], keepdims=1)
    shape = op.Reshape(op.Concat(lead, count, depth, axis=0), [batch + 2])
    rows = op.Reshape(indices.wide, shape, allowzero=1)
    pads = op.Concat(np.zeros(2 * batch + 3, np.int64), missing, axis=0)
    types = [Type(rows.dtype, (*rows.shape[:-1], each))]
    return op.Reshape(data.wide, table, allowzero=1), op.Pad(rows, pads, types=types), behind


def _scattered_slices(node: Node) -> Sequence[Aligned | Array]:
    """The updates have the axes of the indices but the last, then those of the data without an index."""
    depth = _depth(node)
    if depth is None:
        return _scattered_by_rows(node)
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


def _scattered_by_rows(node: Node) -> list[Aligned | Array]:
    """Scatter data, rows and updates of any rank: see `_by_rows`."""
    data = node.aligned(0)
    table, rows, behind = _by_rows(data, node.aligned(1), 0)
    sizes = op.Concat(op.Shape(rows, end=1), op.ReduceProd(behind, [0], keepdims=1), axis=0)
    (made,) = node.record(table, rows, op.Reshape(node.array(2), sizes, allowzero=1))
    if node.given_rank(0) is not None:
        return [op.Reshape(made, op.Shape(data.wide), allowzero=1)]
    return [of_sizes(made, data.own_shape(), data.rank, len(data.wide.shape))]


def _compressed(node: Node) -> Sequence[Aligned | Array] | None:
    """Compress along an axis, or all elements flattened."""
    axis = node.attribute("axis")
    if axis is not None:
        return along(node, axis) if node.is_open_first_alone() else None
    return [*node.record(op.Reshape(node.array(0), [-1]), node.array(1))]


def _unique(node: Node) -> list[Aligned | Array]:
    """Find unique elements along an axis, or of all elements flattened; the positions are vectors."""
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
    """A cache and its update have the same rank; the batch is the first axis."""
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
