"""Infer the result types of gathers and scatters, and of operators whose sizes depend on data, such as NonZero."""

from collections.abc import Sequence

import numpy as np
import onnx.helper

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import Site, UnknownRank, axis_of, fresh, rule, typed


@rule("Gather")
def gather(site: Site) -> Sequence[Type]:
    """The axis is replaced by the axes of the indices."""
    shape, indices = site.shape(0), site.shape(1)
    axis = axis_of(site.attribute("axis"), len(shape), site.kind)
    if not shape:
        raise ShapeError("Gather needs a tensor with at least one axis")
    return typed(site.type(0).dtype, (*shape[:axis], *indices, *shape[axis + 1 :]))


@rule("GatherElements")
def gather_elements(site: Site) -> Sequence[Type]:
    """The shape of the indices."""
    _check_elements(site)
    return typed(site.type(0).dtype, site.shape(1))


@rule("ScatterElements")
def scatter_elements(site: Site) -> Sequence[Type]:
    """The type of the data; there are as many updates as indices."""
    _check_elements(site)
    indices, updates = site.type(1).shape, site.type(2).shape
    if indices is not None and updates is not None and not _could_be(updates, indices):
        raise ShapeError(f"{site.kind}: updates of the shape {list(updates)} at indices of {list(indices)}")
    return (site.type(0),)


def _check_elements(site: Site) -> None:
    """Raise ShapeError for indices of other axes than the data, and for an axis that the data lack."""
    shape, indices = site.type(0).shape, site.type(1).shape
    if shape is not None:
        axis_of(site.attribute("axis"), len(shape), site.kind)
    if shape is not None and indices is not None and len(shape) != len(indices):
        raise ShapeError(f"{site.kind}: indices of {len(indices)} axes into an array of {len(shape)}")


def _could_be(shape: Shape, other: Shape) -> bool:
    return len(shape) == len(other) and all(map(dims.could_be, shape, other))


@rule("GatherND")
def gather_nd(site: Site) -> Sequence[Type]:
    """The indices' leading axes, then the axes that are not indexed."""
    shape, indices = site.shape(0), site.shape(1)
    batch = site.attribute("batch_dims")
    if not 0 <= batch < min(len(shape), len(indices)):
        raise ShapeError(
            f"{site.kind} needs more axes of both inputs than batch_dims, which is {batch}, and at least one"
        )
    depth = _depth(site, indices, len(shape) - batch)
    if isinstance(depth, Size):
        raise UnknownRank
    return typed(site.type(0).dtype, (*indices[:-1], *shape[batch + depth :]))


@rule("ScatterND")
def scatter_nd(site: Site) -> Sequence[Type]:
    """The type of the data, into which updates fit."""
    shape, indices, updates = (site.type(i).shape for i in range(3))
    if shape is not None and indices is not None and updates is not None:
        depth = _depth(site, indices, len(shape))
        if isinstance(depth, int) and not _could_be(updates, (*indices[:-1], *shape[depth:])):
            wanted = [*indices[:-1], *shape[depth:]]
            raise ShapeError(f"{site.kind} needs updates of the shape {wanted}, not {list(updates)}")
    return (site.type(0),)


def _depth(site: Site, indices: Shape, most: int) -> Dim:
    """Return how many axes are indexed. Raises ShapeError if the data have fewer."""
    depth = indices[-1] if indices else -1
    if isinstance(depth, int) and not 0 <= depth <= most:
        told = f"indices of {depth} axes" if indices else "a lone index"
        raise ShapeError(f"{site.kind}: {told} into an array of {most}")
    return depth


@rule("Compress")
def compress(site: Site) -> Sequence[Type]:
    """As many elements along the axis as the condition has True."""
    axis = site.attribute("axis")
    if axis is None:
        return typed(site.type(0).dtype, (fresh("selected"),))
    shape: list[Dim] = list(site.shape(0))
    shape[axis_of(axis, len(shape), site.kind)] = fresh("selected")
    return typed(site.type(0).dtype, tuple(shape))


@rule("NonZero")
def nonzero(site: Site) -> Sequence[Type]:
    """int64, one row an axis, one column a non-zero element."""
    return typed(np.int64, (len(site.shape(0)), fresh("nonzero")))


@rule("Unique")
def unique(site: Site) -> Sequence[Type]:
    """The values, along the axis or flat; int64 first places, places in the values, and counts."""
    shape = site.shape(0)
    axis = site.attribute("axis")
    count = fresh("unique")
    if axis is None:
        values: tuple[Dim, ...] = (count,)
        length = dims.product(shape)
    else:
        place = axis_of(axis, len(shape), site.kind)
        values = (*shape[:place], count, *shape[place + 1 :])
        length = shape[place]
    others = [Type(np.int64, (size,)) for size in (count, length, count)]
    return [Type(site.type(0).dtype, values), *others][: site.outputs]


@rule("OneHot")
def one_hot(site: Site) -> Sequence[Type]:
    """A new axis of the given depth."""
    shape = list(site.shape(0))
    known = site.sizes(1)
    depth = fresh("depth") if known is None else known[0]
    axis = axis_of(site.attribute("axis"), len(shape) + 1, site.kind)
    return typed(site.type(2).dtype, (*shape[:axis], depth, *shape[axis:]))


@rule("EyeLike")
def eye_like(site: Site) -> Sequence[Type]:
    """The input's shape; its dtype unless attribute `dtype` names another."""
    if site.type(0).rank not in {None, 2}:
        raise ShapeError(f"{site.kind} needs a matrix, not {site.type(0)}")
    code = site.attribute("dtype")
    dtype = site.type(0).dtype if code is None else onnx.helper.tensor_dtype_to_np_dtype(code)
    return typed(dtype, site.shape(0))
