"""The derivative rule of ReduceProd: each element's cotangent is the product of all the others.

That is z / x only where x is not 0, so it is computed as a product: elements are multiplied in pairs, pairs of pairs
and so on up a binary tree, and on the way down each half's product goes to the other half. This takes three
multiplications an element and is right at any number of zeros, to any order of differentiation.
"""

import numpy as np

from primsplit import dims
from primsplit.array import Array
from primsplit.broadcasting import full, inverse_permutation, reshape_to, transpose
from primsplit.dims import Dim, Size
from primsplit.errors import MissingRule
from primsplit.numpy.axes import slab_of
from primsplit.ops import op
from primsplit.rules.reduction import Reduction
from primsplit.rules.table import Pullback, rrule

BLOCK = 32
"""Elements of a tree where the number of elements is known only at run time."""
DEPTH = 7
"""Levels of trees then: enough for 32 ** 7 elements."""


@rrule("ReduceProd")
def reduce_prod(
    x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
) -> tuple[Array, Pullback]:
    """Every element's factor is the product of the others."""
    z = op.ReduceProd(x, axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
    reduction = Reduction(x, axes, keepdims, noop_with_empty_axes)

    def pullback(dz: Array) -> list[Array | None]:
        dx = op.Mul(_others_along(reduction), reduction.restored(dz), types=[x.type])
        return [dx, None][: 1 if axes is None else 2]

    return z, pullback


def _others_along(reduction: Reduction) -> Array:
    """For each element of `x`, the product of the others that are reduced with it."""
    x, kept = reduction.x, reduction.kept
    if kept is None:
        raise MissingRule(
            "ReduceProd over axes that are known only at run time has no derivative rule",
            cure="Give the axes as constants.",
        )
    gone = [i for i, (d, k) in enumerate(zip(x.shape, kept, strict=True)) if dims.is_one(k) and not dims.is_one(d)]
    order = [*gone, *(i for i in range(x.ndim) if i not in gone)]
    first = transpose(x, order)
    count = dims.product(x.shape[i] for i in gone)
    rest = dims.product(x.shape[i] for i in order[len(gone) :])
    products = product_of_others(reshape_to(first, (count, rest)), DEPTH)
    return transpose(reshape_to(products, first.shape), inverse_permutation(order))


def product_of_others(x: Array, depth: int) -> Array:
    """For each element of each column of a matrix, the product of the others in the column."""
    count, columns = x.shape
    if not isinstance(count, Size):
        return _by_tree(x, None)
    if depth == 0:
        return full(x.shape, np.ones((), x.dtype))
    blocks = (count + (BLOCK - 1)) // BLOCK
    padded = _with_ones(x, blocks * BLOCK)
    layers = reshape_to(padded, (BLOCK, blocks, columns))
    outer = product_of_others(op.ReduceProd(layers, [0], keepdims=0), depth - 1)
    found = _by_tree(layers, reshape_to(outer, (1, blocks, columns)))
    return slab_of(reshape_to(found, padded.shape), 0, count)


def _by_tree(x: Array, outer: Array | None) -> Array:
    """The product of the others along the first axis, of literal size, times `outer`."""
    count = int(x.shape[0])  # type: ignore[arg-type]
    levels = max(count - 1, 0).bit_length()
    product = _with_ones(x, 1 << levels) if count else x
    halves: list[tuple[Array, Array]] = []
    for level in range(levels):
        left, right = op.Split(product, axis=0, num_outputs=2, outputs=2)
        halves.append((left, right))
        if level < levels - 1:
            product = left * right
    found = outer
    for left, right in reversed(halves):
        parts = (right, left) if found is None else (found * right, found * left)
        found = op.Concat(*parts, axis=0)
    return full(x.shape, np.ones((), x.dtype)) if found is None else slab_of(found, 0, count)


def _with_ones(x: Array, count: Dim) -> Array:
    """`x` with rows of ones added at the end, to `count` rows."""
    missing = count - x.shape[0]
    if dims.same(missing, 0):
        return x
    padding = full((missing, *x.shape[1:]), np.ones((), x.dtype))
    return reshape_to(op.Concat(x, padding, axis=0), (count, *x.shape[1:]))
