"""Systems whose matrix is known while tracing: factored then, one of few diagonals so that a file grows with the rows.

A sparse matrix gets rows and columns in another order first, by Cuthill and McKee. Blocks of rows are solved at once
(`partitions`) where that is as accurate as two sweeps from row to row (`sweeps`). One that has many diagonals in any
order is inverted.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from primsplit.frontends.scipy.operands import of_length
from primsplit.frontends.scipy.partitions import Partition, partitioned
from primsplit.frontends.scipy.sweeps import Sweeps, numbers_a_row, swept
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["Ordered", "Solver", "known_reals", "of_diagonals", "of_sparse", "product", "residual", "solution"]

Numbers = np.ndarray[Any, Any]
Factors = Sweeps | Partition

TOLERANCE = 1e4
"""The largest residual, in units of rounding, for which factors without pivots replace elimination with pivots."""


class Solver(Protocol):
    """Solves systems with one matrix."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def solve(self, b: Array) -> Array:
        """The solution for right sides [size, k]."""

    def solve_known(self, b: Numbers) -> Numbers:
        """The solution for one right side that is known: a vector of NumPy's."""


@dataclass(frozen=True)
class Ordered:
    """The factors of a matrix with its rows and columns in another order: `order` lists them."""

    factors: Factors
    order: Numbers

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.factors.size

    def solve(self, b: Array) -> Array:
        """The solution for right sides [size, k]."""
        solved = self.factors.solve(op.Gather(b, self.order, axis=0, types=[b.type]))
        return op.Gather(solved, np.argsort(self.order), axis=0, types=[b.type])

    def solve_known(self, b: Numbers) -> Numbers:
        """The solution for one right side that is known: a vector of NumPy's."""
        return self.factors.solve_known(b[self.order])[np.argsort(self.order)]


def of_diagonals(diagonals: Numbers, below: int, above: int) -> Factors | None:
    """The factors of a matrix as `scipy.linalg.solve_banded` takes it; None where they would not be accurate.

    The solutions of the system and of its transpose, which the pullback needs, are tried for a random right side.
    """
    sweeps = swept(diagonals, below, above)
    if sweeps is None:
        return None
    parts = partitioned(diagonals, below, above)
    of_sweeps, of_parts = (_residual(found, diagonals, above) for found in (sweeps, parts))
    if parts is not None and of_parts <= max(4 * of_sweeps, 4.0):
        return parts
    return sweeps if of_sweeps <= TOLERANCE else None


def of_sparse(matrix: Any) -> Solver | None:
    """A solver of systems with a sparse matrix: its inverse if it has many diagonals in any order.

    None where it would not be accurate.
    """
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
    if numbers_a_row(below, above) > size:
        return inverse_of(known)
    diagonals = np.zeros((below + above + 1, size))
    np.add.at(diagonals, (above + turned.row - turned.col, turned.col), turned.data)
    found = of_diagonals(diagonals, below, above)
    order = orders[place]
    return found if found is None or order is None else Ordered(found, order)


@dataclass(frozen=True)
class Inverse:
    """The inverse of a matrix [n, n] of many diagonals.

    A solution is corrected so many times by that for its residual. Row i of the matrix holds `numbers[i]` in
    `columns[i]`, zeros behind its last one.
    """

    inverse: Numbers
    numbers: Numbers
    columns: Numbers
    corrections: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.inverse)

    def solve(self, b: Array) -> Array:
        """The solution for right sides [n, k]."""
        found: Array = _corrected(self.inverse, self._product, b, self.corrections)
        return found

    def solve_known(self, b: Numbers) -> Numbers:
        """The solution for one right side that is known: a vector of NumPy's."""
        found: Numbers = _corrected(self.inverse, self._product, b[:, None], self.corrections)[:, 0]
        return found

    def _product(self, x: Any) -> Any:
        return np.sum(self.numbers[:, :, None] * x[self.columns], axis=1)


def _corrected(inverse: Numbers, product: Callable[[Any], Any], b: Any, corrections: int) -> Any:
    found = inverse @ b
    for _ in range(corrections):
        found = found + inverse @ (b - product(found))
    return found


def inverse_of(matrix: Any) -> Inverse | None:
    """The inverse of a sparse matrix, by rows; None where its solutions would not be as accurate as with pivots.

    The system and its transpose are solved for three right sides: any, ones, and one of a small solution.
    """
    dense, counts = matrix.toarray(), np.diff(matrix.indptr)
    try:
        inverse = np.linalg.inv(dense)
    except np.linalg.LinAlgError:
        return None
    with np.errstate(all="ignore"):
        both = ((dense, inverse), (dense.T, inverse.T))
        corrections = next((k for k in (0, 1) if all(_is_accurate(*pair, k) for pair in both)), None)
    if corrections is None:
        return None
    numbers = np.zeros((counts.size, int(counts.max(initial=0))))
    columns = np.zeros(numbers.shape, np.int64)
    held = np.arange(numbers.shape[1]) < counts[:, None]
    numbers[held], columns[held] = matrix.data, matrix.indices
    return Inverse(inverse, numbers, columns, corrections)


def _is_accurate(matrix: Numbers, inverse: Numbers, corrections: int) -> bool:
    drawn = np.random.default_rng(0).standard_normal((2, len(matrix)))
    sides = np.stack([drawn[0], np.ones(len(matrix)), matrix @ drawn[1]], axis=1)
    norm = np.max(np.sum(np.abs(matrix), axis=1), initial=0.0)
    found, pivoted = _corrected(inverse, matrix.__matmul__, sides, corrections), np.linalg.solve(matrix, sides)
    for b, *ways in zip(sides.T, found.T, pivoted.T, strict=True):
        error, least = (residual(matrix @ x, b, norm * np.max(np.abs(x), initial=0.0)) for x in ways)
        if not error <= min(max(4 * least, 4.0), TOLERANCE):
            return False
    return True


def known_reals(x: Any) -> Numbers | None:
    """The numbers of an array that is known while tracing, if they are real, in float64."""
    found = x.known() if isinstance(x, Array) else None if holds_traced(x) else np.asarray(x)
    return None if found is None or found.dtype.kind not in "biuf" else found.astype(np.float64)


def solution(factors: Callable[[], Solver | None], b: Any) -> Array | None:
    """The solution for a real vector or matrix of right sides, in float64; None where there are no factors."""
    right = array_like(b)
    if right.dtype.kind == "c" or len(right.shape) not in {1, 2}:
        return None
    made = factors()
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


def residual(product: Numbers, b: Numbers, size: float) -> float:
    """The largest difference of the matrix times a solution and the right side, in units of rounding.

    `size` is the norm of the matrix times the largest number of the solution. Infinite where one is not finite.
    """
    error = np.max(np.abs(product - b), initial=0.0)
    unit = np.finfo(np.float64).eps * (size + np.max(np.abs(b), initial=0.0))
    return float(error / unit) if unit and np.isfinite(error / unit) else 0.0 if not error else math.inf


def _residual(found: Factors | None, diagonals: Numbers, above: int) -> float:
    """The larger residual of the system and its transpose."""
    if found is None:
        return math.inf
    b = np.random.default_rng(0).standard_normal(found.size)
    largest = 0.0
    for solve, is_transposed in ((found.solve_known, False), (found.solve_transposed, True)):
        with np.errstate(all="ignore"):
            x = solve(b)
            norm = np.max(_product(np.abs(diagonals), above, np.ones(x.size), is_transposed), initial=0.0)
            product = _product(diagonals, above, x, is_transposed)
            largest = max(largest, residual(product, b, norm * np.max(np.abs(x), initial=0.0)))
    return largest


def _product(diagonals: Numbers, above: int, x: Numbers, is_transposed: bool) -> Numbers:
    """The matrix of these diagonals, or its transpose, times a vector."""
    size = x.size
    found = np.zeros(size)
    for offset, numbers in zip(range(above, above - len(diagonals), -1), diagonals, strict=True):
        columns = slice(max(0, offset), min(size, size + offset))
        rows = slice(max(0, -offset), min(size, size - offset))
        if is_transposed:
            found[columns] += numbers[columns] * x[rows]
        else:
            found[rows] += numbers[columns] * x[columns]
    return found
