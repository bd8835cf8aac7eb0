"""Result types of gathering and of operators whose size depends on data."""

from collections.abc import Sequence

import numpy as np
import onnx.helper

from primsplit import dims
from primsplit.dims import Dim, Size
from primsplit.errors import ShapeError
from primsplit.infer.table import Site, UnknownRank, axis_of, fresh, rule, typed
from primsplit.ir import Type


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
    return typed(site.type(0).dtype, site.shape(1))


@rule("GatherND")
def gather_nd(site: Site) -> Sequence[Type]:
    """The indices' leading axes, then the axes that are not indexed."""
    shape, indices = site.shape(0), site.shape(1)
    depth = indices[-1]
    if isinstance(depth, Size):
        raise UnknownRank
    return typed(site.type(0).dtype, (*indices[:-1], *shape[site.attribute("batch_dims") + depth :]))


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
    found = fresh("unique")
    if axis is None:
        values: tuple[Dim, ...] = (found,)
        length = dims.product(shape)
    else:
        place = axis_of(axis, len(shape), site.kind)
        values = (*shape[:place], found, *shape[place + 1 :])
        length = shape[place]
    others = [Type(np.int64, (size,)) for size in (found, length, found)]
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
    code = site.attribute("dtype")
    dtype = site.type(0).dtype if code is None else onnx.helper.tensor_dtype_to_np_dtype(code)
    return typed(dtype, site.shape(0))
