"""Compute the positions of windows of convolutions and poolings; read (`unfold`) and add up (`fold`) their elements.

A window over an axis has `kernel` taps, `dilation` apart; windows are `stride` apart. Kernel sizes are numbers; sizes
of the array may be symbols. `unfold` returns one strided slice for each tap of the window; `fold` is its transpose.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.inference.windows import halves, same_padding, span_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


@dataclass(frozen=True)
class Windows:
    """Windows over the trailing axes of an array, one number for each axis; pads may depend on the array's sizes.

    Functions that go tap by tap need a kernel of numbers.
    """

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]

    @property
    def spans(self) -> list[Dim]:
        """Return the extent of a window along each axis, both ends counted."""
        return [span_of(k, d) for k, d in zip(self.kernel, self.dilations, strict=True)]

    @property
    def taps(self) -> list[tuple[int, ...]]:
        """The positions in a window, in row-major order."""
        return list(itertools.product(*map(range, self.kernel)))


def windows_over(
    sizes: Sequence[Dim],
    kernel: Sequence[Dim],
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
) -> Windows:
    """Return the windows that ONNX's attributes describe, over axes of these sizes."""
    rank = len(kernel)
    steps, spread = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]
    before, after = tuple((pads or (0,) * (2 * rank))[:rank]), tuple((pads or (0,) * (2 * rank))[rank:])
    if auto_pad == "VALID":
        before = after = (0,) * rank
    if auto_pad.startswith("SAME"):
        spans = map(span_of, kernel, spread)
        before, after = shared_out(map(same_padding, sizes, spans, steps), auto_pad)
    return Windows(tuple(kernel), steps, spread, before, after)


def shared_out(totals: Iterable[Dim], auto_pad: str) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """Return the padding of each axis, split into that before and that after it."""
    before, after = zip(*(halves(total, upper=auto_pad == "SAME_UPPER") for total in totals), strict=True)
    return before, after


def padded(x: Array, before: Sequence[Dim], after: Sequence[Dim], value: float = 0.0) -> Array:
    """Return an array with its trailing axes made longer, or shorter if the padding is negative."""
    if all(isinstance(p, int) and p == 0 for p in (*before, *after)):
        return x
    lead = [0] * (x.ndim - len(before))
    return op.Pad(x, [*lead, *before, *lead, *after], np.asarray(value, x.dtype))


@fault(
    "transpose_moved_past_pad_of_some_axes",
    kind="wrong",
    operators=("Transpose", "Pad"),
    says="A Transpose is moved past a Pad of some axes without renumbering these: wrong numbers, or an error.",
)
def every_axis_padded(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, *, mode: str = "constant"
) -> Array:
    """Pad with every axis explicit; the operator may leave out axes without padding."""
    if axes is None:
        return op.Pad(x, pads, value, mode=mode)
    known, amounts = axes.known(), pads.known()
    if known is not None and amounts is not None:
        named = np.zeros((2, x.ndim), np.int64)
        named[:, known % x.ndim] = amounts.reshape(2, -1)
        return op.Pad(x, named.reshape(-1), value, mode=mode)
    places = op.Mod(op.Cast(axes, to=np.int64), np.int64(x.ndim))
    whole = op.ScatterElements(np.zeros(2 * x.ndim, np.int64), op.Concat(places, places + x.ndim, axis=0), pads, axis=0)
    return op.Pad(x, whole, value, mode=mode)


def unless_negative(y: Array, sizes: Iterable[Dim]) -> Array:
    """Return the array.

    A run in which one of these sizes is below 0 fails: it would read before the start of an array.
    """
    unsure = [size for size in sizes if not dims.at_least(size, 0)]
    if not unsure:
        return y
    places = op.Mul(op.Min(Array(tracing.size_vector(unsure)), np.int64(0)), np.int64(2))
    return op.Mul(y, op.ReduceMax(op.Gather(np.ones(1, y.dtype), places), keepdims=0))


def every(x: Array, axis: int, start: int, span: int, stride: int) -> Array:
    """Return x at start, start + stride, ... along an axis, once for each window of this span."""
    left = span - 1 - start
    if start == 0 and left == 0 and stride == 1:
        return x
    end = -left if left else np.iinfo(np.int64).max
    return op.Slice(x, np.array([start]), np.array([end]), np.array([axis]), np.array([stride]))


def unfold(x: Array, windows: Windows) -> list[Array]:
    """Return for each tap the array of its elements in every window: [..., windows along each axis]."""
    x = padded(x, windows.before, windows.after)
    first = x.ndim - len(windows.kernel)
    read: dict[tuple[int, ...], Array] = {(): x}
    for i, (count, dilation) in enumerate(zip(windows.kernel, windows.dilations, strict=True)):
        read = {
            (*tap, k): every(value, first + i, k * dilation, int(windows.spans[i]), windows.strides[i])
            for tap, value in read.items()
            for k in range(count)
        }
    return [read[tap] for tap in windows.taps]


def pooled(x: Array, windows: Windows, combine: Callable[[Array, Array], Array]) -> Array:
    """Combine every window's elements by an associative function, axis after axis. The caller pads."""
    first = x.ndim - len(windows.kernel)
    for i, (count, dilation) in enumerate(zip(windows.kernel, windows.dilations, strict=True)):
        taps = [every(x, first + i, k * dilation, int(windows.spans[i]), windows.strides[i]) for k in range(count)]
        x = functools.reduce(combine, taps)
    return x


def fold(taps: Sequence[Array], windows: Windows, extra: Sequence[Dim] | None = None) -> Array:
    """Add each tap's elements of every window: the transpose of `unfold`; `extra` lengthens the result at its end.

    With a tap's place = tap * dilation, output position stride * i + place is phase place % stride of the row i + place
    // stride. The taps of a phase are added in rows, then the phases are interleaved.
    """
    rank = len(windows.kernel)
    reach = [(k - 1) * d // s for k, d, s in zip(windows.kernel, windows.dilations, windows.strides, strict=True)]
    sums: dict[tuple[int, ...], Array] = {}
    for tap, value in zip(windows.taps, taps, strict=True):
        places = [k * d for k, d in zip(tap, windows.dilations, strict=True)]
        phase = tuple(place % s for place, s in zip(places, windows.strides, strict=True))
        rows = [place // s for place, s in zip(places, windows.strides, strict=True)]
        moved = padded(value, rows, [r - row for r, row in zip(reach, rows, strict=True)])
        sums[phase] = sums[phase] + moved if phase in sums else moved
    whole = interleaved(sums, windows.strides)
    trims = [
        span - s - s * r + add - high
        for span, s, r, add, high in zip(
            windows.spans, windows.strides, reach, extra or (0,) * rank, windows.after, strict=True
        )
    ]
    return padded(whole, [-low for low in windows.before], trims)


def interleaved(phases: dict[tuple[int, ...], Array], strides: Sequence[int]) -> Array:
    """Return the array whose positions stride * i + phase are those of each phase; missing phases are 0."""
    if math.prod(strides) == 1:
        return next(iter(phases.values()))
    sample = next(iter(phases.values()))
    rank = len(strides)
    lead = list(sample.shape[: sample.ndim - rank])
    rows = list(sample.shape[sample.ndim - rank :])
    nothing = op.Expand(np.zeros((), sample.dtype), list(sample.shape))
    axis = np.array([len(lead)])
    stack = [op.Unsqueeze(phases.get(phase, nothing), axis) for phase in itertools.product(*map(range, strides))]
    stacked = reshape_to(op.Concat(*stack, axis=len(lead)), (*lead, *strides, *rows))
    order = [*range(len(lead))]
    for i in range(rank):
        order += [len(lead) + rank + i, len(lead) + i]
    sizes = [row * stride for row, stride in zip(rows, strides, strict=True)]
    return reshape_to(op.Transpose(stacked, perm=order), (*lead, *sizes))


def numbers(x: Any) -> list[int]:
    """Return a constant vector as integers."""
    return [int(number) for number in np.asarray(x).reshape(-1)]
