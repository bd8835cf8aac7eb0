"""Replace a product of sliding windows with a kernel by a convolution, before differentiation.

The windows are many times as large as the array: they are neither written nor kept for the pullback, which would add
them up again place by place.

```
w = sliding_window_view(x, sizes=(3, 3), axis=(2, 3))                # x: float32[8,16,32,32], k: float32[144,24]
y = MatMul(Reshape(Transpose(w, [0, 2, 3, 1, 4, 5]), [7200, 144]), k)   ->   y = Conv(x, k), with the channels last
```
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Block
from primsplit.ir.dims import Dim, product, same
from primsplit.numpy.repetition import sliding_windows
from primsplit.ops import op
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, transpose
from primsplit.transforms.idioms.forms import Idiom, by_kind, replaced


def recognize_convolutions(block: Block) -> Block:
    """Return the block with a convolution in the place of each such product; itself if there are none."""
    return replaced(block, IDIOMS)


@dataclass(frozen=True, slots=True)
class _Product:
    """The axes of windows that are the rows of a matrix, and those of them that it is multiplied over.

    Axes beyond those of the array itself are the windows' own, one for each of `slid`, the axes that they slide along.
    """

    rows: tuple[int, ...]
    summed: tuple[int, ...]
    slid: tuple[int, ...]

    @property
    def batch(self) -> list[int]:
        """The axes of the array that the windows do not slide along, and that are rows."""
        return [axis for axis in self.rows if axis not in self.slid]

    @property
    def channels(self) -> list[int]:
        """The axes of the array that are summed over."""
        rank = len(self.rows) + len(self.summed) - len(self.slid)
        return [axis for axis in self.summed if axis < rank]


def _parted(x: Array, sizes: Any, axis: Any, perm: Any, shape: Array) -> _Product | str:
    """Return how the axes of the windows are parted, or why they are not the rows and columns of a convolution."""
    rank = len(x.shape)
    order = tuple(perm) if perm is not None else tuple(range(rank + len(sizes)))
    wanted = shape.value.sizes
    if wanted is None or len(wanted) != 2:
        return "the windows are not made a matrix"
    lengths: list[Dim] = [*x.shape, *sizes]
    lengths = [n - sizes[axis.index(i)] + 1 if i in axis else n for i, n in enumerate(lengths)]
    for cut in range(len(order) + 1):
        rows, summed = order[:cut], order[cut:]
        if set(summed).isdisjoint(axis) and set(range(rank, rank + len(sizes))) <= set(summed):
            column = [lengths[i] for i in summed]
            fits = all(isinstance(n, int) for n in column) and same(product(column), wanted[1])
            if fits and (same(product(lengths[i] for i in rows), wanted[0]) or _is_rest(wanted[0])):
                return _Product(rows, summed, tuple(axis))
    return "the columns of the matrix are not whole windows"


def _is_rest(size: Dim) -> bool:
    return isinstance(size, int) and size == -1


def _refusal(x: Array, sizes: Any, axis: Any, perm: Any, shape: Array, kernel: Array) -> str | None:
    """Return why the product is no convolution for which onnxruntime has a kernel; None if it is."""
    if x.dtype != np.float32 or len(sizes) > 3:
        return "onnxruntime convolves float32 along one, two or three axes"
    if kernel.type.rank != 2 or not all(n > 0 for n in sizes):
        return "the kernel is no matrix"
    found = _parted(x, sizes, axis, perm, shape)
    return found if isinstance(found, str) else None


def _convolved(x: Array, sizes: Any, axis: Any, perm: Any, shape: Array, kernel: Array) -> Array:
    """Record the convolution, and its result as the matrix that the product is."""
    parts = _parted(x, sizes, axis, perm, shape)
    assert isinstance(parts, _Product)
    batch, channels, slid, rank = parts.batch, parts.channels, list(parts.slid), len(x.shape)
    lengths = [x.shape[i] for i in channels]
    images = transpose(x, [*batch, *channels, *slid])
    images = reshape_to(images, (product(x.shape[i] for i in batch), product(lengths), *(x.shape[i] for i in slid)))
    columns = kernel.shape[1]
    tapped = [x.shape[i] if i < rank else sizes[i - rank] for i in parts.summed]
    taps = reshape_to(transpose(kernel, [1, 0]), (columns, *tapped))
    order = [*channels, *(rank + k for k in range(len(sizes)))]
    taps = reshape_to(
        transpose(taps, [0, *(1 + parts.summed.index(i) for i in order)]), (columns, math.prod(lengths), *sizes)
    )
    found = op.Conv(images, taps)
    counts = found.shape[2:]
    found = reshape_to(found, (*(x.shape[i] for i in batch), columns, *counts))
    # The axes of the result: batch, columns, and along which the windows slide. Rows first, then columns.
    places = {axis: k if k < len(batch) else k + 1 for k, axis in enumerate([*batch, *slid])}
    found = transpose(found, [*(places[i] for i in parts.rows), len(batch)])
    return reshape_to(found, (product(found.shape[:-1]), columns))


def _windows(x: Any, sizes: Any, axis: Any) -> Any:
    return pattern[sliding_windows](x, sizes=sizes, axis=axis)


IDIOMS = by_kind(
    [
        Idiom(
            lambda x, sizes, axis, perm, shape, kernel: pattern.MatMul(
                pattern.Reshape(pattern.Transpose(_windows(x, sizes, axis), perm=perm), shape), kernel
            ),
            _refusal,
            _convolved,
            exact="rounds",
        ),
        Idiom(
            lambda x, sizes, axis, shape, kernel: pattern.MatMul(
                pattern.Reshape(_windows(x, sizes, axis), shape), kernel
            ),
            lambda x, sizes, axis, shape, kernel: _refusal(x, sizes, axis, None, shape, kernel),
            lambda x, sizes, axis, shape, kernel: _convolved(x, sizes, axis, None, shape, kernel),
            exact="rounds",
        ),
    ]
)
"""The idioms, by the kind of their outermost op."""
