"""Rewrite convolutions and poolings of dilated windows with SAME padding: pad the array as the standard says.

onnxruntime's pools pad as if no window were dilated, so that there are fewer windows than ceil(size / stride), at other
places; its Conv refuses. onnxruntime takes pads as attributes only if they are known, and shorter than the kernel: here
they become a Pad.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Op, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.windows import Windows, padded, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import size_scalar


def is_spread(step: Op) -> bool:
    """Whether windows are dilated and have SAME padding, over known axes; a pool's windows may have one tap."""
    if step.kind not in SPREAD or not text(step.attributes.get("auto_pad", "NOTSET")).startswith("SAME"):
        return False
    source, weights = (*step.inputs, None)[:2]
    if source is None or source.type.shape is None:
        return False
    of_weights = () if weights is None else (weights.type.shape or ())[2:]
    kernel = step.attributes.get("kernel_shape") or of_weights
    dilations = step.attributes.get("dilations") or ()
    return any(d != 1 and (k != 1 or step.kind == "Conv") for k, d in zip(kernel, dilations, strict=False))


@fault(
    "dilated_convolution_with_same_padding",
    kind="refuses",
    operators=("Conv",),
    says="A dilated Conv with SAME padding is refused.",
)
def conv(x: Array, w: Array, b: Array | None = None, *, kernel_shape: Any = None, **attributes: Any) -> Any:
    """Conv of the padded array."""
    kernel = kernel_shape or w.shape[2:]
    windows, placed = _windows(x, kernel, attributes)
    return op.Conv(padded(x, windows.before, windows.after), w, b, kernel_shape=kernel_shape, **placed)


def average_pool(x: Array, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **attributes: Any) -> Any:
    """Return the mean of each window; divided by the mean of ones, if only elements of the array count."""
    windows, placed = _windows(x, kernel_shape, attributes)

    def means(y: Array) -> Any:
        return op.AveragePool(padded(y, windows.before, windows.after), kernel_shape=kernel_shape, **placed)

    if count_include_pad:
        return means(x)
    return op.Div(means(x), means(op.Expand(np.ones((), x.dtype), [1, 1, *x.shape[2:]])))


def lp_pool(x: Array, *, kernel_shape: Sequence[int], p: int = 2, **attributes: Any) -> Any:
    """Return the norm of each window of the padded array."""
    windows, placed = _windows(x, kernel_shape, attributes)
    return op.LpPool(padded(x, windows.before, windows.after), kernel_shape=kernel_shape, p=p, **placed)


@fault(
    "dilated_pool_with_same_padding",
    kind="wrong",
    operators=("MaxPool", "AveragePool", "LpPool"),
    says="A dilated pool with SAME padding is padded as if it were not dilated: it has fewer windows.",
)
def max_pool(x: Array, *, kernel_shape: Sequence[int], storage_order: int = 0, **attributes: Any) -> tuple[Any, Any]:
    """Return the maximum of each window of the padded array, and where it lies in the array itself."""
    windows, placed = _windows(x, kernel_shape, attributes)
    lowest = -np.inf if x.type.is_float else np.iinfo(x.dtype).min
    wide = padded(x, windows.before, windows.after, lowest)
    y = op.MaxPool(wide, kernel_shape=kernel_shape, **placed)
    # An op of its own, so that it is left out where nobody reads the indices.
    _, places = op.MaxPool(wide, outputs=2, kernel_shape=kernel_shape, **placed)
    return y, _places(places, x.shape[2:], wide.shape[2:], windows.before, is_reversed=bool(storage_order))


def _windows(x: Array, kernel: Sequence[Any], attributes: dict[str, Any]) -> tuple[Windows, dict[str, Any]]:
    """Return the windows, and the operator's attributes for the padded array."""
    given = {name: attributes.pop(name, None) for name in ("strides", "dilations", "auto_pad")}
    attributes.pop("ceil_mode", None)
    attributes.pop("pads", None)
    told = {name: value for name, value in given.items() if value is not None}
    left = {name: value for name, value in attributes.items() if value is not None}
    placed = {"strides": given["strides"], "dilations": given["dilations"], **left}
    return windows_over(x.shape[2:], kernel, **told), {k: v for k, v in placed.items() if v is not None}


def _places(
    places: Array, sizes: Sequence[Dim], wide: Sequence[Dim], before: Sequence[Dim], *, is_reversed: bool
) -> Any:
    """Return indices into the padded images as indices into the images.

    With `is_reversed` their first axis goes fastest.
    """
    rest, coordinates = places, []
    for length, low in zip(reversed(wide), reversed(before), strict=True):
        around = size_scalar(length)
        coordinates.append(op.Sub(op.Mod(rest, around), size_scalar(low)))
        rest = op.Div(rest, around)
    fastest, lengths = (coordinates[::-1], sizes) if is_reversed else (coordinates, sizes[::-1])
    step: Dim = 1
    found: Any = op.Mul(rest, size_scalar(dims.product(sizes)))
    for coordinate, size in zip(fastest, lengths, strict=True):
        found = op.Add(found, op.Mul(coordinate, size_scalar(step)))
        step = step * size
    return found


SPREAD: dict[str, Callable[..., Any]] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
}
