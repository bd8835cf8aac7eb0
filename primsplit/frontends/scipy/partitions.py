"""Systems whose matrix is known while tracing and has few diagonals, solved in parts: all blocks of rows at once.

    A x = b   ->   g = MatMul(A_i^-1, b_i);   z = R^-1 ends(g);   x = g - MatMul([W V]_i, z around i)

The matrix is cut into diagonal blocks A_i. A block reads the last unknowns of the block before it through C_i and the
first ones of the block after it through B_i, which makes W_i = A_i^-1 C_i and V_i = A_i^-1 B_i. The first and last
unknowns z of all blocks solve a small system R, whose inverse is in the file, or which is solved by sweeps if there are
many. Source: Polizzi and Sameh, A parallel hybrid banded system solver: the SPIKE algorithm, 2006.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.frontends.scipy.sweeps import Sweeps, rows_of, swept
from primsplit.ir import Type
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like

__all__ = ["Partition", "partitioned"]

Numbers = np.ndarray[Any, Any]

ROWS = 32
"""The rows of a block."""
MOST_SHARED = 4
"""The most unknowns that a block may share: with more the parts take half as many numbers again as sweeps do."""
DENSE = 8
"""The most numbers for each row of the matrix that the inverse of the small system may take."""


@dataclass(frozen=True)
class Partition:
    """The parts of one known matrix [size, size], in m blocks of s rows.

    `inverses` [m, s, s] are those of the diagonal blocks, `couplings` [m, s, below + above] are W_i and V_i, and
    `ends` the inverse of the small system, or its factors.
    """

    size: int
    below: int
    inverses: Numbers
    couplings: Numbers
    ends: Numbers | Sweeps

    @property
    def above(self) -> int:
        """The number of diagonals above the main one."""
        shared: int = self.couplings.shape[2]
        return shared - self.below

    def solve(self, b: Array) -> Array:
        """The solution for right sides [size, k]."""
        count, rows = self.inverses.shape[:2]
        columns, shared = b.shape[1], self.below + self.above
        blocks = op.Reshape(op.Pad(b, [0, 0, count * rows - self.size, 0]), [count, rows, -1])
        blocks = op.Identity(blocks, types=[Type(b.dtype, (count, rows, columns))])
        alone = op.MatMul(array_like(self.inverses), blocks)
        last = op.Slice(alone, [rows - self.below], [rows], [1])
        ends = op.Reshape(op.Concat(last, op.Slice(alone, [0], [self.above], [1]), axis=1), [count * shared, -1])
        ends = op.Identity(ends, types=[Type(b.dtype, (count * shared, columns))])
        known = op.MatMul(array_like(self.ends), ends) if isinstance(self.ends, np.ndarray) else self.ends.solve(ends)
        by_block = op.Reshape(known, [count, shared, -1])
        before = op.Pad(op.Slice(by_block, [0, 0], [count - 1, self.below], [0, 1]), [1, 0, 0, 0, 0, 0])
        after = op.Pad(op.Slice(by_block, [1, self.below], [count, shared], [0, 1]), [0, 0, 0, 1, 0, 0])
        around = op.Concat(before, after, axis=1)
        found = op.Sub(alone, op.MatMul(array_like(self.couplings), around))
        return op.Slice(op.Reshape(found, [count * rows, -1]), [0], [self.size], [0], types=[b.type])

    def solve_known(self, b: Numbers) -> Numbers:
        """The solution for one right side that is known: a vector of NumPy's."""
        count, rows = self.inverses.shape[:2]
        padded = np.zeros(count * rows)
        padded[: self.size] = b
        alone = np.einsum("mij,mj->mi", self.inverses, padded.reshape(count, rows))
        ends = np.concatenate([alone[:, rows - self.below :], alone[:, : self.above]], axis=1).ravel()
        known = self.ends @ ends if isinstance(self.ends, np.ndarray) else self.ends.solve_known(ends)
        by_block = known.reshape(count, -1)
        around = np.zeros_like(by_block)
        around[1:, : self.below] = by_block[:-1, : self.below]
        around[:-1, self.below :] = by_block[1:, self.below :]
        x: Numbers = (alone - np.einsum("mij,mj->mi", self.couplings, around)).ravel()[: self.size]
        return x

    def solve_transposed(self, c: Numbers) -> Numbers:
        """The solution of the transposed system for a known vector, as the pullback computes it."""
        count, rows = self.inverses.shape[:2]
        given = np.zeros(count * rows)
        given[: self.size] = c
        blocks = given.reshape(count, rows)
        around = np.einsum("mij,mi->mj", self.couplings, blocks)
        by_block = np.zeros_like(around)
        by_block[:-1, : self.below] = around[1:, : self.below]
        by_block[1:, self.below :] = around[:-1, self.below :]
        ends = by_block.ravel()
        known = self.ends.T @ ends if isinstance(self.ends, np.ndarray) else self.ends.solve_transposed(ends)
        at_ends = known.reshape(count, -1)
        blocks[:, rows - self.below :] -= at_ends[:, : self.below]
        blocks[:, : self.above] -= at_ends[:, self.below :]
        b: Numbers = np.einsum("mij,mi->mj", self.inverses, blocks).ravel()[: self.size]
        return b


def partitioned(diagonals: Numbers, below: int, above: int) -> Partition | None:
    """Return the parts of a matrix as `scipy.linalg.solve_banded` takes it.

    None for one with many diagonals, few rows, or a singular diagonal block.
    """
    size, shared = diagonals.shape[1], below + above
    count = -(-size // ROWS)
    if not 0 < shared <= MOST_SHARED or count < 2:
        return None
    starts = range(0, count * ROWS, ROWS)
    blocks = np.stack([rows_of(diagonals, above, s, s + ROWS, s, s + ROWS) for s in starts])
    beside = np.zeros((count, ROWS, shared))
    for i, s in enumerate(starts):
        if i:
            beside[i, :, :below] = rows_of(diagonals, above, s, s + ROWS, s - below, s)
        if i < count - 1:
            beside[i, :, below:] = rows_of(diagonals, above, s, s + ROWS, s + ROWS, s + ROWS + above)
    try:
        inverses = np.linalg.inv(blocks)
        couplings = inverses @ beside
        ends = _ends(couplings, below, DENSE * size)
    except np.linalg.LinAlgError:
        return None
    return None if ends is None else Partition(size, below, inverses, couplings, ends)


def _ends(couplings: Numbers, below: int, most: int) -> Numbers | Sweeps | None:
    """Return the inverse of the small system R of the shared unknowns, or its factors if it takes more numbers."""
    count, rows, shared = couplings.shape
    width, size = 2 * shared - 1, count * shared
    diagonals = np.zeros((2 * width + 1, size))
    diagonals[width] = 1.0
    at_ends = couplings[:, [*range(rows - below, rows), *range(shared - below)]]
    for (block, row, column), number in np.ndenumerate(at_ends):
        other = block - 1 if column < below else block + 1
        if 0 <= other < count:
            r, c = block * shared + row, other * shared + column
            diagonals[width + r - c, c] = number
    if size**2 > most:
        return swept(diagonals, width, width)
    return np.linalg.inv(rows_of(diagonals, width, 0, size, 0, size))
