"""Windows over the trailing axes of an array: which elements they read, and the transposes of reading them.

Sizes of the array, and with them pads and counts, may be symbols; strides and dilations are numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from primsplit.ops.inference.windows import span_of, window_count
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions import windows as decompositions
from primsplit.tracing.array import Array


@dataclass(frozen=True)
class Windows:
    """The layout of windows: for each trailing axis its size, taps, stride, dilation, pads and number of windows."""

    sizes: Shape
    kernel: Shape
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: Shape
    after: Shape
    counts: Shape

    @property
    def spans(self) -> list[Dim]:
        """The length of each window, both ends counted."""
        return [span_of(k, d) for k, d in zip(self.kernel, self.dilations, strict=True)]

    @property
    def rank(self) -> int:
        """The number of axes with windows."""
        return len(self.sizes)

    @property
    def is_literal(self) -> bool:
        """Whether an attribute can hold the pads: none is a symbol or negative."""
        return all(isinstance(p, int) and p >= 0 for p in (*self.before, *self.after))

    @property
    def is_padded(self) -> bool:
        """Whether something may be added at either end."""
        return any(isinstance(p, Size) or p != 0 for p in (*self.before, *self.after))

    @property
    def pads(self) -> list[int] | None:
        """The attribute `pads`, None for none."""
        return [int(p) for p in (*self.before, *self.after)] if self.is_padded else None

    @property
    def whole(self) -> "Windows":
        """The windows over an array to which the padding was added: they have no pads."""
        rows = zip(self.sizes, self.before, self.after, strict=True)
        none = (0,) * self.rank
        return replace(self, sizes=tuple(n + b + a for n, b, a in rows), before=none, after=none)

    def taps(self, axis: int) -> range:
        """Return the taps along an axis. Raises PrimsplitError if only the run knows them."""
        return range(literal(self.kernel)[axis])

    def attributes(self) -> dict[str, Any]:
        """Return strides, dilations and pads as attributes of an operator; None for a default."""
        return {
            "strides": None if set(self.strides) == {1} else list(self.strides),
            "dilations": None if set(self.dilations) == {1} else list(self.dilations),
            "pads": self.pads,
        }


def literal(kernel: Shape) -> list[int]:
    """Return the kernel's sizes as numbers. Raises PrimsplitError if only the run knows them."""
    if any(isinstance(k, Size) for k in kernel):
        raise PrimsplitError(
            f"the gradient of a convolution needs the sizes of its kernel before the run, not {list(kernel)}",
            place=tracing.user_place(),
            cure="Give the weights a fixed kernel size in the spec.",
        )
    return [int(k) for k in kernel]


def windows_over(
    sizes: Shape,
    kernel: Sequence[Dim],
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str | bytes = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """Return the windows that ONNX's attributes describe.

    With SAME padding there are ceil(size / stride), dilated or not.
    """
    auto = text(auto_pad)
    plain = decompositions.windows_over(sizes, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto)
    spans, steps = plain.spans, plain.strides
    before, after = plain.before, plain.after
    ends = zip(before, after, strict=True)
    ceil = bool(ceil_mode) and not auto.startswith("SAME")
    counts = tuple(window_count(n, k, s, e, ceil=ceil) for n, k, s, e in zip(sizes, spans, steps, ends, strict=True))
    lengths = (n + b + a for n, b, a in zip(sizes, before, after, strict=True))
    # A stride past the end of the array is as good as one to the end, and what is recorded grows with it.
    steps = tuple(min(s, max(n, 1)) if isinstance(n, int) else s for s, n in zip(steps, lengths, strict=True))
    return Windows(sizes, plain.kernel, steps, plain.dilations, before, after, counts)


def padded(x: Array, before: Shape, after: Shape, value: float = 0.0) -> Array:
    """Return `x` with its trailing axes longer, or shorter if the padding is negative."""
    sizes = x.shape[len(x.shape) - len(before) :]
    grown = tuple(n + b + a for n, b, a in zip(sizes, before, after, strict=True))
    return _resized(x, before, after, grown, value)


def unpadded(x: Array, windows: Windows) -> Array:
    """Remove the windows' padding from an array: `[..., *windows.whole.sizes]` becomes `[..., *windows.sizes]`.

    These sizes are declared: a long size with the padding is a symbol, and inference cannot subtract the padding from
    it.
    """
    before, after = (tuple(-p for p in pads) for pads in (windows.before, windows.after))
    return _resized(x, before, after, windows.sizes)


def _resized(x: Array, before: Shape, after: Shape, sizes: Shape, value: float = 0.0) -> Array:
    if all(not isinstance(p, Size) and p == 0 for p in (*before, *after)):
        return x
    lead = (0,) * (len(x.shape) - len(before))
    amounts = Array(tracing.size_vector([*lead, *before, *lead, *after]))
    declared = Type(x.dtype, (*x.shape[: len(lead)], *sizes))
    return op.Pad(x, amounts, np.asarray(value, x.dtype) if value else None, types=[declared])


def tap(x: Array, windows: Windows, places: Sequence[tuple[int, int]]) -> Array:
    """Return what the windows over the padded `x` read at a tap of some axes: (axis, tap) for each of them."""
    lead = len(x.shape) - windows.rank
    shape, starts, ends, axes, steps = list(x.shape), [], [], [], []
    for axis, k in places:
        first, step, count = k * windows.dilations[axis], windows.strides[axis], windows.counts[axis]
        if not (first == 0 and step == 1 and _same(x.shape[lead + axis], count)):
            starts.append(first)
            ends.append(first + count * step)
            axes.append(lead + axis)
            steps.append(step)
        shape[lead + axis] = count
    if not axes:
        return x
    more = () if set(steps) == {1} else (steps,)
    return op.Slice(x, starts, Array(tracing.size_vector(ends)), axes, *more, types=[Type(x.dtype, shape)])


def _same(a: Dim, b: Dim) -> bool:
    return str(a) == str(b)


def transposed(dy: Array, w: Array, windows: Windows, group: int = 1) -> Array:
    """Record a ConvTranspose to exactly the sizes of the windows' array: the transpose of Conv with `w`.

    Elements that no window reads get 0. If the run decides how many there are, the longest result is cut.
    """
    lasts = zip(windows.sizes, windows.spans, windows.strides, windows.before, windows.counts, strict=True)
    beyond = [(count - 1) * step + span - low - size for size, span, step, low, count in lasts]
    cut = [max(t, 0) if isinstance(t, int) else 0 for t in beyond]
    more = [max(-t, 0) if isinstance(t, int) else s - 1 for t, s in zip(beyond, windows.strides, strict=True)]
    attributes = windows.attributes()
    attributes["pads"] = [*windows.before, *cut] if any((*windows.before, *cut)) else None
    found = op.ConvTranspose(dy, w, group=group, output_padding=more if any(more) else None, **attributes)
    unsure = [i for i, t in enumerate(beyond) if isinstance(t, Size)]
    declared = Type(found.dtype, (*found.shape[:2], *windows.sizes))
    if not unsure:
        return found
    ends = Array(tracing.size_vector([windows.sizes[i] for i in unsure]))
    return op.Slice(found, [0] * len(unsure), ends, [2 + i for i in unsure], types=[declared])
