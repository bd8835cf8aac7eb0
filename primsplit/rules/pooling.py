"""Derivative rules of poolings over windows: MaxPool, AveragePool, LpPool.

```
y = MaxPool(x)       ->   dx: each window's cotangent at its first maximum
y = AveragePool(x)   ->   dx: each window's cotangent, spread evenly over its elements
```
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size, product
from primsplit.ir.errors import MissingRule
from primsplit.numpy.quotients import length_quotient, signed
from primsplit.ops import op
from primsplit.rules.halves import compared_wide
from primsplit.rules.table import Pullback, rrule
from primsplit.rules.windows import Windows, literal, padded, tap, transposed, unpadded, windows_over
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, size_scalar, zeros


def exact(windows: Windows) -> Windows:
    """Return the windows with the padding after set so that the last one ends where the padded axis ends."""
    rows = zip(windows.sizes, windows.spans, windows.strides, windows.before, windows.counts, strict=True)
    return replace(windows, after=tuple((c - 1) * s + k - b - n for n, k, s, b, c in rows))


def fits_attributes(windows: Windows, ceil_mode: int) -> bool:
    """Whether onnxruntime's poolings take the windows by attributes.

    They want padding smaller than the kernel, and contradict their own shape inference where ceil_mode leaves out a
    window because it would start in the padding.
    """
    pads = zip((*windows.before, *windows.after), literal(windows.kernel) * 2, strict=True)
    reach = zip(exact(windows).after, windows.after, strict=True)
    left_out = ceil_mode and any(isinstance(a, int) and a < b for a, b in reach)
    return windows.is_literal and not left_out and all(isinstance(p, int) and p < k for p, k in pads)


def without_padding(x: Array, windows: Windows, value: float) -> tuple[Array, Windows]:
    """Return the array with its padding, as long as the last window reaches, and the windows over it."""
    over = exact(windows)
    return padded(x, over.before, over.after, value), over.whole


@rrule("MaxPool")
@compared_wide
def max_pool(
    x: Array, *, kernel_shape: Sequence[int], ceil_mode: int, storage_order: int, **placement: Any
) -> tuple[tuple[Array, Array], Pullback]:
    """The cotangent of a window goes to its first maximum in row-major order, as in PyTorch.

    Axis by axis: the first of the maxima over the later axes that is the window's, then the first within it. That takes
    a mask for each tap of each axis, and no indices, with which onnxruntime's kernel is 11 to 50 times slower. Windows
    side by side have a form of their own, `_spread_to_first`.
    """
    windows = windows_over(x.shape[2:], kernel_shape, ceil_mode=ceil_mode, **placement)
    if fits_attributes(windows, ceil_mode):
        options = {"kernel_shape": kernel_shape, "ceil_mode": ceil_mode, **windows.attributes()}
        y = op.MaxPool(x, **options)
        # An op of its own, so that it is left out where nobody reads the indices.
        _, indices = op.MaxPool(x, outputs=2, storage_order=storage_order, **options)
    else:
        y = _plain(*without_padding(x, windows, -np.inf))
        _, indices = op.MaxPool(
            x, outputs=2, kernel_shape=kernel_shape, ceil_mode=ceil_mode, storage_order=storage_order, **placement
        )

    def pullback(dy: Array, _: None = None) -> tuple[Array]:
        picture, top, given = (_by_channel(a) for a in (x, y, dy))
        if _are_tiles(x, windows):
            found = _spread_to_first(picture, top, given, literal(windows.kernel))
        else:
            found = _to_first_of_windows(picture, top, given, exact(windows) if ceil_mode else windows)
        return (reshape_to(found, x.shape),)

    return (y, indices), pullback


MOST_PARTS = 2**14
"""The most taps of a window along an axis, and steps to the next one, each of which is a few operators."""


def _by_channel(x: Array) -> Array:
    """Reshape so that each channel is a picture of its own.

    Otherwise onnxruntime stores the channels in blocks, and copies them before and after the poolings of a pullback, or
    keeps such a copy from the forward pass. A picture whose size is a symbol stays: the shape would have to be
    computed.
    """
    sides = x.shape[2:]
    is_literal = all(isinstance(n, int) for n in sides)
    return reshape_to(x, (product(x.shape[:2]), 1, *sides)) if is_literal else x


def _to_first_of_windows(x: Array, y: Array, dy: Array, over: Windows) -> Array:
    """Put each window's cotangent at its first maximum, axis by axis."""
    whole = over.whole
    stages = [padded(x, over.before, over.after, -np.inf)]
    for axis in range(over.rank - 1, 0, -1):
        stages.append(_plain(stages[-1], whole, axis))
    stages.append(y)
    for axis in range(over.rank):
        top, below = stages[over.rank - axis], stages[over.rank - axis - 1]
        dy = _to_first(below, top, dy, whole, axis)
    return unpadded(dy, over)


def _plain(x: Array, windows: Windows, axis: int | None = None) -> Array:
    """Return the maximum of each window, or of each window along one axis, of an array with its padding."""
    chosen = [axis is None or axis == i for i in range(windows.rank)]
    kernel = [k if c else 1 for k, c in zip(literal(windows.kernel), chosen, strict=True)]
    steps = [s if c else 1 for s, c in zip(windows.strides, chosen, strict=True)]
    if set(kernel) == {1} and set(steps) == {1}:
        return x
    spread = [d if c else 1 for d, c in zip(windows.dilations, chosen, strict=True)]
    found: Array = op.MaxPool(x, kernel_shape=kernel, strides=steps, dilations=spread)
    return found


def _are_tiles(x: Array, windows: Windows) -> bool:
    """Whether the windows cover a float32 picture exactly once, so that Resize can repeat a number over each of them.

    `x` is the picture, or an array with one number for each window.
    """
    sides = list(zip(windows.sizes, windows.kernel, windows.strides, strict=True))
    return (
        x.dtype == np.float32
        and windows.rank == 2
        and not windows.is_padded
        and set(windows.dilations) == {1}
        and all(isinstance(n, int) and k == step and n % step == 0 for n, k, step in sides)
    )


def _spread_to_first(x: Array, y: Array, dy: Array, kernel: Sequence[int]) -> Array:
    """Put each window's cotangent at its first maximum, for windows side by side.

    The elements of a window are numbered downwards; of its maxima, the first has the largest number. The cotangents are
    spread last, when the fewest other arrays are alive: of two operands, onnxruntime computes last the one that is
    recorded first.
    """
    numbers = np.arange(math.prod(kernel), 0, -1, dtype=np.float32).reshape(1, 1, *kernel)
    order = op.Tile(numbers, [1, 1, *(int(n) for n in y.shape[2:])])
    spread = repeated(dy, kernel)
    numbered = op.Mul(op.Cast(op.Equal(x, repeated(y, kernel)), to=x.dtype), order)
    first = op.MaxPool(numbered, kernel_shape=kernel, strides=kernel)
    chosen = op.Cast(op.Equal(order, repeated(first, kernel)), to=x.dtype)
    return op.Mul(chosen, spread)


def repeated(z: Array, kernel: Sequence[int]) -> Array:
    """Repeat a number of each window at all of its taps, for windows side by side."""
    repeats = np.array([1, 1, *kernel], np.float32)
    found: Array = op.Resize(
        z, None, repeats, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    return found


def _to_first(below: Array, top: Array, dy: Array, windows: Windows, axis: int) -> Array:
    """Put the cotangent of the maximum along one axis at the first tap that is the maximum."""
    parts = max(len(windows.taps(axis)), windows.strides[axis])
    if parts > MOST_PARTS:
        raise MissingRule(f"MaxPool has no derivative where a window has {parts:,} taps or steps along an axis")
    pieces, rest = [], dy
    for read in _taps_along(below, windows, axis)[:-1]:
        pieces.append(op.Mul(rest, op.Cast(op.Equal(read, top), to=dy.dtype)))
        rest = op.Sub(rest, pieces[-1])
    return _added_along([*pieces, rest], windows, axis)


def _phases(windows: Windows, axis: int) -> tuple[list[tuple[int, int]], Dim]:
    """Each tap's shift in windows and remainder by the stride along an axis, and the length of each remainder."""
    stride, dilation = windows.strides[axis], windows.dilations[axis]
    places = [divmod(k * dilation, stride) for k in windows.taps(axis)]
    return places, windows.counts[axis] + places[-1][0]


def _along(windows: Windows, axis: int, amount: Dim) -> tuple[Dim, ...]:
    """Return the amount at this axis, 0 at the others."""
    return tuple(amount if i == axis else 0 for i in range(windows.rank))


def _taps_along(x: Array, windows: Windows, axis: int) -> list[Array]:
    """Return, for each tap along one axis, the elements that it reads in all windows.

    The axis is split by remainders of the stride, so that no Slice has steps.
    """
    stride, plain = windows.strides[axis], (1,) * windows.rank
    if stride == 1:
        return [tap(x, windows, [(axis, k)]) for k in windows.taps(axis)]
    places, length = _phases(windows, axis)
    place = len(x.shape) - windows.rank + axis
    held = padded(x, _along(windows, axis, 0), _along(windows, axis, length * stride - x.shape[place]))
    cut = reshape_to(held, (*x.shape[:place], length, stride, *x.shape[place + 1 :]))
    pieces = {part: op.Gather(cut, np.array(part), axis=place + 1) for part in sorted({part for _, part in places})}
    steps = replace(windows, strides=plain, dilations=plain)
    return [tap(pieces[part], steps, [(axis, shift)]) for shift, part in places]


def _added_along(pieces: Sequence[Array], windows: Windows, axis: int) -> Array:
    """Add what each tap of one axis contributes to what it read, by remainders of the stride, which are interleaved."""
    stride, shape, size = windows.strides[axis], pieces[0].shape, windows.sizes[axis]
    places, length = _phases(windows, axis)
    if stride == 1:
        length = size
    room = length - windows.counts[axis]
    parts: list[list[Array]] = [[] for _ in range(stride)]
    for piece, (shift, part) in zip(pieces, places, strict=True):
        parts[part].append(padded(piece, _along(windows, axis, shift), _along(windows, axis, room - shift)))
    place = len(shape) - windows.rank + axis
    grown = (*shape[:place], length, *shape[place + 1 :])
    sums = [_total(part) if part else zeros(grown, pieces[0].dtype) for part in parts]
    if stride == 1:
        return sums[0]
    stacked = op.Concat(*(op.Unsqueeze(part, [place + 1]) for part in sums), axis=place + 1)
    whole = reshape_to(stacked, (*shape[:place], length * stride, *shape[place + 1 :]))
    return padded(whole, _along(windows, axis, 0), _along(windows, axis, size - length * stride))


def _total(parts: Sequence[Array]) -> Array:
    found: Array = parts[0] if len(parts) == 1 else op.Sum(*parts)
    return found


@rrule("AveragePool")
def average_pool(
    x: Array, *, kernel_shape: Sequence[int], ceil_mode: int, count_include_pad: int, **placement: Any
) -> tuple[Array, Pullback]:
    """Each element gets its share of the cotangent of every window that reads it.

    A window's divisor is the number of its taps in the array; with count_include_pad, those in the padding count too,
    but not those past it that ceil_mode adds.
    """
    windows = windows_over(x.shape[2:], kernel_shape, ceil_mode=ceil_mode, **placement)
    share = _shares(windows, ceil_mode=ceil_mode, count_include_pad=count_include_pad, dtype=x.dtype)
    if fits_attributes(windows, ceil_mode):
        y = op.AveragePool(
            x, kernel_shape=kernel_shape, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            **windows.attributes(),
        )  # fmt: skip
    else:
        held, over = without_padding(x, windows, 0.0)
        means = op.AveragePool(held, kernel_shape=kernel_shape, **over.attributes())
        y = means if share is None else op.Mul(means, share)

    def pullback(dy: Array) -> tuple[Array]:
        return (spread_means(dy if share is None else op.Mul(dy, share), windows),)

    return y, pullback


def _shares(windows: Windows, *, ceil_mode: int, count_include_pad: int, dtype: np.dtype[Any]) -> Array | None:
    """Return the taps of a window over how many of them count: [1, 1, windows]; None if that is 1 everywhere."""
    if not ceil_mode and (count_include_pad or not windows.is_padded):
        return None
    total: Any = np.ones((), dtype)
    for axis in range(windows.rank):
        column = (-1, *(1 for _ in range(windows.rank - axis - 1)))
        counted = _counted_along(windows, axis, count_include_pad, dtype)
        if isinstance(counted, Array) or isinstance(total, Array):
            total = op.Mul(total, op.Reshape(counted, list(column)))
        else:
            total = total * counted.reshape(column)
    taps = math.prod(literal(windows.kernel))
    if isinstance(total, Array):
        return op.Div(np.asarray(taps, dtype), total)
    if np.all(total == taps):
        return None
    return Array(tracing.constant((taps / total).astype(dtype)))


MOST_COUNTED = 2**16
"""The most windows along an axis whose taps are counted while the rule is run: a file would hold each count."""


def _counted_along(windows: Windows, axis: int, count_include_pad: int, dtype: np.dtype[Any]) -> Any:
    """Return how many taps along an axis count for each window: an array for small known sizes, else a traced one."""
    size, low, high, count = (d[axis] for d in (windows.sizes, windows.before, windows.after, windows.counts))
    first: Dim = 0 if count_include_pad else low
    end = low + size + (high if count_include_pad else 0)
    taps = np.array(windows.taps(axis), np.int64) * windows.dilations[axis]
    if not any(isinstance(d, Size) for d in (first, end, count)) and int(count) <= MOST_COUNTED:
        places = np.arange(int(count))[:, None] * windows.strides[axis] + taps
        return ((places >= int(first)) & (places < int(end))).sum(axis=1).astype(dtype)
    starts = op.Mul(op.Range(0, size_scalar(count), 1, types=[Type(np.int64, (count,))]), windows.strides[axis])
    reached = op.Add(op.Unsqueeze(starts, [1]), taps[None])
    inside = op.And(op.GreaterOrEqual(reached, size_scalar(first)), op.Less(reached, size_scalar(end)))
    return op.ReduceSum(op.Cast(inside, to=dtype), [1], keepdims=0)


def spread_means(g: Array, windows: Windows) -> Array:
    """Spread a number of each window evenly over its taps: the transpose of a mean of windows that counts padding.

    For a stride of 1 that is such a mean itself, for windows side by side a repetition; else a ConvTranspose of each
    channel alone.
    """
    kernel = literal(windows.kernel)
    if _are_tiles(g, windows):
        return repeated(op.Mul(g, 1.0 / math.prod(kernel)), kernel)
    margins = [
        (span - 1 - low, span - 1 - high)
        for span, low, high in zip(windows.spans, windows.before, windows.after, strict=True)
    ]
    is_mean = set(windows.strides) == {1} and windows.is_literal
    if is_mean and all(0 <= m < k for pair, k in zip(margins, kernel, strict=True) for m in pair):
        pads = [int(m) for m in (*(low for low, _ in margins), *(high for _, high in margins))]
        dilations = windows.attributes()["dilations"]
        found: Array = op.AveragePool(
            g, kernel_shape=kernel, pads=pads if any(pads) else None, dilations=dilations, count_include_pad=1
        )
        return found
    over = windows if windows.is_literal else windows.whole
    shares = np.full((1, 1, *kernel), 1 / math.prod(kernel), g.dtype)
    flat = reshape_to(g, (g.shape[0] * g.shape[1], 1, *g.shape[2:]))
    spread = reshape_to(transposed(flat, Array(tracing.constant(shares)), over), (*g.shape[:2], *over.sizes))
    if windows.is_literal:
        return spread
    return unpadded(spread, windows)


@rrule("LpPool")
def lp_pool(
    x: Array, *, kernel_shape: Sequence[int], ceil_mode: int, p: int, **placement: Any
) -> tuple[Array, Pullback]:
    """With y = (sum |x|^p)^(1/p), dx = sign(x) |x|^(p-1) y^(1-p) dy; 0 where y is 0."""
    windows = windows_over(x.shape[2:], kernel_shape, ceil_mode=ceil_mode, **placement)
    if fits_attributes(windows, ceil_mode):
        y = op.LpPool(x, kernel_shape=kernel_shape, ceil_mode=ceil_mode, p=p, **windows.attributes())
    else:
        held, over = without_padding(x, windows, 0.0)
        y = op.LpPool(held, kernel_shape=kernel_shape, p=p, **over.attributes())

    def pullback(dy: Array) -> tuple[Array]:
        taps = np.asarray(math.prod(kernel_shape), x.dtype)
        spread = spread_means(op.Mul(over_norm(dy, y, p), taps), windows)
        return (times_power(spread, x, p - 1),)

    return y, pullback


def over_norm(dy: Array, y: Array, p: int) -> Array:
    """Return dy y^(1-p), 0 where y is 0."""
    found: Array = dy if p == 1 else length_quotient(dy, _power(y, p - 1))
    return found


def times_power(n: Array, x: Array, p: int) -> Array:
    """Return n sign(x) |x|^p."""
    if p == 0:
        found: Array = signed(n, x)
        return found
    power = _power(x, p) if p % 2 else op.Mul(op.Sign(x), _power(x, p))
    return op.Mul(n, power, types=[x.type])


def _power(x: Array, p: int) -> Array:
    """Return x^p by repeated multiplication, p positive."""
    if p == 1:
        return x
    half = _power(x, p // 2)
    square = op.Mul(half, half)
    return op.Mul(square, x) if p % 2 else square
