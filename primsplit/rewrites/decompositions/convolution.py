"""Decompose convolutions in float64, or any dtype that MatMul has, to one matrix product with the windows unfolded.

Negative pads are rewritten for onnxruntime's own kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Op, Type
from primsplit.ir.dims import Dim, at_least, product
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.folding import added_up, folded
from primsplit.rewrites.decompositions.windows import Windows, fold, numbers, padded, shared_out, unfold, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


def conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    **placement: Any,
) -> Array:
    """Conv of [N, C, ...] with [M, C / group, ...]; sizes may be symbols.

    placement: strides, dilations, pads and auto_pad, as in ONNX.
    """
    sizes = list(kernel_shape or w.shape[2:])
    kernel = [size for size in sizes if isinstance(size, int)]
    if len(kernel) < len(sizes):
        return with_bias(_conv_by_places(x, w, windows_over(x.shape[2:], sizes, **placement), group), bias)
    channels = w.shape[1]
    taps = unfold(x, windows_over(x.shape[2:], kernel, **placement))
    places = taps[0].shape[2:]
    grouped = [reshape_to(tap, (x.shape[0], group, channels, product(places))) for tap in taps]
    columns = op.Concat(*grouped, axis=2)
    found = stacked_product(matrix_of(w, group, taps_first=True), columns)
    return with_bias(reshape_to(found, (x.shape[0], w.shape[0], *places)), bias)


def _conv_by_places(x: Array, w: Array, windows: Windows, group: int) -> Array:
    """Conv, without its bias, for kernels whose sizes only the run knows: each tap's elements are gathered by index.

    Sizes are read from the arrays at run time: no array here need tell what a symbol of the program stands for.
    """
    held, rank = padded(x, windows.before, windows.after), len(windows.kernel)
    kernel, steps = op.Shape(w, start=2), np.array(windows.strides, np.int64)
    counts = op.Add(op.Div(op.Sub(op.Shape(held, start=2), spans_in(kernel, windows)), steps), 1)
    for axis in range(rank):
        factors = windows.dilations[axis], windows.strides[axis]
        of_tap, of_window = (
            op.Mul(op.Range(0, op.Gather(sizes, axis), 1), factor)
            for sizes, factor in zip((kernel, counts), factors, strict=True)
        )
        held = op.Gather(held, op.Add(op.Unsqueeze(of_tap, [1]), of_window), axis=2 + 2 * axis)
    columns = op.Transpose(held, perm=[0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)])
    matrices = matrix_of(w, group, taps_first=False)
    ends = [op.ReduceProd(op.Concat(op.Shape(w, start=1, end=2), kernel, axis=0)), op.ReduceProd(counts)]
    batch, places = op.Shape(x, end=1), fresh("windows")
    stack = op.Reshape(
        columns,
        op.Concat(batch, [group], *ends, axis=0),
        allowzero=1,
        types=[Type(x.dtype, (x.shape[0], group, matrices.shape[2], places))],
    )
    shape = op.Concat(batch, op.Shape(w, end=1), counts, axis=0)
    return op.Reshape(stacked_product(matrices, stack), shape, allowzero=1)


def spans_in(kernel: Array, windows: Windows) -> Array:
    """Return how far windows of these sizes reach, both ends counted."""
    found: Array = op.Add(op.Mul(op.Sub(kernel, 1), np.array(windows.dilations, np.int64)), 1)
    return found


def conv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    **placement: Any,
) -> Array:
    """ConvTranspose of [N, C, ...] with [C, M / group, ...]: a product, each tap of which is added at its place."""
    kernel = list(kernel_shape or w.shape[2:])
    extra = list(output_padding or (0,) * len(kernel))
    windows = windows_over(x.shape[2:], kernel, **placement)
    if output_shape or auto_pad.startswith("SAME"):
        windows = padded_to(windows, x.shape[2:], extra, output_shape, auto_pad)
    batch, results = x.shape[0], w.shape[1]
    rows = reshape_to(x, (batch, group, w.shape[0] // group, product(x.shape[2:])))
    found = stacked_product(op.Transpose(matrix_of(w, group, taps_first=False), perm=[0, 2, 1]), rows)
    if not all(isinstance(size, int) for size in kernel):
        columns = reshape_to(found, (batch, product([group * results, *kernel]), product(x.shape[2:])))
        return with_bias(_added_by_places(columns, op.Shape(x, start=2), op.Shape(w, start=2), windows, extra), bias)
    split = reshape_to(found, (batch, group, results, len(windows.taps), *x.shape[2:]))
    taps = [
        reshape_to(op.Gather(split, np.array(k), axis=3), (batch, group * results, *x.shape[2:]))
        for k in range(len(windows.taps))
    ]
    return with_bias(fold(taps, windows, extra), bias)


def _added_by_places(columns: Array, sizes: Array, kernel: Array, windows: Windows, extra: Sequence[int]) -> Array:
    """Add `columns`, [N, M * taps, windows], each at its place, for a kernel whose sizes only the run knows.

    Sizes are vectors of the run: no array here need tell what a symbol of the program stands for.
    """
    whole = op.Add(op.Mul(op.Sub(sizes, 1), np.array(windows.strides, np.int64)), spans_in(kernel, windows))
    image = added_up(columns, folded(whole, kernel, strides=windows.strides, dilations=windows.dilations))
    late = [add - high for add, high in zip(extra, windows.after, strict=True)]
    return padded(image, [-low for low in windows.before], late)


def is_cut(attributes: Mapping[str, Any]) -> bool:
    """Whether pads are negative, which onnxruntime refuses."""
    return any(pad < 0 for pad in attributes.get("pads", ()))


@fault(
    "negative_pads_of_convolution",
    kind="refuses",
    operators=("Conv", "ConvTranspose"),
    says="A convolution with negative pads is refused.",
    since="1.28",
)
def conv_of_cut(x: Array, w: Array, bias: Array | None = None, *, pads: Sequence[int], **attributes: Any) -> Array:
    """Return a Conv whose negative pads are cut off its input before."""
    ends = _two_ends([min(pad, 0) for pad in pads])
    return op.Conv(padded(x, *ends), w, bias, pads=[max(pad, 0) for pad in pads], **attributes)


def lengthened_conv_transpose(
    x: Array, w: Array, bias: Array | None = None, *, pads: Sequence[int], **attributes: Any
) -> Array:
    """ConvTranspose: the zeros by which negative pads lengthen its result are appended before the bias is added."""
    found = op.ConvTranspose(x, w, pads=[max(pad, 0) for pad in pads], **attributes)
    return with_bias(padded(found, *_two_ends([max(-pad, 0) for pad in pads])), bias)


def is_stretched(step: Op) -> bool:
    """Whether a ConvTranspose must be longer than its windows reach, by SAME padding or an output_shape.

    onnxruntime leaves it too short, puts the sums at other places, or refuses it.
    """
    x, w = step.inputs[:2]
    given, auto_pad = step.attributes, text(step.attributes.get("auto_pad", "NOTSET"))
    shape = None if x is None else x.type.shape
    if shape is None or w is None or w.type.shape is None or not (given.get("output_shape") or "SAME" in auto_pad):
        return False
    kernel = given.get("kernel_shape") or w.type.shape[2:]
    if not all(isinstance(size, int) for size in kernel):
        return False
    kernel = [int(size) for size in kernel]
    windows = windows_over(shape[2:], kernel, strides=given.get("strides"), dilations=given.get("dilations"))
    extra = given.get("output_padding") or (0,) * len(kernel)
    fitted = padded_to(windows, shape[2:], extra, given.get("output_shape"), auto_pad)
    return not all(at_least(pad, 0) for pad in (*fitted.before, *fitted.after))


@fault(
    "stretched_transposed_convolution",
    kind="wrong",
    operators=("ConvTranspose",),
    says="A ConvTranspose that output_shape or SAME padding makes longer than its windows reach is too short, "
    "misplaced, or refused.",
)
def odd_conv_transpose(x: Array, w: Array, bias: Array | None = None, **attributes: Any) -> Array:
    """ConvTranspose with negative pads, given or resulting from SAME padding or an output_shape."""
    sizes, auto_pad = x.shape[2:], attributes.get("auto_pad", "NOTSET")
    if not (attributes.get("output_shape") or "SAME" in auto_pad):
        return lengthened_conv_transpose(x, w, bias, **attributes)
    placed: dict[str, Any] = {name: attributes.get(name) for name in ("strides", "dilations")}
    kernel = kernel_of(w, attributes.get("kernel_shape"))
    extra = attributes.get("output_padding") or (0,) * len(kernel)
    fitted = padded_to(windows_over(sizes, kernel, **placed), sizes, extra, attributes.get("output_shape"), auto_pad)
    pads = (*fitted.before, *fitted.after)
    if not all(isinstance(pad, int) for pad in pads):
        return conv_transpose(x, w, bias, **attributes)
    said = {**attributes, "auto_pad": "NOTSET", "output_shape": None, "pads": [int(pad) for pad in pads]}
    return lengthened_conv_transpose(x, w, bias, **said)


def _two_ends(pads: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return the pads before each axis, and those after it."""
    return pads[: len(pads) // 2], pads[len(pads) // 2 :]


def padded_to(
    windows: Windows, sizes: Sequence[Dim], extra: Sequence[int], output_shape: Sequence[int] | None, auto_pad: str
) -> Windows:
    """Return the windows with the padding that ConvTranspose's output_shape or auto_pad requires."""
    wanted: Sequence[Dim] = output_shape or [size * step for size, step in zip(sizes, windows.strides, strict=True)]
    wanted = list(wanted)[-len(sizes) :]
    totals = [
        (size - 1) * step + add + span - want
        for size, step, add, span, want in zip(sizes, windows.strides, extra, windows.spans, wanted, strict=True)
    ]
    before, after = shared_out(totals, auto_pad)
    return Windows(windows.kernel, windows.strides, windows.dilations, before, after)


@fault(
    "dilated_col2im_mixes_channels",
    kind="wrong",
    operators=("Col2Im",),
    says="A dilated Col2Im mixes its channels, unless the image has two axes.",
)
def col2im(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> Array:
    """Col2Im of [N, C * taps, windows]; if only the run knows the image or block shape, elements are added by index."""
    if image_shape.known() is None or block_shape.known() is None:
        found = folded(image_shape, block_shape, strides=strides, dilations=dilations, pads=pads)
        return padded(added_up(x, found), [-low for low in found.before], [-high for high in found.after])
    sizes, kernel = numbers(image_shape), numbers(block_shape)
    windows = windows_over(sizes, kernel, strides=strides, dilations=dilations, pads=pads)
    lengths = [size + low + high for size, low, high in zip(sizes, windows.before, windows.after, strict=True)]
    counts = [
        (length - span) // step + 1 for length, span, step in zip(lengths, windows.spans, windows.strides, strict=True)
    ]
    extra = [
        length - (count - 1) * step - span
        for length, count, step, span in zip(lengths, counts, windows.strides, windows.spans, strict=True)
    ]
    split = reshape_to(x, (x.shape[0], x.shape[1] // len(windows.taps), len(windows.taps), *counts))
    taps = [op.Gather(split, np.array(k), axis=2) for k in range(len(windows.taps))]
    return fold(taps, windows, extra)


def kernel_of(w: Array, kernel_shape: Sequence[int] | None) -> list[int]:
    """Return the kernel sizes, which must be numbers."""
    sizes = list(kernel_shape or w.shape[2:])
    if not all(isinstance(size, int) for size in sizes):
        raise PrimsplitError(
            f"a float64 convolution needs the sizes of its kernel before the run, not {sizes}",
            cure="Give the weights a fixed kernel size in the spec.",
        )
    return [int(size) for size in sizes]


def matrix_of(w: Array, group: int, *, taps_first: bool) -> Array:
    """Return [A, B, ...taps] as [group, A / group, taps * B] or [group, A / group, B * taps]."""
    rows, channels, taps = w.shape[0], w.shape[1], product(w.shape[2:])
    flat = reshape_to(w, (rows, channels, taps))
    if taps_first:
        flat = op.Transpose(flat, perm=[0, 2, 1])
    return reshape_to(flat, (group, rows // group, product([channels, taps])))


def stacked_product(matrices: Array, stack: Array) -> Array:
    """Return [group, A, B] times [N, group, B, C]. onnxruntime refuses to broadcast to an empty stack, N = 0."""
    if at_least(stack.shape[0], 1):
        return op.MatMul(matrices, stack)
    declared = Type(stack.dtype, (stack.shape[0], *matrices.shape[:2], stack.shape[3]))
    outer = tracing.current().place
    with tracing.recording(place=outer) as some:
        product_of_some = op.MatMul(matrices, stack, types=[declared]).value
    with tracing.recording(place=outer) as none:
        sizes = op.Concat(op.Shape(stack, end=2), op.Shape(matrices, start=1, end=2), op.Shape(stack, start=3), axis=0)
        nothing = op.ConstantOfShape(sizes, value=np.zeros(1, stack.dtype), types=[declared]).value
    is_some = op.Greater(op.Squeeze(op.Shape(stack, end=1), [0]), 0)
    branches = {
        "then_branch": tracing.close("some", [], some, [product_of_some]),
        "else_branch": tracing.close("none", [], none, [nothing]),
    }
    return Array(tracing.emit("If", [is_some.value], branches, types=[declared])[0])


def with_bias(y: Array, bias: Array | None) -> Array:
    """Add a number to each channel."""
    if bias is None:
        return y
    return op.Add(y, op.Reshape(bias, [1, -1, *[1] * (y.ndim - 2)]))


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Conv": conv, "ConvTranspose": conv_transpose, "Col2Im": col2im}
SPELT: dict[str, Callable[..., Any]] = {
    "Col2Im": col2im, "Conv": conv_of_cut, "ConvTranspose": odd_conv_transpose,
}  # fmt: skip
