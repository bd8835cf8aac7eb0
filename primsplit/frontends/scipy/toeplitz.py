"""Toeplitz matrices by Fourier transforms: a product, and the inverse of a matrix that is known while tracing.

A Toeplitz matrix [m, n] is a part of a circulant one, which the transform makes diagonal: a file holds m + n numbers in
place of m n.

    T x   ->   irfft(rfft(x) * rfft(first column of the circulant))[:m]

With the first column x of the inverse and its last one y, and L(v) the lower triangular Toeplitz matrix of column v,

    inv(T) = (L(x) L(y reversed)^T - L(0, y[:-1]) L(0, x reversed[:-1])^T) / x[0]

I. Gohberg and A. Semencul, On the inversion of finite Toeplitz matrices and their continuous analogs (1972).
"""

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.frontends.scipy.known_systems import TOLERANCE, Solver, of_diagonals, residual
from primsplit.frontends.scipy.sweeps import numbers_a_row
from primsplit.tracing.array import Array

__all__ = ["LEAST", "Inverse", "inverse_of", "of_toeplitz", "product"]

Numbers = np.ndarray[Any, Any]

LEAST = 128
"""The least rows and columns, as a mean, of a matrix that is not written out: below, one product takes less time."""
CORRECTIONS = 2
"""The most times that a solution is corrected by that for its residual."""


def product(column: Any, row: Any, x: Any) -> Any:
    """T @ x for the matrix T of this first column and row, and a vector or a matrix x; all sizes are numbers."""
    found = _filtered(x.T, _spectrum(column, row), column.shape[0])
    return found.T


def of_toeplitz(column: Numbers, row: Numbers) -> Solver | None:
    """A solver of systems with the Toeplitz matrix of this column and row, whose first element is not read.

    None where it would not be as accurate as SciPy's solution, or is not worth it.
    """
    below, above = (int(np.max(np.flatnonzero(x[1:]), initial=-1)) + 1 for x in (column, row))
    if numbers_a_row(below, above) > (min(LEAST, column.size)):
        return inverse_of(column, row) if column.size >= LEAST else None
    numbers = np.concatenate([row[above:0:-1], column[: below + 1]])
    return of_diagonals(np.repeat(numbers[:, None], column.size, axis=1), below, above)


@dataclass(frozen=True)
class Inverse:
    """The inverse of a Toeplitz matrix [n, n], by the spectra of five circulant ones.

    It is the sum of two products of a `left` and a `right` matrix. A solution is corrected so many times by that for
    its residual, which the spectrum of the `matrix` itself tells.
    """

    size: int
    matrix: Numbers
    left: Numbers
    right: Numbers
    corrections: int = 0

    def solve(self, b: Array) -> Array:
        """The solution for right sides [n, k]."""
        found: Array = self._solved(b.T).T
        return found

    def solve_known(self, b: Numbers) -> Numbers:
        """The solution for one right side that is known: a vector of NumPy's."""
        found: Numbers = self._solved(b[None])[0]
        return found

    def transposed(self) -> "Inverse":
        """The inverse of the transpose, as the pullback computes it."""
        matrix, left, right = (np.conj(x) for x in (self.matrix, self.right, self.left))
        return replace(self, matrix=matrix, left=left, right=right)

    def _solved(self, b: Any) -> Any:
        found = self._applied(b)
        for _ in range(self.corrections):
            found = found + self._applied(b - _filtered(found, self.matrix, self.size))
        return found

    def _applied(self, b: Any) -> Any:
        """The inverse times rows of b [k, n]."""
        halves = _filtered(b[:, None], self.right, self.size)
        length = 2 * (self.left.shape[-1] - 1)
        both = np.fft.rfft(halves, length) * self.left
        return np.fft.irfft(both[:, 0] + both[:, 1], length)[:, : self.size]


def inverse_of(column: Numbers, row: Numbers) -> Inverse | None:
    """The inverse of the Toeplitz matrix of this column and row; None where SciPy's solution is more accurate.

    The residuals of the system and of its transpose are those of three right sides: any, ones, and one of which the
    solution is known, which is small where the matrix is nearly singular.
    """
    linalg: Any = importlib.import_module("scipy.linalg")
    ends = np.eye(column.size)[:, [0, -1]]
    with np.errstate(all="ignore"):
        try:
            first, last = linalg.solve_toeplitz((column, row), ends).T
            trials = [trial for turned in (False, True) for trial in _trials(linalg, column, row, is_transposed=turned)]
        except np.linalg.LinAlgError:
            return None
        made = _by_ends(column, row, first, last)
        for corrections in range(CORRECTIONS + 1):
            found = replace(made, corrections=corrections)
            if all(trial.fits(found) for trial in trials):
                return found
    return None


@dataclass(frozen=True)
class _Trial:
    """A right side, and the residual of SciPy's solution, of the matrix of these diagonals, the highest first."""

    diagonals: Numbers
    b: Numbers
    scipys: float
    is_transposed: bool

    def fits(self, made: Inverse) -> bool:
        """Whether an inverse is as accurate."""
        solution = (made.transposed() if self.is_transposed else made).solve_known(self.b)
        return _rounding(self.diagonals, solution, self.b) <= min(max(4 * self.scipys, 4.0), TOLERANCE)


def _trials(linalg: Any, column: Numbers, row: Numbers, *, is_transposed: bool) -> list[_Trial]:
    if is_transposed:
        column, row = np.concatenate([column[:1], row[1:]]), column
    diagonals = np.concatenate([row[:0:-1], column])
    drawn = np.random.default_rng(0).standard_normal((2, column.size))
    sides = np.stack([drawn[0], np.ones(column.size), np.convolve(diagonals, drawn[1], "valid")], axis=1)
    solved = linalg.solve_toeplitz((column, row), sides)
    return [
        _Trial(diagonals, b, _rounding(diagonals, x, b), is_transposed) for x, b in zip(solved.T, sides.T, strict=True)
    ]


def _by_ends(column: Numbers, row: Numbers, first: Numbers, last: Numbers) -> Inverse:
    """The inverse, of which these are the first and the last column."""
    matrix = _spectrum(column, row)
    length, lower = 2 * (matrix.size - 1), np.zeros((4, column.size))
    lower[0], lower[1, 1:] = first / first[0], -last[:-1] / first[0]
    lower[2], lower[3, 1:] = last[::-1], first[:0:-1]
    spectra = np.fft.rfft(lower, length)
    return Inverse(column.size, matrix, spectra[:2], np.conj(spectra[2:]))


def _rounding(diagonals: Numbers, x: Numbers, b: Numbers) -> float:
    """The residual of a solution, in units of rounding."""
    return residual(np.convolve(diagonals, x, "valid"), b, float(np.sum(np.abs(diagonals)) * np.max(np.abs(x))))


def _spectrum(column: Any, row: Any) -> Any:
    """The transform of the first column of the circulant matrix, of a power of two rows, that holds the matrix."""
    count = column.shape[0] + row.shape[0] - 1
    between = np.zeros((1 << max(count - 1, 1).bit_length()) - count)
    return np.fft.rfft(np.concatenate([column, between, row[:0:-1]]))


def _filtered(x: Any, spectrum: Any, count: int) -> Any:
    """The first numbers of the circulant matrix of a spectrum times x, along its last axis."""
    length = 2 * (spectrum.shape[-1] - 1)
    return np.fft.irfft(np.fft.rfft(x, length) * spectrum, length)[..., :count]
