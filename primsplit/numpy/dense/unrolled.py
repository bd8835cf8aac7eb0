"""Elimination, substitution and the Cholesky factor of matrices of at most `MOST` rows, without a loop.

Each algorithm is written out, step by step, for arrays whose matrix axes come first and whose batch axes come last: one
operator works on one element, or a row, of all matrices of a batch at once, along contiguous memory.

    A [B,4,4]  ->  Transpose [4,4,B]  ->  first column [4,1,B], pivots [1,1,B], ...

A Scan costs as much as thirty operators before its first step, and a product of small matrices 180 ns a matrix.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Shape
from primsplit.numpy.dense.loop import not_a_number
from primsplit.ops import op
from primsplit.tracing.array import Array

MOST = 8
"""The most rows. The number of operators grows with them, and what a loop gains by products of matrices."""

FEW = 128
"""The most multiplications of a product of two matrices that is written out: more of them MatMul does faster."""

MANY = 64
"""The least number of matrices in a batch for which their products are written out."""


def are_few(shape: Shape) -> bool:
    """Return whether the last of these sizes is known to be between 1 and `MOST`, and others are before it.

    They are those of a batch: for one matrix loops are as fast, and shorter.
    """
    return len(shape) > 1 and isinstance(shape[-1], int) and 1 <= shape[-1] <= MOST


def front(x: Array) -> Array:
    """`x` [..., n, m] with its matrix axes first."""
    rank = len(x.shape)
    return op.Transpose(x, perm=[rank - 2, rank - 1, *range(rank - 2)])


def back(x: Array) -> Array:
    """`x` [n, m, ...] with its matrix axes last."""
    rank = len(x.shape)
    return op.Transpose(x, perm=[*range(2, rank), 0, 1])


def eliminated(a: Array) -> tuple[Array, Array, Array]:
    """The multipliers, the columns after elimination and the pivots of A [..., n, n], as in `lu.factor`.

    All of them with rows in the new order, of which only the triangles count.
    """
    rest = front(a)
    n = int(a.shape[-1])
    numbers = np.arange(n).reshape(n, *(1 for _ in rest.shape[1:]))
    used: Array | None = None
    multipliers, rows, places = [], [], []
    for k in range(n):
        column, right = _split(rest, 1, 1) if k < n - 1 else (rest, rest)
        magnitude = op.Abs(column)
        place = op.ArgMax(magnitude if used is None else op.Where(used, -1.0, magnitude), axis=0, keepdims=1)
        row = picked(rest, place)
        places.append(place)
        rows.append(row)
        if k == n - 1:
            break
        here = op.Equal(numbers, place)
        used = here if used is None else op.Or(used, here)
        head, tail = _split(row, 1, 1)
        safe = op.Where(op.Equal(head, 0.0), 1.0, head)
        multiplier = op.Where(used, 0.0, op.Div(column, safe))
        multipliers.append(multiplier)
        rest = op.Sub(right, op.Mul(multiplier, tail))
    order = _joined(places, 0)
    unit = picked(_joined([*multipliers, multipliers[-1]], 1), order) if multipliers else rest
    worked = _full(rows, n)
    return back(unit), op.Add(back(worked), not_a_number(a)), op.Squeeze(back(order), [-1])


def picked(x: Array, rows: Array) -> Array:
    """The rows of `x` [n, m, ...] at `rows` [k, 1, ...]."""
    shape = op.Concat(np.array([rows.shape[0], x.shape[1]]), op.Shape(x, start=2), axis=0)
    index = op.Expand(rows, shape, types=[Type(rows.dtype, (rows.shape[0], *x.shape[1:]))])
    return op.GatherElements(x, index, axis=0)


def permuted(x: Array, order: Array) -> Array:
    """The rows of X [..., n, m] at `order` [..., n]."""
    return back(picked(front(x), front(op.Unsqueeze(order, [-1]))))


def inverse_order(order: Array) -> Array:
    """The permutations [..., n] that undo these, as in `lu.inverse_order`."""
    turned = front(op.Unsqueeze(order, [-1]))
    numbers = np.arange(int(order.shape[-1])).reshape(-1, *(1 for _ in turned.shape[1:]))
    hits = op.Equal(numbers, op.Transpose(turned, perm=[1, 0, *range(2, len(turned.shape))]))
    found = op.ArgMax(op.Cast(hits, to=np.int32), axis=1, keepdims=1)
    return op.Squeeze(back(found), [-1])


def inversions(order: Array) -> Array:
    """Return the number of inversions of permutations [..., n], as float32."""
    turned = front(op.Unsqueeze(order, [-1]))
    first, second = np.triu_indices(int(order.shape[-1]), 1)
    pairs = op.Greater(op.Gather(turned, first, axis=0), op.Gather(turned, second, axis=0))
    return op.ReduceSum(op.Cast(pairs, to=np.float32), [0, 1], keepdims=0)


def _split(x: Array, first: int, axis: int) -> tuple[Array, Array]:
    """The first elements along an axis, and those after them."""
    one, two = op.Split(x, [first, int(x.shape[axis]) - first], axis=axis, outputs=2)
    return one, two


def _joined(parts: Sequence[Array], axis: int) -> Array:
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)


def _full(rows: Sequence[Array], n: int) -> Array:
    """The matrix [n, n, ...] of rows [1, n - k, ...] that end at its last column; before them are other numbers."""
    starts = np.cumsum([0, *(n - k for k in range(n))])
    places = np.array([[starts[i] + max(j - i, 0) for j in range(n)] for i in range(n)])
    return op.Squeeze(op.Gather(_joined(rows, 1), places, axis=1), [0])


def substituted(t: Array, b: Array, *, lower: bool, unit: bool) -> Array:
    """X with T X = B by substitution, as in `triangular.solve_triangular`."""
    n = int(t.shape[-1])
    diagonal, beyond = _columns(front(t), lower=lower, unit=unit)
    rest = front(b)
    found: list[Array] = []
    for k in range(n) if lower else reversed(range(n)):
        row, left = rest, n - 1 - k if lower else k
        if left:
            row, rest = _split(rest, 1, 0) if lower else _split(rest, left, 0)[::-1]
        found.append(row if unit else op.Div(row, diagonal[k]))
        if left:
            rest = op.Sub(rest, op.Mul(beyond[k if lower else k - 1], found[-1]))
    return back(_joined(found if lower else found[::-1], 0))


def _columns(t: Array, *, lower: bool, unit: bool) -> tuple[list[Array], list[Array]]:
    """The diagonal elements [1, 1, ...] of T [n, n, ...], and what is beyond them in each column [r, 1, ...].

    Beyond them is below them, or above them with `lower` false. With `unit` there are no diagonal elements.
    """
    n = int(t.shape[0])
    flat = op.Reshape(t, [n * n, 1, *(0 for _ in t.shape[2:])])
    columns = [range(k + 1, n) if lower else range(k) for k in range(n)]
    pieces = [[k * n + k] for k in range(n) if not unit] + [[i * n + k for i in c] for k, c in enumerate(columns) if c]
    if not pieces:
        return [], []
    kept = op.Gather(flat, np.array([place for piece in pieces for place in piece]), axis=0)
    parts = op.Split(kept, [len(p) for p in pieces], axis=0, outputs=len(pieces)) if len(pieces) > 1 else [kept]
    count = 0 if unit else n
    return list(parts[:count]), list(parts[count:])


def diagonal(x: Array) -> Array:
    """The diagonal of X [..., n, n], as a column [..., n, 1]."""
    n = int(x.shape[-1])
    turned = front(x)
    flat = op.Reshape(turned, [n * n, 1, *(0 for _ in turned.shape[2:])])
    return back(op.Gather(flat, np.arange(0, n * n, n + 1), axis=0))


def adjugate(u: Array) -> Array:
    """The adjugate of the upper triangular part of U [..., n, n], by the recursion of `determinant.cofactors_with`."""
    n = int(u.shape[-1])
    pivots, above = _columns(front(u), lower=False, unit=False)
    one = op.Expand(np.ones((), u.dtype), op.Shape(pivots[0]), types=[pivots[0].type])
    units = np.eye(n, dtype=u.dtype).reshape(n, n, 1, *(1 for _ in u.shape[2:]))
    columns: Array = op.Mul(one, units[0])
    before = [one]
    for j in range(1, n):
        terms = op.Mul(columns, op.Transpose(above[j - 1], perm=[1, 0, *range(2, len(u.shape))]))
        column = op.Sub(units[j], op.ReduceSum(terms, [1], keepdims=1))
        columns = op.Concat(op.Mul(columns, pivots[j]), column, axis=1)
        before.append(op.Mul(before[-1], pivots[j - 1]))
    return back(op.Mul(_joined(before, 0), columns))


def cholesky(a: Array) -> Array:
    """The Cholesky factor of A [..., n, n], as `cholesky.cholesky` has it."""
    rest = front(a)
    n = int(a.shape[-1])
    packed: list[Array] = []
    for _ in range(n - 1):
        column, right = _split(rest, 1, 1)
        head, below = _split(column, 1, 0)
        root = op.Sqrt(head)
        done = op.Div(below, root)
        turned = op.Transpose(done, perm=[1, 0, *range(2, len(done.shape))])
        rest = op.Sub(_split(right, 1, 0)[1], op.Mul(done, turned))
        packed += [root, done]
    root = op.Sqrt(rest)
    if n == 1:
        return back(root)
    nothing = op.Expand(np.zeros((), a.dtype), op.Shape(root), types=[root.type])
    return back(_lower([*packed, root, nothing], n))


def _lower(columns: Sequence[Array], n: int) -> Array:
    """The lower triangle from its columns, below each other, and an element that is 0."""
    starts = np.cumsum([0, *(n - k for k in range(n))])
    places = np.array([[starts[j] + i - j if i >= j else starts[-1] for j in range(n)] for i in range(n)])
    return op.Squeeze(op.Gather(op.Concat(*columns, axis=0), places, axis=0), [2])


def product(x: Array, y: Array) -> Array:
    """The matrix product of X [..., n, k] and Y [..., k, m] with the same batch."""
    sizes = (*x.shape[-2:], y.shape[-1])
    count, batch = dims.product(sizes), dims.product(x.shape[:-2])
    if not isinstance(count, int) or not 0 < count <= FEW or (isinstance(batch, int) and batch < MANY):
        return op.MatMul(x, y)
    left, right = front(x), front(y)
    inner = int(x.shape[-1])
    if inner == 1:
        return back(op.Mul(left, right))
    columns, rows = (op.Split(z, num_outputs=inner, axis=i, outputs=inner) for z, i in ((left, 1), (right, 0)))
    return back(reduce(op.Add, map(op.Mul, columns, rows)))
