"""Derivative rules of poolings over whole channels, and of operators that put windows back: MaxUnpool, Col2Im."""

import itertools
from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size, product
from primsplit.numpy.axes import size_as
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.rewrites.decompositions.folding import folded
from primsplit.rewrites.decompositions.pooling import unpooled_shape
from primsplit.rules.pooling import over_norm, times_power
from primsplit.rules.table import Pullback, rrule
from primsplit.rules.windows import padded, tap, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, full, reshape_to, size_scalar


def _places(x: Array) -> list[int]:
    return list(range(2, len(x.shape)))


@rrule("GlobalAveragePool")
def global_average_pool(x: Array) -> tuple[Array, Pullback]:
    """Each element gets an even share. ReduceMean is the same, and faster."""
    y = op.ReduceMean(x, _places(x), keepdims=1)
    count = product(x.shape[2:])

    def pullback(dy: Array) -> tuple[Array]:
        if isinstance(count, Size):
            return (expand_to(op.Div(dy, size_as(count, dy.dtype)), x.shape),)
        share = np.asarray(1 / max(count, 1), dy.dtype)
        return (op.Mul(dy, full((1, 1, *x.shape[2:]), share), types=[x.type]),)

    return y, pullback


@rrule("GlobalMaxPool")
def global_max_pool(x: Array) -> tuple[Array, Pullback]:
    """The cotangent goes to the first maximum in row-major order, as in PyTorch."""
    y = op.GlobalMaxPool(x)

    def pullback(dy: Array) -> tuple[Array]:
        count = product(x.shape[2:])
        lead = x.shape[:2]
        best = op.ArgMax(reshape_to(x, (*lead, count)), axis=2, keepdims=1)
        is_first = op.Cast(op.Equal(op.Range(0, size_scalar(count), 1), best), to=dy.dtype)
        return (reshape_to(op.Mul(reshape_to(dy, (*lead, 1)), is_first), x.shape),)

    return y, pullback


@rrule("GlobalLpPool")
def global_lp_pool(x: Array, *, p: int) -> tuple[Array, Pullback]:
    """With y = (sum |x|^p)^(1/p), dx = sign(x) |x|^(p-1) y^(1-p) dy; 0 where y is 0."""
    y = op.GlobalLpPool(x, p=p)

    def pullback(dy: Array) -> tuple[Array]:
        return (times_power(over_norm(dy, y, p), x, p - 1),)

    return y, pullback


@rrule("MaxUnpool")
def max_unpool(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> tuple[Array, Pullback]:
    """Each element gets the cotangent of the place that it was put at.

    With output_shape, that place is in the corner of the result that the indices count over.
    """
    z = op.MaxUnpool(x, indices, output_shape, kernel_shape=kernel_shape, strides=strides, pads=pads)

    def pullback(dz: Array) -> tuple[Array | None, ...]:
        if output_shape is None:
            return op.Gather(reshape_to(dz, (product(dz.shape),)), indices, types=[x.type]), None
        counted = unpooled_shape(x.shape, kernel_shape, strides=strides, pads=pads)
        whole = Array(tracing.size_vector(counted))
        more = op.Sub(whole, op.Shape(dz))
        corner = op.Pad(dz, op.Concat(np.zeros(len(counted), np.int64), more, axis=0), types=[Type(dz.dtype, counted)])
        return op.Gather(reshape_to(corner, (product(counted),)), indices, types=[x.type]), None, None

    return z, pullback


@rrule("Col2Im")
def col2im(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> tuple[Array, Pullback]:
    """The windows of the cotangent, unfolded: [N, C, image] gives [N, C * taps, windows].

    A block that only the run knows is read by place.
    """
    z = op.Col2Im(x, image_shape, block_shape, strides=strides, dilations=dilations, pads=pads)
    block = block_shape.value.sizes

    def pullback(dz: Array) -> tuple[Array, None, None]:
        sizes: tuple[Dim, ...] = dz.shape[2:]
        if block is None or any(isinstance(k, Size) for k in block):
            found = folded(image_shape, block_shape, strides=strides, dilations=dilations, pads=pads)
            image = padded(dz, found.before, found.after)
            rows = op.Reshape(image, [0, 0, -1], types=[Type(dz.dtype, (*dz.shape[:2], fresh("pixels")))])
            return op.Reshape(op.Gather(rows, found.places, axis=2), op.Shape(x), types=[x.type]), None, None
        windows = windows_over(sizes, block, strides=strides, dilations=dilations, pads=pads)
        held, over = padded(dz, windows.before, windows.after), windows.whole
        flat = (*dz.shape[:2], 1, product(over.counts))
        places = itertools.product(*(over.taps(axis) for axis in range(over.rank)))
        read = [reshape_to(tap(held, over, list(enumerate(place))), flat) for place in places]
        return reshape_to(op.Concat(*read, axis=2), x.shape), None, None

    return z, pullback
