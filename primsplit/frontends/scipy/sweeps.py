"""Sweeps: the factors of a known matrix of few diagonals, eliminated while tracing, in two short loops of the file.

    A x = b, A [n, n] known, b traced   ->   Scan(Q^T, b), Scan([R^-1, -R^-1 S], .)

Rows are eliminated block by block with reflections, so that no pivots are needed. A block of s columns takes the rows
that are left over from the block before and s further ones; `forward` are the transposes of its reflections, `backward`
what makes s unknowns of s eliminated right sides and the unknowns after them. Both hold (s + l)^2 numbers a block, of l
diagonals below the main one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.dense.loop import cut, scan
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like

__all__ = ["Sweeps", "numbers_a_row", "rows_of", "swept"]

Numbers = np.ndarray[Any, Any]

ROWS = 16
"""The least rows that a block takes up: fewer take more steps, more of them more numbers."""


@dataclass(frozen=True)
class Sweeps:
    """The factors of one known matrix [n, n], which solve systems with it."""

    size: int
    forward: Numbers
    backward: Numbers

    def solve(self, b: Array) -> Array:
        """The solution for right sides [n, k]."""
        count, rows = self.backward.shape[:2]
        below = self.forward.shape[1] - rows
        padded = op.Pad(b, [0, 0, count * rows + below - self.size, 0])
        blocks = op.Reshape(cut(padded, below, None, -2), [count, rows, -1])
        columns = b.shape[1]
        blocks = op.Identity(blocks, types=[Type(b.dtype, (count, rows, columns))])
        first = op.Identity(cut(padded, 0, below, -2), types=[Type(b.dtype, (below, columns))])
        eliminated = self._down(first, blocks)
        return op.Slice(op.Reshape(self._up(eliminated), [count * rows, -1]), [0], [self.size], [0], types=[b.type])

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
        """The solution for one right side that is known: a vector of NumPy's."""
        count, rows, _ = self.backward.shape
        below = self.forward.shape[1] - rows
        padded = np.zeros(count * rows + below)
        padded[: self.size] = b
        left, found = padded[:below], np.zeros((count, rows))
        for i in range(count):
            both = self.forward[i] @ np.concatenate([left, padded[below + i * rows : below + (i + 1) * rows]])
            found[i], left = both[:rows], both[rows:]
        later = np.zeros(rows)
        for i in reversed(range(count)):
            later = found[i] = self.backward[i] @ np.concatenate([found[i], later])[: self.backward.shape[2]]
        return found.ravel()[: self.size]

    def solve_transposed(self, c: Numbers) -> Numbers:
        """The solution of the transposed system for a known vector, as the pullback computes it."""
        count, rows, reach = self.backward.shape
        below, given = self.forward.shape[1] - rows, np.zeros(count * rows)
        given[: self.size] = c
        blocks = given.reshape(count, rows)
        eliminated, after = np.zeros((count, rows)), np.zeros(reach - rows)
        for i in range(count):
            blocks[i, : after.size] += after
            both = self.backward[i].T @ blocks[i]
            eliminated[i], after = both[:rows], both[rows:]
        found, left = np.zeros(below + count * rows), np.zeros(below)
        for i in reversed(range(count)):
            both = self.forward[i].T @ np.concatenate([eliminated[i], left])
            left, found[below + i * rows : below + (i + 1) * rows] = both[:below], both[below:]
        found[:below] = left
        return found[: self.size]


def numbers_a_row(below: int, above: int) -> float:
    """How many numbers the sweeps of a matrix with these diagonals hold for each of its rows."""
    rows = max(ROWS - below, below + above, 1)
    return (rows + below) ** 2 / rows + rows + below + above


def swept(diagonals: Numbers, below: int, above: int) -> Sweeps | None:
    """The reflections block by block of a matrix as `solve_banded` takes it; None for a singular one."""
    size, beyond = diagonals.shape[1], below + above
    rows = max(min(ROWS - below, size), beyond, 1)
    count = max(1, -(-size // rows))
    forward = np.zeros((count, rows + below, rows + below))
    backward = np.zeros((count, rows, rows + beyond))
    left = np.zeros((below, rows + beyond))
    left[:, :] = rows_of(diagonals, above, 0, below, 0, rows + beyond)
    for i in range(count):
        start = i * rows
        further = rows_of(diagonals, above, start + below, start + below + rows, start, start + rows + beyond)
        window = np.concatenate([left, further])
        turn, _ = np.linalg.qr(window[:, :rows], mode="complete")
        forward[i], turned = turn.T, turn.T @ window
        try:
            inverse = np.linalg.inv(np.triu(turned[:rows, :rows]))
        except np.linalg.LinAlgError:
            return None
        backward[i] = np.concatenate([inverse, -inverse @ turned[:rows, rows:]], axis=1)
        left = np.concatenate([turned[rows:, rows:], np.zeros((below, rows))], axis=1)
    return Sweeps(size, forward, backward)


def rows_of(diagonals: Numbers, above: int, first: int, last: int, left: int, right: int) -> Numbers:
    """Some rows and columns of the matrix, beyond which it goes on as the identity."""
    size = diagonals.shape[1]
    row, column = np.arange(first, last)[:, None], np.arange(left, right)
    place = above + row - column
    is_held = (place >= 0) & (place < len(diagonals)) & (row < size) & (column < size)
    found = np.where(is_held, diagonals[np.clip(place, 0, len(diagonals) - 1), np.minimum(column, size - 1)], 0.0)
    return np.where((row >= size) & (row == column), 1.0, found)
