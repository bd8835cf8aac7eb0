"""Systems whose matrix is known while tracing and has few diagonals: eliminated then, two short sweeps in the file.

    A x = b, A [n, n] known, b traced   ->   Scan(Q^T, b), Scan([R^-1, -R^-1 S], .)

Rows are eliminated block by block with reflections, so that no pivots are needed. A block of s columns takes the rows
that are left over from the block before and s further ones; `forward` are the transposes of its reflections, `backward`
what makes s unknowns of s eliminated right sides and the unknowns after them. Both hold (s + l)^2 numbers a block, of l
diagonals below the main one. A sparse matrix gets rows and columns in another order first, by Cuthill and McKee.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import of_length
from primsplit.ir import Type
from primsplit.numpy.dense.loop import cut, scan
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["Sweeps", "known_reals", "of_diagonals", "of_sparse", "of_toeplitz", "product", "solution"]

Numbers = np.ndarray[Any, Any]

ROWS = 16
"""The least rows that a block takes up: fewer take more steps, more of them more numbers."""

TOLERANCE = 1e4
"""The largest residual, in units of rounding, for which the sweeps replace elimination with pivots."""


@dataclass(frozen=True)
class Sweeps:
    """The factors of one known matrix [n, n], which solve systems with it. `order` lists its rows and columns."""

    size: int
    forward: Numbers
    backward: Numbers
    order: Numbers | None

    def solve(self, b: Array) -> Array:
        """The solution for right sides [n, k]."""
        count, rows = self.backward.shape[:2]
        below = self.forward.shape[1] - rows
        right = b if self.order is None else op.Gather(b, self.order, axis=0, types=[b.type])
        padded = op.Pad(right, [0, 0, count * rows + below - self.size, 0])
        blocks = op.Reshape(cut(padded, below, None, -2), [count, rows, -1])
        columns = b.shape[1]
        blocks = op.Identity(blocks, types=[Type(b.dtype, (count, rows, columns))])
        first = op.Identity(cut(padded, 0, below, -2), types=[Type(b.dtype, (below, columns))])
        eliminated = self._down(first, blocks)
        solved = op.Slice(op.Reshape(self._up(eliminated), [count * rows, -1]), [0], [self.size], [0], types=[b.type])
        return solved if self.order is None else op.Gather(solved, np.argsort(self.order), axis=0, types=[b.type])

    def _down(self, first: Array, blocks: Array) -> Array:
        rows = self.backward.shape[1]

        def step(left: Array, by: Array, block: Array) -> tuple[list[Array], list[Array]]:
            both = op.MatMul(by, op.Concat(left, block, axis=0))
            return [op.Identity(cut(both, rows, None, -2), types=[left.type])], [cut(both, 0, rows, -2)]

        return scan(step, [first], [array_like(self.forward.astype(blocks.dtype)), blocks])[1]

    def _up(self, eliminated: Array) -> Array:
        after = self.backward.shape[2] - self.backward.shape[1]
        last = op.Slice(eliminated, [0], [1], [0])
        none = op.Squeeze(op.Sub(last, last), [0])

        def step(later: Array, by: Array, block: Array) -> tuple[list[Array], list[Array]]:
            found = op.MatMul(by, op.Concat(block, cut(later, 0, after, -2), axis=0))
            return [op.Identity(found, types=[later.type])], [found]

        scanned = [array_like(self.backward.astype(eliminated.dtype)), eliminated]
        kept = Type(eliminated.dtype, eliminated.shape[1:])
        return scan(step, [op.Identity(none, types=[kept])], scanned, backward=True)[1]

    def solve_known(self, b: Numbers) -> Numbers:
        """The same for a known vector."""
        count, rows, _ = self.backward.shape
        below = self.forward.shape[1] - rows
        padded = np.zeros(count * rows + below)
        padded[: self.size] = b if self.order is None else b[self.order]
        left, found = padded[:below], np.zeros((count, rows))
        for i in range(count):
            both = self.forward[i] @ np.concatenate([left, padded[below + i * rows : below + (i + 1) * rows]])
            found[i], left = both[:rows], both[rows:]
        later = np.zeros(rows)
        for i in reversed(range(count)):
            later = found[i] = self.backward[i] @ np.concatenate([found[i], later])[: self.backward.shape[2]]
        x = found.ravel()[: self.size]
        return x if self.order is None else x[np.argsort(self.order)]


def of_diagonals(diagonals: Numbers, below: int, above: int) -> Sweeps | None:
    """The sweeps of a matrix given as `scipy.linalg.solve_banded` takes it; None where they would not be accurate."""
    size = diagonals.shape[1]

    def product(x: Numbers) -> Numbers:
        found = np.zeros(size)
        for i, row in enumerate(diagonals):
            shift = above - i
            first, last = max(0, -shift), min(size, size - shift)
            found[first:last] += row[first + shift : last + shift] * x[first + shift : last + shift]
        return found

    return _checked(_eliminated(diagonals, below, above, None), product, np.max(np.sum(np.abs(diagonals), axis=0)))


def of_sparse(matrix: Any) -> Sweeps | None:
    """The sweeps of a sparse matrix; None for one with many diagonals in any order, or where they are not accurate."""
    known = matrix.tocsr().astype(np.float64)
    size = known.shape[0]
    pattern = (abs(known) + abs(known.T)).tocsr()
    graphs: Any = importlib.import_module("scipy.sparse.csgraph")
    orders = [None, graphs.reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64)]
    widths = {}
    for place, order in enumerate(orders):
        turned = (known if order is None else known[order][:, order]).tocoo()
        apart = turned.row - turned.col
        widths[place] = (turned, int(max(apart.max(initial=0), 0)), int(max(-apart.min(initial=0), 0)))
    place = min(widths, key=lambda p: sum(widths[p][1:]))
    turned, below, above = widths[place]
    if _numbers_a_row(below, above) > size:
        return None
    diagonals = np.zeros((below + above + 1, size))
    np.add.at(diagonals, (above + turned.row - turned.col, turned.col), turned.data)
    found = _eliminated(diagonals, below, above, orders[place])
    return _checked(found, lambda x: known @ x, np.max(abs(known).sum(axis=1)))


def of_toeplitz(column: Numbers, row: Numbers) -> Sweeps | None:
    """The sweeps of the Toeplitz matrix of this column and row, whose first element is not read."""
    below, above = (int(np.max(np.flatnonzero(x[1:]), initial=-1)) + 1 for x in (column, row))
    if _numbers_a_row(below, above) > column.size:
        return None
    numbers = np.concatenate([row[above:0:-1], column[: below + 1]])
    return of_diagonals(np.repeat(numbers[:, None], column.size, axis=1), below, above)


def known_reals(x: Any) -> Numbers | None:
    """The numbers of an array that is known while tracing, if they are real, in float64."""
    found = x.known() if isinstance(x, Array) else None if holds_traced(x) else np.asarray(x)
    return None if found is None or found.dtype.kind not in "biuf" else found.astype(np.float64)


def solution(sweeps: Callable[[], Sweeps | None], b: Any) -> Array | None:
    """The solution for a real vector or matrix of right sides, in float64; None where there are no sweeps."""
    right = array_like(b)
    if right.dtype.kind == "c" or len(right.shape) not in {1, 2}:
        return None
    made = sweeps()
    if made is None:
        return None
    right = cast_to(of_length(right, made.size, 0), np.float64)
    if len(right.shape) == 2:
        return made.solve(right)
    return op.Squeeze(made.solve(op.Unsqueeze(right, [1])), [1])


def product(matrix: Any, x: Any) -> Any:
    """A known sparse matrix of few diagonals times traced numbers [n, k], diagonal by diagonal."""
    known = matrix.tocoo()
    rows, columns = known.shape
    offsets = np.unique(known.col - known.row)
    first, last = int(min(offsets[0], 0)), int(max(offsets[-1], 0))
    padded: Any = np.pad(x, [(-first, max(rows + last - columns, 0)), (0, 0)])
    found: Any = 0.0
    for offset in offsets:
        numbers, held = np.zeros((rows, 1)), known.col - known.row == offset
        numbers[known.row[held], 0] = known.data[held]
        found = found + numbers * padded[offset - first : offset - first + rows]
    return found


def _numbers_a_row(below: int, above: int) -> float:
    rows = max(ROWS - below, below + above, 1)
    return (rows + below) ** 2 / rows + rows + below + above


def _eliminated(diagonals: Numbers, below: int, above: int, order: Numbers | None) -> Sweeps | None:
    """The reflections block by block; None for a singular matrix."""
    size, beyond = diagonals.shape[1], below + above
    rows = max(min(ROWS - below, size), beyond, 1)
    count = max(1, -(-size // rows))
    forward = np.zeros((count, rows + below, rows + below))
    backward = np.zeros((count, rows, rows + beyond))
    left = np.zeros((below, rows + beyond))
    left[:, :] = _rows_of(diagonals, above, 0, below, 0, rows + beyond)
    for i in range(count):
        start = i * rows
        further = _rows_of(diagonals, above, start + below, start + below + rows, start, start + rows + beyond)
        window = np.concatenate([left, further])
        turn, _ = np.linalg.qr(window[:, :rows], mode="complete")
        forward[i], turned = turn.T, turn.T @ window
        try:
            inverse = np.linalg.inv(np.triu(turned[:rows, :rows]))
        except np.linalg.LinAlgError:
            return None
        backward[i] = np.concatenate([inverse, -inverse @ turned[:rows, rows:]], axis=1)
        left = np.concatenate([turned[rows:, rows:], np.zeros((below, rows))], axis=1)
    return Sweeps(size, forward, backward, order)


def _rows_of(diagonals: Numbers, above: int, first: int, last: int, left: int, right: int) -> Numbers:
    """Some rows and columns of the matrix, beyond which it goes on as the identity."""
    size = diagonals.shape[1]
    row, column = np.arange(first, last)[:, None], np.arange(left, right)
    place = above + row - column
    is_held = (place >= 0) & (place < len(diagonals)) & (row < size) & (column < size)
    found = np.where(is_held, diagonals[np.clip(place, 0, len(diagonals) - 1), np.minimum(column, size - 1)], 0.0)
    return np.where((row >= size) & (row == column), 1.0, found)


def _checked(sweeps: Sweeps | None, product: Callable[[Numbers], Numbers], norm: Any) -> Sweeps | None:
    """The sweeps, if they solve for a random right side with a small residual."""
    if sweeps is None or not np.isfinite(sweeps.backward).all():
        return None
    b = np.random.default_rng(0).standard_normal(sweeps.size)
    x = sweeps.solve_known(b)
    residual = np.max(np.abs(product(x) - b), initial=0.0)
    allowed = TOLERANCE * np.finfo(np.float64).eps * (norm * np.max(np.abs(x), initial=0.0) + 1.0)
    return sweeps if residual <= allowed else None
