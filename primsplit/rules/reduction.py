"""Derivative rules of reductions along axes."""

import numpy as np

from primsplit.array import Array
from primsplit.broadcasting import expand_to, reshape_to
from primsplit.dims import Shape
from primsplit.ops import op
from primsplit.rules.table import Pullback, rrule


def kept_shape(x: Array, axes: Array | None, noop: int) -> Shape | None:
    """The shape that a reduction has with keepdims; None where the axes are known only at run time."""
    known = () if axes is None else axes.known()
    if known is None:
        return None
    gone = {int(a) % max(len(x.shape), 1) for a in np.asarray(known).reshape(-1)}
    if not gone:
        return x.shape if noop else (1,) * len(x.shape)
    return tuple(1 if i in gone else d for i, d in enumerate(x.shape))


@rrule("ReduceSum")
def reduce_sum(
    x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
) -> tuple[Array, Pullback]:
    """Every element of a sum gets its cotangent."""
    z = op.ReduceSum(x, axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)

    def pullback(dz: Array) -> list[Array | None]:
        kept = kept_shape(x, axes, noop_with_empty_axes)
        if kept is None:
            wide = dz if keepdims else op.Unsqueeze(dz, axes)
        else:
            wide = dz if keepdims else reshape_to(dz, kept)
        return [expand_to(wide, x.shape), None][: 1 if axes is None else 2]

    return z, pullback
