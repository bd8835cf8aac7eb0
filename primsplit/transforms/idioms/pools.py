"""Replace the maximum of windows that lie side by side, written by a reshape, by a pooling, before differentiation.

onnxruntime reduces the two inner axes of such an array ten times slower than MaxPool reads its windows. The values are
the same, NaN where a window has one, and equal maxima share the gradient, as for `np.max`; see `pool_rule.py`.

```
w = Reshape(x, [8, 3, 16, 2, 16, 2])     # x: float32[8,3,32,32]
y = max(w, axis=(3, 5))                  ->     y = call::max_pool(x)
```
"""

from typing import Any

import numpy as np

from primsplit.ir import Block
from primsplit.ir.dims import Shape, product, same, same_shape
from primsplit.numpy.extrema import NAMED
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.idioms.forms import Idiom, by_kind, replaced
from primsplit.transforms.idioms.pool_rule import PooledMax

MOST = 2**24
"""The most elements of a picture, which float32 counts."""


def recognize_pools(block: Block) -> Block:
    """Return the block with a pooling in the place of each such maximum; itself if there are none."""
    return replaced(block, IDIOMS)


def _refusal(x: Array, shape: Array, axis: Any, **_: Any) -> str | None:
    """Return why the maximum is not one of windows that tile the last two axes of x; None if it is."""
    parted = _parted(x, shape)
    if x.dtype != np.float32:
        return "the pictures are not repeated fast but in float32"
    if parted is None or axis != (len(parted) - 3, len(parted) - 1):
        return "the axes are not those of windows over the last two axes"
    return None


def _parted(x: Array, shape: Array) -> Shape | None:
    """Return the shape [..., rows, height, columns, width] that parts the literal last two axes of x, else None."""
    sizes, rank = shape.value.sizes, x.type.rank
    if sizes is None or rank is None or rank < 2 or len(sizes) != rank + 2:
        return None
    *outer, rows, height, columns, width = _whole(x, sizes)
    inner = (*x.shape[-2:], rows, height, columns, width)
    if not all(isinstance(n, int) and n > 0 for n in inner) or product(x.shape[-2:]) > MOST:
        return None
    fits = same(x.shape[-2], rows * height) and same(x.shape[-1], columns * width)
    return (*outer, rows, height, columns, width) if fits and same_shape(tuple(outer), x.shape[:-2]) else None


def _whole(x: Array, sizes: Shape) -> Shape:
    """Return the sizes of a Reshape to these, one of which may be -1, where it parts the last two axes."""
    known = [n for n in sizes if not (isinstance(n, int) and n == -1)]
    if len(known) == len(sizes):
        return sizes
    place = next(i for i, n in enumerate(sizes) if isinstance(n, int) and n == -1)
    return tuple(x.shape[i] if i == place and i < len(x.shape) - 2 else n for i, n in enumerate(sizes))


def _pooled(x: Array, shape: Array, axis: tuple[int, int], keepdims: bool, may_be_empty: bool) -> Array:
    """Record the pooling of pictures [..., H, W]."""
    parted = _parted(x, shape)
    assert parted is not None
    *outer, rows, height, columns, width = parted
    pictures = x if len(x.shape) == 4 else reshape_to(x, (product(outer), 1, *x.shape[-2:]))
    y = PooledMax((int(height), int(width))).call(pictures)
    wanted = (*outer, rows, 1, columns, 1) if keepdims else (*outer, rows, columns)
    return reshape_to(y, wanted)


IDIOMS = by_kind(
    [
        Idiom(
            lambda x, shape, axis, keepdims, may_be_empty: pattern[NAMED["max"]](
                pattern.Reshape(x, shape), axis=axis, keepdims=keepdims, may_be_empty=may_be_empty
            ),
            lambda x, shape, axis, keepdims, may_be_empty: _refusal(x, shape, axis),
            _pooled,
            exact="bit",
        )
    ]
)
"""The idiom, by the kind of its outermost op."""
