"""Decompose a convolution of one image with a large kernel, as in gradients of weights, to one matrix product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from primsplit.ir import Op
from primsplit.ir.dims import Dim, product, same
from primsplit.ops import op
from primsplit.rewrites.decompositions.axes import along, vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, transpose

MOST = 64
"""The most places of a kernel: the product reads a copy of the image for each."""


@dataclass(frozen=True, slots=True)
class Places:
    """The places where a kernel is put on one image, by axis; a dilation d splits an axis into d interleaved ones.

    `counts` are the places along each of the split axes, `taps` the kernel's sizes; `pads` are those of the axes.
    """

    counts: list[int]
    taps: list[int]
    steps: list[int]
    pads: list[int]

    @classmethod
    def of(cls, image: Sequence[Dim], kernel: Sequence[Dim], told: Mapping[str, Any]) -> "Places | None":
        """Return the places of a Conv; None if sizes are unknown, or it is strided, in groups, or splits unevenly."""
        lengths = [d for d in image[2:] if isinstance(d, int)]
        taps = [d for d in kernel[2:] if isinstance(d, int)]
        rank = len(image) - 2
        if not same(image[0], 1) or not len(lengths) == len(taps) == rank > 0:
            return None
        steps, pads = list(told.get("dilations") or [1] * rank), list(told.get("pads") or [0] * 2 * rank)
        strided = told.get("group", 1) != 1 or any(s != 1 for s in told.get("strides") or ())
        if strided or told.get("auto_pad", b"NOTSET") not in ("NOTSET", b"NOTSET"):
            return None
        if any(n % d for n, d in zip([*lengths, *pads], steps * 3, strict=True)):
            return None
        padded = [n + b + e for n, b, e in zip(lengths, pads[:rank], pads[rank:], strict=True)]
        counts = [n // d - k + 1 for n, d, k in zip(padded, steps, taps, strict=True)]
        return cls(counts, taps, steps, pads) if all(n > 0 for n in counts) else None


def is_correlation(step: Op) -> bool:
    """Whether it is a convolution of one image whose kernel has more taps than it has places, which are few."""
    image, kernel = (None if v is None else v.type.shape for v in step.inputs[:2])
    places = None if image is None or kernel is None else Places.of(image, kernel, step.attributes)
    return places is not None and prod(places.counts) <= min(MOST, prod(places.taps) - 1)


def correlate(image: Array, kernel: Array, bias: Array | None = None, **told: Any) -> Array:
    """Multiply the flat kernel by the part of the image under it at each place, as columns. See `is_correlation`."""
    at = Places.of(image.shape, kernel.shape, told)
    if at is None:
        raise ValueError("no correlation of one image")
    rank, outputs, rows = len(at.taps), kernel.shape[0], product(kernel.shape[1:])
    ends = vector([0, 0, *at.pads[:rank], 0, 0, *at.pads[rank:]])
    padded = op.Pad(image, ends, np.zeros((), image.dtype)) if any(at.pads) else image
    parted = [d for k, n, step in zip(at.taps, at.counts, at.steps, strict=True) for d in (k + n - 1, step)]
    whole = transpose(
        reshape_to(padded, (kernel.shape[1], *parted)), [0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2)]
    )
    columns = []
    for first in np.ndindex(*at.counts):
        last = [a + k for a, k in zip(first, at.taps, strict=True)]
        under = op.Slice(whole, vector(first), vector(last), vector(range(1, rank + 1)))
        columns.append(reshape_to(under, (rows, prod(at.steps))))
    found = op.MatMul(reshape_to(kernel, (outputs, rows)), op.Concat(*columns, axis=1))
    apart = reshape_to(found, (outputs, *at.counts, *at.steps))
    mixed = transpose(apart, [0, *(axis for i in range(1, rank + 1) for axis in (i, i + rank))])
    made = reshape_to(mixed, (1, outputs, *(n * d for n, d in zip(at.counts, at.steps, strict=True))))
    return made if bias is None else made + along(bias, 1, rank + 2)
