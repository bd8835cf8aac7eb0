"""Change shapes in a program (un-broadcast, expand, reshape), for sizes that may be symbols.

```
sum_to(x: float32[5,3], (3,))   ->   ReduceSum(x, [0], keepdims=0)
```
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import zero_unless


def sum_to(x: Array, shape: Shape) -> Array:
    """Return the sum of `x` over the axes that broadcasting `shape` to `x.shape` added or stretched.

    If only the run knows whether an axis was stretched, the axes are computed at run time; a run in which the shapes do
    not fit fails.

    >>> program = ps.trace(lambda x, y: extend.sum_to(x * y, y.shape), np.ones((2, 3)), np.ones(3))
    >>> program(np.ones((2, 3)), np.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    if dims.same_shape(x.shape, shape):
        return x
    lead = len(x.shape) - len(shape)
    inner = range(lead, len(x.shape))
    pairs = [(axis, x.shape[axis], shape[axis - lead]) for axis in inner]
    stretched = [axis for axis, wide, narrow in pairs if dims.is_one(narrow) and not dims.is_one(wide)]
    unsure = [a for a, wide, narrow in pairs if not dims.is_one(narrow) and not dims.same(wide, narrow)]
    if unsure:
        return _sum_to_unsure(x, shape, lead, [*range(lead), *stretched], unsure)
    if not stretched:
        return op.ReduceSum(x, list(range(lead)), keepdims=0)
    summed = op.ReduceSum(x, [*range(lead), *stretched], keepdims=1)
    return op.Squeeze(summed, list(range(lead))) if lead else summed


def _sum_to_unsure(x: Array, shape: Shape, lead: int, sure: list[int], unsure: list[int]) -> Array:
    sizes = tracing.size_vector([shape[axis - lead] for axis in unsure])
    stretched = op.Compress(np.array(unsure, dtype=np.int64), op.Equal(sizes, 1))
    axes = op.Concat(np.array(sure, dtype=np.int64), stretched, axis=0) if sure else stretched
    own = tuple(fresh("wide") if axis + lead in unsure else size for axis, size in enumerate(shape))
    declared = Type(x.dtype, ((1,) * lead) + own)
    summed = op.ReduceSum(x, axes, keepdims=1, noop_with_empty_axes=1, types=[declared])
    return op.Reshape(summed, tracing.size_vector(shape), allowzero=1, types=[Type(x.dtype, shape)])


def sum_like(x: Array, like: Array) -> Array:
    """Return `x` summed over the axes of `like` that broadcasting stretched; both may be of unknown rank."""
    if x.type.shape is not None and like.type.shape is not None:
        return sum_to(x, like.shape)
    shape, rank = op.Shape(like), op.Shape(op.Shape(x))
    led = op.Concat(op.ConstantOfShape(op.Sub(rank, op.Shape(shape)), value=np.ones(1, np.int64)), shape, axis=0)
    axes = op.Compress(op.Range(0, op.Squeeze(rank, [0]), 1), op.Equal(led, 1))
    summed = op.ReduceSum(x, axes, keepdims=1, noop_with_empty_axes=1)
    return op.Reshape(summed, shape, allowzero=1, types=[like.type])


def expand_to(x: Array, shape: Shape) -> Array:
    """Return `x` broadcast to exactly this shape, whose sizes may be symbols.

    >>> program = ps.trace(lambda x, y: extend.expand_to(x, y.shape), np.ones(3), ps.spec("float64", ["N", 3]))
    >>> program(np.ones(3), np.ones((2, 3))).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    if dims.same_shape(x.shape, shape):
        return x
    return op.Expand(x, tracing.size_vector(shape), types=[Type(x.dtype, shape)])


def reshape_like(x: Array, like: Array) -> Array:
    """Return `x` in the shape of `like`, which has as many elements; either may be of unknown rank."""
    if like.type.shape is None or x.type.shape is None:
        return op.Reshape(x, op.Shape(like), allowzero=1, types=[Type(x.dtype, like.type.shape)])
    return reshape_to(x, like.shape)


def reshape_to(x: Array, shape: Sequence[Dim]) -> Array:
    """Return `x` in this shape, which has as many elements; sizes may be symbols, and 0.

    A run in which a symbol is another size than the literal ones of `x` leave for it fails.

    >>> program = ps.trace(lambda x: extend.reshape_to(x, (x.shape[0] * 2, 2)), ps.spec("float64", ["N", 4]))
    >>> program(np.ones((3, 4))).shape
    (6, 2)
    """
    if dims.same_shape(x.shape, tuple(shape)):
        return x
    symbolic = [i for i, d in enumerate(shape) if isinstance(d, Size)]
    literals_positive = all(d != 0 for d in shape if isinstance(d, int))
    is_claim = all(isinstance(d, int) for d in x.shape)
    if len(symbolic) == 1 and literals_positive and not is_claim:
        wanted: Any = [-1 if isinstance(d, Size) else d for d in shape]
        return op.Reshape(x, wanted, types=[Type(x.dtype, shape)])
    return reshape_strictly(x, shape)


def reshape_strictly(x: Array, shape: Sequence[Dim]) -> Array:
    """Return `x` in this shape; a run in which the number of elements differs fails."""
    return op.Reshape(x, tracing.size_vector(shape), allowzero=1, types=[Type(x.dtype, shape)])


def of_size(x: Array, axis: int, size: Dim) -> Array:
    """Return `x`, whose axis has this size; a run in which it has another fails."""
    axis %= x.ndim
    return of_shape(x, (*x.shape[:axis], size, *x.shape[axis + 1 :]))


def of_one_size(a: Array, i: int, b: Array, j: int) -> tuple[Array, Array]:
    """Return the arrays, two axes of which have one size; a run in which these differ fails, also if one is 1."""
    if isinstance(a.shape[i], Size) and not isinstance(b.shape[j], Size):
        return of_size(a, i, b.shape[j]), b
    return a, of_size(b, j, a.shape[i])


def of_shape(x: Array, shape: Sequence[Dim]) -> Array:
    """Return `x`, which has this shape; a run in which it has another fails.

    If one size is undecided, the number of elements decides, unless it may be 0. If several are, it would not tell a
    shape from its transpose: they are compared one by one.

    A Reshape decides: a Mul would broadcast a size of 1, an Expand would widen what is written to, and a Gather would
    take whatever there is.
    """
    undecided = [i for i, (own, size) in enumerate(zip(x.shape, shape, strict=True)) if not dims.same(own, size)]
    if not undecided:
        return x
    others = [size for i, size in enumerate(shape) if i not in undecided]
    if len(undecided) == 1 and all(dims.above(size, 0) for size in others):
        return reshape_strictly(x, shape)
    return reshaped_unless(op.Not(op.Equal(op.Shape(x), tracing.size_vector(shape))), x, shape)


def reshaped_unless(wrong: Array, x: Array, shape: Sequence[Dim]) -> Array:
    """Return `x` in this shape; a run in which one of the answers is True fails.

    In such a run an index is out of bounds. The Reshape stays in the file, though it changes no shape: it is the check.
    """
    sizes = op.Add(tracing.size_vector(shape), zero_unless(wrong, ValueError("the sizes of the arrays do not fit")))
    return op.Reshape(x, sizes, allowzero=1, types=[Type(x.dtype, shape)])


def expanded_strictly(x: Array, shape: Sequence[Dim]) -> Array:
    """Return `x` broadcast to a shape.

    A run in which that is impossible fails; Expand keeps a size above a wanted 1.
    """
    lead = len(shape) - x.ndim
    own = tuple(s if dims.same(d, s) else fresh("wide") for d, s in zip(x.shape, shape[lead:], strict=True))
    wide = op.Expand(x, tracing.size_vector(shape), types=[Type(x.dtype, (*shape[:lead], *own))])
    return reshape_strictly(wide, shape)


def zeros(shape: Sequence[Dim], dtype: np.dtype[Any]) -> Array:
    """Return zeros of this shape."""
    return full(shape, np.zeros((), dtype))


def full(shape: Sequence[Dim], value: np.ndarray[Any, Any] | np.generic) -> Array:
    """Return an array of this shape filled with one number, in the number's dtype."""
    if any(isinstance(d, Size) for d in shape):
        # Of a vector that is computed for a long size, inference would not tell the sizes.
        told = [Type(np.asarray(value).dtype, shape)]
        return op.ConstantOfShape(tracing.size_vector(shape), value=np.asarray(value).reshape(1), types=told)
    literal = tuple(int(d) for d in shape)
    if math.prod(literal) <= 1:
        return Array(tracing.constant(np.full(literal, value)))
    return op.Expand(np.asarray(value), list(literal))


def zeros_like(x: Array) -> Array:
    """Return zeros of the shape and dtype of `x`."""
    return op.ConstantOfShape(op.Shape(x), value=np.zeros(1, x.dtype), types=[x.type])


def ones_like(x: Array) -> Array:
    """Return ones of the shape and dtype of `x`."""
    return op.ConstantOfShape(op.Shape(x), value=np.ones(1, x.dtype), types=[x.type])


def transpose(x: Array, permutation: Sequence[int]) -> Array:
    """Return `x` with its axes in this order."""
    if list(permutation) == list(range(len(permutation))):
        return x
    return op.Transpose(x, perm=list(permutation))


def swapped(x: Array) -> Array:
    """Return an array with its last two axes swapped."""
    rank = len(x.shape)
    turned: Array = op.Transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])
    return turned


def inverse_permutation(permutation: Sequence[int]) -> list[int]:
    """Return the permutation that undoes this one."""
    return [int(i) for i in np.argsort(permutation)]


def axis_first(x: Array, axis: int) -> Array:
    """Return `x` with one axis moved to the front."""
    rank = len(x.shape)
    return transpose(x, (axis % rank, *(i for i in range(rank) if i != axis % rank)))


def axis_back(x: Array, axis: int) -> Array:
    """Return `x` with its first axis moved to the place `axis`."""
    rank = len(x.shape)
    rest = list(range(1, rank))
    return transpose(x, (*rest[: axis % rank], 0, *rest[axis % rank :]))


def size_scalar(size: Dim) -> Array:
    """Return the size as an int64 without axes."""
    if isinstance(size, int):
        return Array(tracing.constant(np.array(size, np.int64)))
    return op.Squeeze(Array(tracing.size_of(size)), [0])


MOST_WRITTEN = 1024
"""Up to so many integers become a constant; more are computed by a Range."""


def count_up(size: Dim) -> Array:
    """Return 0, 1, ... up to the size: int64."""
    if isinstance(size, int) and size <= MOST_WRITTEN:
        return Array(tracing.constant(np.arange(size, dtype=np.int64)))
    return op.Range(0, size_scalar(size), 1, types=[Type(np.int64, (size,))])


def int_scalar(number: Array) -> Array:
    """Return an integer of any dtype, in an array of one element, as an int64 without axes."""
    return op.Cast(op.Reshape(number, np.zeros(0, np.int64)), to=np.int64)


def as_vector(position: Array | int) -> Array | list[int]:
    """Return a position as an operator takes it; a traced one is a vector of one element already."""
    return position if isinstance(position, Array) else [position]
