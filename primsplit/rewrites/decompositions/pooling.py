"""Decompose poolings in float64 to sums over strided slices, axis after axis."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir.dims import Dim, Shape, maximum, product, same
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.inference.windows import window_count
from primsplit.rewrites.decompositions.axes import vector
from primsplit.rewrites.decompositions.windows import Windows, padded, pooled, windows_over
from primsplit.tracing.array import Array


def average_pool(
    x: Array,
    *,
    kernel_shape: Sequence[int],
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    **placement: Any,
) -> Array:
    """Return the sum of each window over its number of elements; with count_include_pad, padding counts as elements.

    placement: strides, dilations, pads and auto_pad, as in ONNX.
    """
    sizes = x.shape[2:]
    windows = windows_over(sizes, kernel_shape, **placement)
    extra = overhang(windows, sizes) if ceil_mode else [0] * len(sizes)
    ones = op.Expand(np.ones((), x.dtype), [1, 1, *sizes])
    counted = padded(ones, windows.before, windows.after, float(count_include_pad))
    return op.Div(window_sum(x, windows, extra), pooled(padded(counted, [0] * len(sizes), extra), windows, op.Add))


def lp_pool(x: Array, *, kernel_shape: Sequence[int], p: int = 2, ceil_mode: int = 0, **placement: Any) -> Array:
    """The p-norm of each window."""
    sizes = x.shape[2:]
    windows = windows_over(sizes, kernel_shape, **placement)
    extra = overhang(windows, sizes) if ceil_mode else [0] * len(sizes)
    return root(window_sum(power(op.Abs(x), p), windows, extra), p)


def window_sum(x: Array, windows: Windows, extra: Sequence[Dim]) -> Array:
    """The sum of each window, 0 in the padding."""
    after = [high + more for high, more in zip(windows.after, extra, strict=True)]
    return pooled(padded(x, windows.before, after), windows, op.Add)


def overhang(windows: Windows, sizes: Sequence[Dim]) -> list[Dim]:
    """Return how far the last window reaches over the padded end with ceil_mode.

    No window starts in the padding after.
    """
    extra = []
    for size, span, step, low, high in zip(
        sizes, windows.spans, windows.strides, windows.before, windows.after, strict=True
    ):
        count = window_count(size, span, step, (low, high), ceil=True)
        extra.append(maximum((count - 1) * step + span - (size + low + high), 0))
    return extra


def counts_pads(attributes: Mapping[str, Any], runtime: Runtime = OLDEST) -> bool:
    """Whether it is an average over windows that counts padding, in a runtime that may count it wrongly.

    onnxruntime 1.21 to 1.24 divides some of them by a wrong number; before 1.21 it also counts the elements of a last
    window of ceil_mode beyond the padding.
    """
    is_placed = attributes.get("auto_pad", "NOTSET") in {"NOTSET", b"NOTSET"}
    counts = bool(attributes.get("count_include_pad", 0))
    if not (runtime.has("average_counts_padding_wrongly") or runtime.has("average_counts_beyond_ceil_mode")):
        return False
    return is_placed and counts and bool(any(attributes.get("pads") or ()) or attributes.get("ceil_mode", 0))


@fault(
    "average_counts_beyond_ceil_mode",
    kind="wrong",
    operators=("AveragePool",),
    says="AveragePool with ceil_mode and count_include_pad counts what its last window reaches beyond the padding.",
    before="1.21",
)
@fault(
    "average_counts_padding_wrongly",
    kind="wrong",
    operators=("AveragePool",),
    says="AveragePool with count_include_pad divides by a wrong number of elements.",
    since="1.21",
    before="1.25",
)
def padded_average_pool(
    x: Array,
    *,
    pads: Sequence[int] | None = None,
    count_include_pad: int = 1,
    ceil_mode: int = 0,
    **placement: Any,
) -> Array:
    """Pad the array before, and average its windows."""
    given = {k: v for k, v in placement.items() if v is not None} | ({"ceil_mode": 1} if ceil_mode else {})
    if not any(pads or ()):
        return op.AveragePool(x, **given)
    rank = x.ndim - 2
    before, after = tuple(pads or ())[:rank], tuple(pads or ())[rank:]
    wide = op.Pad(x, vector([0, 0, *before, 0, 0, *after]), np.zeros((), x.dtype))
    found = op.AveragePool(wide, **given)
    return without_late_windows(found, x.shape, pads=pads, **placement) if ceil_mode else found


def without_late_windows(found: Array, shape: Shape, *, kernel_shape: Sequence[int], **placement: Any) -> Array:
    """Return the result of a pool of a padded array in ceil_mode, without windows that begin in the padding after."""
    windows = windows_over(shape[2:], kernel_shape, **{k: v for k, v in placement.items() if v is not None})
    pads = zip(windows.before, windows.after, strict=True)
    rows = zip(shape[2:], windows.spans, windows.strides, pads, strict=True)
    counts = [window_count(size, span, step, around, ceil=True) for size, span, step, around in rows]
    if all(map(same, counts, found.shape[2:])):
        return found
    axes = vector(range(2, len(shape)))
    return op.Slice(found, [0] * len(counts), counts, axes)


def global_average_pool(x: Array) -> Array:
    """The mean over the axes from 2 on."""
    return op.ReduceMean(x, vector(range(2, x.ndim)), keepdims=1)


def global_max_pool(x: Array) -> Array:
    """The maximum over the axes from 2 on."""
    return op.ReduceMax(x, vector(range(2, x.ndim)), keepdims=1)


def global_lp_pool(x: Array, *, p: int = 2) -> Array:
    """The p-norm over the axes from 2 on."""
    return root(op.ReduceSum(power(op.Abs(x), p), vector(range(2, x.ndim)), keepdims=1), p)


def power(x: Array, p: int) -> Array:
    """x**p for x >= 0."""
    if p == 1:
        return x
    return op.Mul(x, x) if p == 2 else op.Pow(x, np.asarray(p, x.dtype))


def root(x: Array, p: int) -> Array:
    """x**(1/p)."""
    if p == 1:
        return x
    return op.Sqrt(x) if p == 2 else op.Pow(x, np.asarray(1.0 / p, x.dtype))


@fault(
    "max_unpool_counts_over_output_shape",
    kind="wrong",
    operators=("MaxUnpool",),
    says="MaxUnpool counts indices over output_shape, where the standard counts over the shape that the windows make.",
)
def max_unpool(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> Array:
    """Put each value at its index, counted over the result of the shape that the attributes give; 0 elsewhere.

    With output_shape, that result lies in the corner of a larger one, as in the standard; onnxruntime's kernel counts
    the indices over the larger one.
    """
    shape = unpooled_shape(x.shape, kernel_shape, strides=strides, pads=pads)
    whole = op.Expand(np.zeros((), x.dtype), [product(shape)])
    flat = op.ScatterElements(whole, op.Reshape(indices, [-1]), op.Reshape(x, [-1]), axis=0)
    unpooled = op.Reshape(flat, shape)
    if output_shape is None:
        return unpooled
    more = op.Sub(output_shape, op.Shape(unpooled))
    return op.Pad(unpooled, op.Concat(vector([0] * x.ndim), more, axis=0))


def unpooled_shape(shape: Sequence[Dim], kernel_shape: Sequence[int], **placement: Any) -> list[Dim]:
    """Return the shape that the attributes of MaxUnpool give, which its indices count over.

    Placement: strides and pads.
    """
    windows = windows_over(shape[2:], kernel_shape, **placement)
    sizes = zip(shape[2:], windows.strides, windows.spans, windows.before, windows.after, strict=True)
    return [*shape[:2], *((size - 1) * step + span - low - high for size, step, span, low, high in sizes)]


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "AveragePool": average_pool,
    "LpPool": lp_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "GlobalLpPool": global_lp_pool,
    "MaxUnpool": max_unpool,
}
SPELT: dict[str, Callable[..., Any]] = {"AveragePool": padded_average_pool, "MaxUnpool": max_unpool}
