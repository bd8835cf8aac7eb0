"""Infer the result types of convolutions and poolings, and where their windows lie. Every size may be a symbol.

A Conv of float32[N,3,H,W] with weights float32[8,3,3,3] gives float32[N,8,H - 2,W - 2].
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import Site, UnknownRank, fresh, rule, typed


def span_of(taps: Dim, dilation: int) -> Dim:
    """Return the length of a dilated window, both ends counted."""
    return (taps - 1) * dilation + 1


def same_padding(size: Dim, span: Dim, stride: int) -> Dim:
    """Return the padding with which there are ceil(size / stride) windows: the standard's SAME_UPPER and SAME_LOWER."""
    return span - 1 if stride == 1 else dims.maximum((-(-size // stride) - 1) * stride + span - size, 0)


def halves(total: Dim, *, upper: bool) -> tuple[Dim, Dim]:
    """Return the padding before and after; the odd element goes after if `upper`."""
    small = dims.floor_divide(total, 2)
    return (small, total - small) if upper else (total - small, small)


def window_count(size: Dim, span: Dim, stride: int, pads: tuple[Dim, Dim], *, ceil: bool = False) -> Dim:
    """Return how many windows lie over a padded axis.

    With `ceil` one may reach past the end, but not start past the axis.
    """
    room = size + pads[0] + pads[1] - span
    if not ceil:
        return room // stride + 1
    return dims.minimum(-(-room // stride) + 1, -(-(size + pads[0]) // stride))


def placement(site: Site, sizes: Shape, kernel: Sequence[Dim]) -> tuple[list[int], list[Dim], list[tuple[Dim, Dim]]]:
    """Return the strides, spans and pads that the attributes of a convolution or pooling give for these axes."""
    rank = len(kernel)
    if len(sizes) != rank:
        raise ShapeError(
            f"{site.kind}: a kernel of {rank} axes over an input with {len(sizes)} axes after the channels"
        )
    strides = list(site.attribute("strides") or [1] * rank)
    dilations = site.attribute("dilations") or [1] * rank
    given = site.attribute("pads") or [0] * (2 * rank)
    if len(strides) != rank or len(dilations) != rank or len(given) != 2 * rank:
        raise ShapeError(f"{site.kind}: strides, dilations or pads do not have one number for each of {rank} axes")
    if any(isinstance(n, int) and n < 1 for n in (*kernel, *strides, *dilations)):
        raise ShapeError(f"{site.kind}: the kernel, strides and dilations are at least 1")
    spans = [span_of(k, d) for k, d in zip(kernel, dilations, strict=True)]
    auto = automatic(site)
    pads: list[tuple[Dim, Dim]] = list(zip(given[:rank], given[rank:], strict=True))
    if auto == "VALID":
        pads = [(0, 0)] * rank
    if auto.startswith("SAME"):
        totals = map(same_padding, sizes, spans, strides)
        pads = [halves(t, upper=auto == "SAME_UPPER") for t in totals]
    return strides, spans, pads


def automatic(site: Site) -> str:
    """Return the attribute auto_pad."""
    auto = site.attribute("auto_pad") or "NOTSET"
    return auto.decode() if isinstance(auto, bytes) else str(auto)


def _counted(site: Site, sizes: Shape, kernel: Sequence[Dim]) -> Shape:
    strides, spans, pads = placement(site, sizes, kernel)
    ceil = bool(site.attribute("ceil_mode")) and not automatic(site).startswith("SAME")
    counts = [window_count(n, k, s, p, ceil=ceil) for n, k, s, p in zip(sizes, spans, strides, pads, strict=True)]
    for count, size, span, stride, pad in zip(counts, sizes, spans, strides, pads, strict=True):
        padded = size + pad[0] + pad[1]
        if isinstance(count, int) and (count < 0 or (count == 0 and _is_cut(padded, span, stride))):
            raise ShapeError(f"{site.kind}: a window of {span} does not fit into the padded size {padded}")
    return tuple(counts)


def _is_cut(padded: Dim, span: Dim, stride: Dim) -> bool:
    """Whether the standard counts no window here, and onnxruntime, which rounds to zero, one that sticks out."""
    sizes = [n for n in (padded, span, stride) if isinstance(n, int)]
    return len(sizes) == 3 and 0 < sizes[0] < sizes[1] < sizes[0] + sizes[2]


def _with_channels(site: Site, least: int = 2) -> Shape:
    shape = site.shape(0)
    if len(shape) < least:
        raise ShapeError(f"{site.kind} takes batch, channels and at least one more axis, not {len(shape)} axes")
    return shape


def _fits(site: Site, channels: Dim, wanted: Dim) -> None:
    if not dims.could_be(channels, wanted):
        raise ShapeError(f"{site.kind}: the input has {channels} channels, and the weights are for {wanted}")


def _convolved(site: Site, weights: int) -> Shape:
    """Return [N, M, windows ...] for an input [N, C, ...] and weights [M, C / group, ...] at the position `weights`."""
    x, w = _with_channels(site, 3), site.shape(weights)
    if len(x) != len(w):
        raise ShapeError(f"{site.kind}: an input with {len(x)} axes, and weights with {len(w)}")
    _fits(site, x[1], w[1] * site.attribute("group"))
    kernel = w[2:] if site.attribute("kernel_shape") is None else site.attribute("kernel_shape")
    return (x[0], w[0], *_counted(site, x[2:], kernel))


@rule("Conv")
def conv(site: Site) -> Sequence[Type]:
    """The first input's dtype."""
    return typed(site.type(0).dtype, _convolved(site, 1))


@rule("ConvInteger")
def conv_integer(site: Site) -> Sequence[Type]:
    """int32."""
    return typed(np.int32, _convolved(site, 1))


@rule("QLinearConv")
def quantized_conv(site: Site) -> Sequence[Type]:
    """The dtype of the result's zero point."""
    return typed(site.type(7).dtype, _convolved(site, 3))


@rule("ConvTranspose")
def conv_transpose(site: Site) -> Sequence[Type]:
    """[N, C, ...] and [C, M / group, ...] give [N, M, ...], of the sizes that a Conv turns into the input's."""
    x, w = _with_channels(site, 3), site.shape(1)
    if len(x) != len(w):
        raise ShapeError(f"ConvTranspose: an input with {len(x)} axes, and weights with {len(w)}")
    _fits(site, x[1], w[0])
    sizes, rank = x[2:], len(x) - 2
    kernel = site.attribute("kernel_shape") or w[2:]
    lead = (x[0], w[1] * site.attribute("group"))
    strides, spans, pads = placement(site, sizes, kernel)
    if wanted := site.attribute("output_shape"):
        return typed(site.type(0).dtype, (*lead, *wanted[-rank:]))
    if automatic(site).startswith("SAME"):
        return typed(site.type(0).dtype, (*lead, *(n * s for n, s in zip(sizes, strides, strict=True))))
    extra = site.attribute("output_padding") or [0] * rank
    rows = zip(sizes, strides, spans, pads, extra, strict=True)
    return typed(site.type(0).dtype, (*lead, *((n - 1) * s + k - p[0] - p[1] + e for n, s, k, p, e in rows)))


@rule("MaxPool", "AveragePool", "LpPool")
def pool(site: Site) -> Sequence[Type]:
    """One number a window; MaxPool's indices have the same shape."""
    x = _with_channels(site, 3)
    shape = (*x[:2], *_counted(site, x[2:], site.attribute("kernel_shape")))
    results = [Type(site.type(0).dtype, shape)]
    return [*results, Type("int64", shape)][: site.outputs]


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(site: Site) -> Sequence[Type]:
    """One number a channel, the other axes of size 1."""
    x = _with_channels(site)
    return typed(site.type(0).dtype, (*x[:2], *(1 for _ in x[2:])))


@rule("MaxUnpool")
def max_unpool(site: Site) -> Sequence[Type]:
    """The sizes that a MaxPool of these attributes turns into the input's, or those of output_shape."""
    x = _with_channels(site, 3)
    if site.has(2):
        wanted = site.sizes(2)
        return typed(site.type(0).dtype, tuple(fresh("unpooled") for _ in x) if wanted is None else wanted)
    strides, spans, pads = placement(site, x[2:], site.attribute("kernel_shape"))
    sizes = ((n - 1) * s + k - p[0] - p[1] for n, s, k, p in zip(x[2:], strides, spans, pads, strict=True))
    return typed(site.type(0).dtype, (*x[:2], *sizes))


@rule("Col2Im")
def col2im(site: Site) -> Sequence[Type]:
    """[N, C * taps, windows] gives [N, C, image sizes]."""
    x, image, block = site.shape(0), site.sizes(1), site.sizes(2)
    if image is None:
        (rank,) = site.shape(1)
        if isinstance(rank, Size):
            raise UnknownRank
        image = tuple(fresh("image") for _ in range(rank))
    channels = fresh("channels") if block is None else dims.floor_divide(x[1], dims.product(block))
    return typed(site.type(0).dtype, (x[0], channels, *image))
