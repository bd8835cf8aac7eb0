"""Derivative rules of convolutions.

The cotangent of the image is a transposed convolution. The cotangent of the weights is a convolution of the image by
the cotangent; its several forms differ in speed by up to ten times, see `weight_cotangent`.

```
y = Conv(x, w)   ->   dx = ConvTranspose(dy, w), dw = a Conv of x by dy, batch and channels exchanged
```
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size, is_one, product, same
from primsplit.ops import op
from primsplit.ops.inference.windows import halves
from primsplit.ops.kernels import KERNELS
from primsplit.ops.schema import text
from primsplit.rules.table import Pullback, rrule
from primsplit.rules.windows import Windows, literal, padded, tap, transposed, unpadded, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, transpose

SHORT = 200
"""Up to this many windows, the products of a 1x1 convolution over a batch become one product."""

NARROW = 64
"""Up to this many windows in one picture, it costs more to transpose the weights of a 1x1 convolution than it saves."""


@rrule("Conv")
def conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str | bytes,
    group: int,
    kernel_shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
) -> tuple[Array, Pullback]:
    """dX spreads dY by the weights; dW correlates X with dY; dB is the sum over batch and places.

    SAME padding is written out as the standard defines it, dilated windows included.
    """
    kernel = kernel_shape or w.shape[2:]
    given = windows_over(x.shape[2:], kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=text(auto_pad))
    windows = given if given.is_literal else given.whole

    def image() -> Array:
        return x if given.is_literal else padded(x, given.before, given.after)

    y = op.Conv(image(), w, b, group=group, kernel_shape=kernel_shape, **windows.attributes())

    def pullback(dy: Array) -> list[Array | None]:
        dx = image_cotangent(dy, w, windows, group)
        if not given.is_literal:
            dx = unpadded(dx, given)
        dw = weight_cotangent(image(), dy, windows, w.shape[1], group)
        return [_as(dx, x), _as(dw, w), *([] if b is None else [_sum_of_channels(dy, b)])]

    return y, pullback


def _as(found: Array, like: Array) -> Array:
    """Return `found`, declared to have the shape of `like`."""
    return found if found.type.key == like.type.key else reshape_to(found, like.shape)


def _sum_of_channels(dy: Array, bias: Array) -> Array:
    """Return the sum over the places and then the batch, which is faster than over both at once."""
    of_images = op.ReduceSum(dy, list(range(2, len(dy.shape))), keepdims=0)
    return op.ReduceSum(of_images, [0], keepdims=0, types=[bias.type])


def image_cotangent(dy: Array, w: Array, windows: Windows, group: int) -> Array:
    """Return a ConvTranspose; for stride 1 and 1x1, depthwise or constant weights, a Conv by the flipped W."""
    if not _is_flipped(dy, w, windows, group):
        return transposed(dy, w, windows, group)
    channels = w.shape[1]
    kernel = literal(windows.kernel)
    turned = w if group > 1 and is_one(channels) and same(w.shape[0], group) else _swapped(w, group)
    axes = [2 + i for i, k in enumerate(kernel) if k > 1]
    if axes:
        ends = [-(2**62)] * len(axes)
        turned = op.Slice(turned, [-1] * len(axes), ends, axes, [-1] * len(axes), types=[turned.type])
    margins = [_margins(windows, i) for i in range(windows.rank)]
    pads = [*(low for low, _ in margins), *(high for _, high in margins)]
    dilations = windows.attributes()["dilations"]
    return op.Conv(dy, turned, group=group, dilations=dilations, pads=pads if any(pads) else None)


def _swapped(w: Array, group: int) -> Array:
    """Return the weights with the roles of their channels exchanged within each group."""
    rest = w.shape[2:]
    order = [*range(2, len(w.shape))]
    if group == 1:
        return transpose(w, [1, 0, *order])
    cut = reshape_to(w, (group, w.shape[0] // group, *w.shape[1:]))
    turned = transpose(cut, [0, 2, 1, *(i + 1 for i in order)])
    return reshape_to(turned, (w.shape[1] * group, w.shape[0] // group, *rest))


def _margins(windows: Windows, axis: int) -> tuple[int, int]:
    """Return the padding of the cotangent that a flipped Conv of stride 1 needs.

    Negative where ConvTranspose would cut.
    """
    span, low, high = windows.spans[axis], windows.before[axis], windows.after[axis]
    return int(span - 1 - low), int(span - 1 - high)


def _is_flipped(dy: Array, w: Array, windows: Windows, group: int) -> bool:
    if not has_kernel(w) or any(s != 1 for s in windows.strides) or any(isinstance(k, Size) for k in windows.kernel):
        return False
    if any(m < 0 for i in range(windows.rank) for m in _margins(windows, i)):
        return False
    places = product(windows.counts)
    narrow = is_one(dy.shape[0]) and isinstance(places, int) and places <= NARROW
    single = all(is_one(k) for k in windows.kernel) and group == 1 and not narrow
    depthwise = group > 1 and is_one(w.shape[1]) and same(w.shape[0], group)
    return single or depthwise or w.known() is not None


def has_kernel(x: Array) -> bool:
    """Whether onnxruntime convolves in this dtype; for others a decomposition has one product for each tap."""
    return any(x.dtype.name in row["T"] for row in KERNELS["Conv"])


def weight_cotangent(x: Array, dy: Array, windows: Windows, channels: Dim, group: int) -> Array:
    """Return the sum over batch and places of dY times what each tap of each window reads: [M, C / group, taps].

    Depthwise: a product and a sum for each tap, unless many taps read few places. 1x1: one product of matrices. Else,
    with onnxruntime's kernels, a Conv whose own unfolding has contiguous runs of channels; without, a product with the
    windows unfolded.
    """
    if group > 1 and is_one(channels) and not any(isinstance(k, Size) for k in windows.kernel):
        if _is_crowded(windows) and has_kernel(x) and same(dy.shape[1], group):
            return _channels_innermost(x, dy, windows, 1, group)
        return _by_taps(x, dy, windows, group)
    if all(is_one(k) for k in windows.kernel) and group == 1:
        return _by_product(x, dy, windows)
    if not has_kernel(x) and any(isinstance(k, Size) for k in windows.kernel):
        return _by_exchange(x, dy, windows, channels, group)
    if not has_kernel(x):
        return _by_columns(x, dy, windows, channels, group)
    if isinstance(channels, int) and windows.dilations[-1] == 1:
        return _channels_innermost(x, dy, windows, channels, group)
    if windows.rank <= 2 and isinstance(channels, int):
        return _one_dimension_up(x, dy, windows, channels, group)
    return _by_exchange(x, dy, windows, channels, group)


def _is_crowded(windows: Windows) -> bool:
    """Whether so many taps read so few places that an operator for each tap costs more than a Conv.

    Measured for 9, 25 and 49 taps on pictures of 4 x 4 to 56 x 56: 7 x 7 on 7 x 7 takes half the time, on 14 x 14 0.84.
    With strides, where each tap picks elements one by one: 3 x 3 on 14 x 14 takes 0.7, 5 x 5 on 28 x 28 half.
    """
    taps, places = product(windows.kernel), product(windows.counts)
    if isinstance(taps, Size) or isinstance(places, Size) or any(d != 1 for d in windows.dilations):
        return False
    if any(s != 1 for s in windows.strides):
        return taps >= 9 and places <= 22 * taps
    return places <= (16 if taps >= 49 else 3) * taps


def _every_tap(x: Array, windows: Windows) -> list[Array]:
    """Return what each tap reads in every window: [N, C, windows], the taps in row-major order."""
    held = padded(x, windows.before, windows.after)
    whole = windows.whole
    places = itertools.product(*(whole.taps(axis) for axis in range(windows.rank)))
    return [tap(held, whole, list(enumerate(place))) for place in places]


def _by_taps(x: Array, dy: Array, windows: Windows, group: int) -> Array:
    """Depthwise: with M = group * m, [group, m] sums for each tap."""
    batch, results = dy.shape[:2]
    each = results // group
    axes = list(range(3, 3 + windows.rank))
    cotangent = reshape_to(dy, (batch, group, each, *windows.counts))
    sums = [op.ReduceSum(op.Mul(op.Unsqueeze(t, [2]), cotangent), axes, keepdims=0) for t in _every_tap(x, windows)]
    stacked = op.ReduceSum(op.Concat(*(op.Unsqueeze(s, [3]) for s in sums), axis=3), [0], keepdims=0)
    return reshape_to(stacked, (results, 1, *windows.kernel))


def _by_product(x: Array, dy: Array, windows: Windows) -> Array:
    """1x1: dY X^T, summed over the batch, or as one product if the batch or the picture is small."""
    read = tap(padded(x, windows.before, windows.after), windows.whole, [(i, 0) for i in range(windows.rank)])
    batch, places = dy.shape[0], product(windows.counts)
    results, channels = dy.shape[1], read.shape[1]
    if is_one(batch) or (isinstance(places, int) and places <= SHORT):
        rows = [transpose(a, [1, 0, *range(2, 2 + windows.rank)]) for a in (dy, read)]
        flat = [reshape_to(a, (c, batch * places)) for a, c in zip(rows, (results, channels), strict=True)]
        found = op.Gemm(flat[0], flat[1], transB=1)
    else:
        flat = [reshape_to(a, (batch, c, places)) for a, c in ((dy, results), (read, channels))]
        found = op.ReduceSum(op.MatMul(flat[0], transpose(flat[1], [0, 2, 1])), [0], keepdims=0)
    return reshape_to(found, (results, channels, *windows.kernel))


def _by_columns(x: Array, dy: Array, windows: Windows, channels: Dim, group: int) -> Array:
    """dY times the transpose of the unfolded windows, a product for each picture and group."""
    batch, results, places = dy.shape[0], dy.shape[1], product(windows.counts)
    read = _every_tap(x, windows)
    columns = op.Concat(*(reshape_to(t, (batch, group, channels, places)) for t in read), axis=2)
    rows = reshape_to(dy, (batch, group, results // group, places))
    summed = op.ReduceSum(op.MatMul(rows, transpose(columns, [0, 1, 3, 2])), [0], keepdims=0)
    split = reshape_to(summed, (results, len(read), channels))
    return reshape_to(transpose(split, [0, 2, 1]), (results, channels, *windows.kernel))


def _channels_innermost(x: Array, dy: Array, windows: Windows, channels: int, group: int) -> Array:
    """A Conv in which the batch takes the place of the channels, and the last axis interleaves places and channels.

    Strides and dilations change places; a step along the last axis is one of `channels` elements. Results past the last
    tap are cut off.
    """
    results, rank = dy.shape[1], windows.rank
    lasts = [*(1 for _ in range(rank - 1)), channels]
    rows = _channels_last(x, windows, channels, group)
    image = reshape_to(rows, (1, x.shape[0] * group, *(n * c for n, c in zip(windows.sizes, lasts, strict=True))))
    kernel = transpose(dy, [1, 0, *range(2, 2 + rank)])
    ends = zip((*windows.before, *_read_after(windows)), lasts * 2, strict=True)
    pads = [p * c for p, c in ends]
    spread = [s * c for s, c in zip(windows.strides, lasts, strict=True)]
    found = op.Conv(image, kernel, group=group, pads=pads, strides=[*windows.dilations], dilations=spread)
    taps = tuple(k * c for k, c in zip(windows.kernel, lasts, strict=True))
    split = reshape_to(_first_taps(found, replace(windows, kernel=taps)), (results, *windows.kernel, channels))
    return transpose(split, [0, 1 + rank, *range(1, 1 + rank)])


def _channels_last(x: Array, windows: Windows, channels: int, group: int) -> Array:
    """The array as [group, N, places, C / group], by transpositions of two axes: others take ten times as long."""
    batch, places = x.shape[0], product(windows.sizes)
    turned = transpose(reshape_to(x, (batch * group, channels, places)), [0, 2, 1])
    if group == 1 or is_one(batch):
        return turned
    return transpose(reshape_to(turned, (batch, group, places * channels)), [1, 0, 2])


def _one_dimension_up(x: Array, dy: Array, windows: Windows, channels: int, group: int) -> Array:
    """As `_channels_innermost`, with the channels as one more spatial axis: for dilated taps along the last one."""
    batch, results, rank = x.shape[0], dy.shape[1], windows.rank
    spatial = list(range(2, 2 + rank))
    rows = _channels_last(x, windows, channels, group)
    image = reshape_to(rows, (1, batch * group, *windows.sizes, channels))
    kernel = op.Unsqueeze(transpose(dy, [1, 0, *spatial]), [2 + rank])
    pads = [*windows.before, 0, *_read_after(windows), 0]
    steps, spread = [*windows.dilations, 1], [*windows.strides, 1]
    found = op.Conv(image, kernel, group=group, pads=pads, strides=steps, dilations=spread)
    split = reshape_to(_first_taps(found, windows), (results, *windows.kernel, channels))
    return transpose(split, [0, 1 + rank, *range(1, 1 + rank)])


def _read_after(windows: Windows) -> list[Dim]:
    """The padding at the end without what no window reads, if known: it would produce taps that are thrown away."""
    rows = zip(windows.sizes, windows.spans, windows.strides, windows.before, windows.counts, strict=True)
    needed = [(count - 1) * step + span - low - size for size, span, step, low, count in rows]
    return [n if isinstance(n, int) and 0 <= n < a else a for n, a in zip(needed, windows.after, strict=True)]


def _by_exchange(x: Array, dy: Array, windows: Windows, channels: Dim, group: int) -> Array:
    """A Conv in which batch and channels have changed places, strides and dilations too."""
    batch, spatial = x.shape[0], list(range(2, 2 + windows.rank))
    image = transpose(x, [1, 0, *spatial])
    if group > 1:
        cut = reshape_to(x, (batch, group, channels, *windows.sizes))
        image = reshape_to(
            transpose(cut, [2, 1, 0, *(i + 1 for i in spatial)]), (channels, batch * group, *windows.sizes)
        )
    kernel = transpose(dy, [1, 0, *spatial])
    turned = replace(windows, strides=windows.dilations, dilations=windows.strides).attributes()
    found = _first_taps(op.Conv(image, kernel, group=group, **turned), windows)
    return transpose(found, [1, 0, *spatial])


def _first_taps(found: Array, windows: Windows) -> Array:
    """Cut the axes from 2 on to the number of the kernel's taps."""
    axes = [2 + i for i, k in enumerate(windows.kernel) if not same(found.shape[2 + i], k)]
    if not axes:
        return found
    shape = list(found.shape)
    for axis in axes:
        shape[axis] = windows.kernel[axis - 2]
    ends = [shape[axis] for axis in axes]
    return op.Slice(found, [0] * len(axes), ends, axes, types=[Type(found.dtype, shape)])


@rrule("ConvTranspose")
def conv_transpose(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str | bytes,
    group: int,
    kernel_shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
) -> tuple[Array, Pullback]:
    """The transpose of a Conv: dX is that Conv of dZ, dW its cotangent of the weights with X and dZ exchanged."""
    kernel = kernel_shape or w.shape[2:]
    z = op.ConvTranspose(
        x, w, b, auto_pad=text(auto_pad), group=group, kernel_shape=kernel_shape, strides=strides,
        dilations=dilations, pads=pads, output_padding=output_padding, output_shape=output_shape,
    )  # fmt: skip
    given = windows_over(z.shape[2:], kernel, strides=strides, dilations=dilations, pads=pads)
    if text(auto_pad) == "VALID":
        none = (0,) * given.rank
        given = replace(given, before=none, after=none)
    windows = replace(given, counts=x.shape[2:])
    if output_shape or text(auto_pad).startswith("SAME"):
        windows = _fitted(windows, output_padding or [0] * windows.rank, upper=text(auto_pad) == "SAME_UPPER")

    def pullback(dz: Array) -> list[Array | None]:
        held, over = dz, windows
        if not windows.is_literal:
            held, over = padded(dz, windows.before, windows.after), windows.whole
        dx = op.Conv(held, w, group=group, kernel_shape=kernel_shape, **over.attributes())
        dx = _first_taps(dx, replace(over, kernel=x.shape[2:]))
        dw = weight_cotangent(held, x, over, w.shape[1], group)
        return [_as(dx, x), _as(dw, w), *([] if b is None else [_sum_of_channels(dz, b)])]

    return z, pullback


def _fitted(windows: Windows, extra: Sequence[int], *, upper: bool) -> Windows:
    """Return the windows padded so that they, and `extra` elements behind them, just cover the array."""
    rows = zip(windows.counts, windows.strides, windows.spans, extra, windows.sizes, strict=True)
    ends = [halves((n - 1) * step + add + span - size, upper=upper) for n, step, span, add, size in rows]
    return replace(windows, before=tuple(e[0] for e in ends), after=tuple(e[1] for e in ends))
