"""The derivative rule of ReduceProd: each element's cotangent is the product of all the others, zeros or not.

If the number of elements is literal, they are multiplied in pairs, pairs of pairs and so on up a binary tree, and on
the way down each half's product goes to the other half: three multiplications an element, right to any order. If only
the run knows the number, the elements are split into zeros and the rest, see `_others_by_zeros`.

```
z = ReduceProd([a, b, c])   ->   dx = Mul([b*c, a*c, a*b], dz)
```
"""

import numpy as np

from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.axes import slab_of
from primsplit.ops import op
from primsplit.rules.reduction import Reduction, from_front
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, inverse_permutation, reshape_to, transpose


@rrule("ReduceProd")
def reduce_prod(
    x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
) -> tuple[Array, Pullback]:
    """Every element's factor is the product of the others."""
    places = from_front(x, axes)
    z = op.ReduceProd(x, places, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
    reduction = Reduction(x, places, keepdims, noop_with_empty_axes)

    def pullback(dz: Array) -> list[Array | None]:
        dx = op.Mul(_others(reduction), reduction.wide(reduction.restored(dz)), types=[x.type])
        return [dx, None][: 1 if axes is None else 2]

    return z, pullback


def _others(reduction: Reduction) -> Array:
    """Return, for each element of `x`, the product of the others that are reduced with it."""
    x, kept = reduction.x, reduction.kept
    if kept is None:
        return _others_by_zeros(reduction)
    gone = [i for i, (d, k) in enumerate(zip(x.shape, kept, strict=True)) if dims.is_one(k) and not dims.is_one(d)]
    count = dims.product(x.shape[i] for i in gone)
    if isinstance(count, Size):
        return _others_by_zeros(reduction)
    order = [*gone, *(i for i in range(x.ndim) if i not in gone)]
    first = transpose(x, order)
    joined = reshape_to(first, (count, *first.shape[len(gone) :]))
    return transpose(reshape_to(_others_by_tree(joined, count), first.shape), inverse_permutation(order))


def _others_by_tree(x: Array, count: int) -> Array:
    """Return the product of the others along the first axis, which has `count` elements."""
    levels = max(count - 1, 0).bit_length()
    product = _with_ones(x, 1 << levels) if count else x
    halves: list[tuple[Array, Array]] = []
    for level in range(levels):
        left, right = op.Split(product, axis=0, num_outputs=2, outputs=2)
        halves.append((left, right))
        if level < levels - 1:
            product = left * right
    found: Array | None = None
    for left, right in reversed(halves):
        parts = (right, left) if found is None else (found * right, found * left)
        found = op.Concat(*parts, axis=0)
    return full(x.shape, np.ones((), x.dtype)) if found is None else slab_of(found, 0, count)


def _with_ones(x: Array, count: Dim) -> Array:
    """Append rows of ones to `x`, up to `count` rows."""
    missing = count - x.shape[0]
    if dims.same(missing, 0):
        return x
    return op.Concat(x, full((missing, *x.shape[1:]), np.ones((), x.dtype)), axis=0)


def _others_by_zeros(reduction: Reduction) -> Array:
    """Return the product of the other elements that are not zero, times that of the others that are.

    The first is the product of all that are not zero over the element. The second has the value 1 or 0; written as the
    elementary symmetric polynomial of the zeros, by Newton's identities, it has the right derivatives too. Those of
    three elements suffice for fourth derivatives of the product. Fifth ones, if more elements are zero, are inf or NaN:
    `beyond` is 0 with its first three derivatives.
    """
    x = reduction.x
    is_zero = op.Equal(x, 0.0)
    mark = op.Cast(is_zero, to=x.dtype)
    rest = op.Where(is_zero, 1.0, x)
    product = op.ReduceProd(rest, reduction.axes, keepdims=1, noop_with_empty_axes=reduction.noop)
    others = op.Div(reduction.wide(product), rest, types=[x.type])
    zeros = op.Where(is_zero, x, 0.0)
    count = _fellows(reduction, mark)
    first = _fellows(reduction, zeros)
    squares, cubes = _fellows(reduction, zeros * zeros), _fellows(reduction, zeros * zeros * zeros)
    pairs = (first * first - squares) * 0.5
    triples = (first * first * first - first * squares * 3.0 + cubes * 2.0) * (1.0 / 6.0)
    is_beyond = op.Greater(count, 3.0)
    beyond = op.Where(is_beyond, op.Pow(op.Where(is_beyond, first, 1.0), 3.5), triples)
    several = op.Where(op.Equal(count, 2.0), pairs, beyond)
    return others * op.Where(op.Equal(count, 0.0), 1.0, op.Where(op.Equal(count, 1.0), first, several))


def _fellows(reduction: Reduction, x: Array) -> Array:
    """Return, for each element, the sum of the others that are reduced with it."""
    return op.Sub(reduction.wide(reduction.total(x)), x, types=[reduction.x.type])
