"""Define CumProd: running products."""

import numpy as np

from primsplit.numpy.axes import END, slab_of
from primsplit.numpy.running_products import running_product
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full
from primsplit.tracing.operators import cast_to


@defines("CumProd")
def cumprod(x: Array, axis: Array, *, outputs: int = 1, exclusive: int = 0, reverse: int = 0) -> Array:
    """Return the product of the elements up to each one, or before it if `exclusive`; from the end if `reverse`.

    Its gradient is right at zeros: it does not divide.
    """
    known = axis.known()
    rank = len(x.shape)
    if known is not None:
        return _product(x, axis_of(int(known), rank, "CumProd"), exclusive=bool(exclusive), reverse=bool(reverse))
    made = _product(_around(x, axis), 1, exclusive=bool(exclusive), reverse=bool(reverse))
    return op.Reshape(made, op.Shape(x), allowzero=1, types=[x.type])


def _product(x: Array, axis: int, *, exclusive: bool, reverse: bool) -> Array:
    turned = flipped(x, axis) if reverse else x
    if exclusive:
        shape = list(x.shape)
        shape[axis] = 1
        turned = slab_of(op.Concat(full(shape, np.ones((), x.dtype)), turned, axis=axis), axis, x.shape[axis])
    made = running_product(turned, axis)
    return flipped(made, axis) if reverse else made


def _around(x: Array, axis: Array) -> Array:
    """Return `x` as [before, size, after] of an axis that only the run knows; a run with an axis out of range fails."""
    place = op.Gather(np.arange(len(x.shape)), op.Reshape(cast_to(axis, np.int64), [1]), axis=0)
    after = op.Add(place, 1)
    sizes = op.Shape(x)
    parts = [op.Slice(sizes, [0], place, [0]), op.Gather(sizes, place, axis=0), op.Slice(sizes, after, [END], [0])]
    products = [op.ReduceProd(part, [0], keepdims=1) for part in parts]
    return op.Reshape(x, op.Concat(*products, axis=0), allowzero=1)


def flipped(x: Array, axis: int) -> Array:
    """Reverse `x` along an axis."""
    return op.Slice(x, [-1], [-END], [axis], [-1], types=[x.type])
