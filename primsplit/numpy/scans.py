"""Running results of an associative operation along an axis, in elementwise operators; and the last result alone.

    np.maximum.accumulate(x)      # x float64[4]
    becomes
    d = Max(x[:-1], x[1:])        # combine with the element 1 before
    f = Concat(x[:1], d)
    i = Max(f[:2], f[2:])         # combine with the element 2 before
    k = Concat(f[:2], i)

Within a block of literal size, each element is combined with the one 1, 2, 4, ... places before it (Hillis and Steele,
"Data parallel algorithms", CACM 29 (1986)). Longer axes are cut into blocks whose totals are scanned in the same way:
the work is proportional to the size, and the number of operators to its logarithm.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import dims
from primsplit.ir.dims import Size
from primsplit.numpy.axes import END, slab, slab_of
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_back, axis_first, full, reshape_to, transpose

BLOCK = 32
DEPTH = 7
"""Levels of blocks where the size is known only at run time: enough for 32 ** 7 elements."""

Combine = Callable[[Array, Array], Array]


def scanned(x: Array, axis: int, combine: Combine, identity: Any) -> Array:
    """`combine(...combine(combine(x[0], x[1]), x[2])..., x[i])` for each i along the axis.

    `combine(a, b)` is associative and elementwise; `identity` is the number that changes nothing on its left.
    """
    first = axis_first(x, axis)
    matrix = reshape_to(first, (first.shape[0], dims.product(first.shape[1:])))
    found = _scan(matrix, combine, np.asarray(identity, x.dtype), DEPTH)
    return axis_back(reshape_to(found, first.shape), axis)


def _scan(x: Array, combine: Combine, identity: np.ndarray[Any, Any], depth: int) -> Array:
    count, columns = x.shape
    if not isinstance(count, Size) and count <= 2 * BLOCK:
        return _doubled(x, combine)
    if depth == 0:
        return x
    blocks = (count + (BLOCK - 1)) // BLOCK
    missing = blocks * BLOCK - count
    if not dims.same(missing, 0):
        x = op.Concat(x, full((missing, columns), identity), axis=0)
    layers = transpose(reshape_to(x, (blocks, BLOCK, columns)), (1, 0, 2))
    inner = _doubled(layers, combine)
    totals = reshape_to(slab(inner, 0, BLOCK - 1, BLOCK), (blocks, columns))
    before = op.Concat(full((1, columns), identity), _scan(totals, combine, identity, depth - 1), axis=0)
    both = combine(reshape_to(slab_of(before, 0, blocks), (1, blocks, columns)), inner)
    return slab_of(reshape_to(transpose(both, (1, 0, 2)), (blocks * BLOCK, columns)), 0, count)


def _doubled(x: Array, combine: Combine) -> Array:
    """The scan along a first axis of literal size."""
    count = int(x.shape[0])
    distance = 1
    while distance < count:
        later = combine(slab(x, 0, 0, count - distance), slab(x, 0, distance, END))
        x = op.Concat(slab(x, 0, 0, distance), later, axis=0)
        distance *= 2
    return x


def folded(rows: Array, combine: Combine, identity: Any) -> Array:
    """All rows combined into one, of none `identity`; `combine` is associative, commutative and elementwise."""
    matrix = reshape_to(rows, (rows.shape[0], dims.product(rows.shape[1:])))
    return reshape_to(_fold(matrix, combine, np.asarray(identity, rows.dtype), DEPTH), rows.shape[1:])


def _fold(x: Array, combine: Combine, identity: np.ndarray[Any, Any], depth: int) -> Array:
    """The rows of a matrix combined into one; of sizes that only the run knows, in blocks of literal size."""
    count, columns = x.shape
    if not isinstance(count, Size):
        return reshape_to(_halved(x, combine), (columns,)) if count else full((columns,), identity)
    if depth == 0:
        return reshape_to(slab(op.Concat(x, full((1, columns), identity), axis=0), 0, 0, 1), (columns,))
    blocks = (count + (BLOCK - 1)) // BLOCK
    x = op.Concat(x, full((blocks * BLOCK - count, columns), identity), axis=0)
    layers = transpose(reshape_to(x, (blocks, BLOCK, columns)), (1, 0, 2))
    return _fold(reshape_to(_halved(layers, combine), (blocks, columns)), combine, identity, depth - 1)


def _halved(x: Array, combine: Combine) -> Array:
    """Combine all slices along a first axis of literal size, pair by pair, and keep the axis with a size of 1."""
    count = int(x.shape[0])
    while count > 1:
        half = count // 2
        left = combine(slab(x, 0, 0, half), slab(x, 0, half, 2 * half))
        x = left if count == 2 * half else op.Concat(left, slab(x, 0, count - 1, END), axis=0)
        count -= half
    return x


def lowest(dtype: np.dtype[Any], sign: int) -> Any:
    """The number that is never the maximum (sign -1), or never the minimum (sign 1)."""
    if dtype.kind == "b":
        return sign > 0
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max
    return sign * np.inf
