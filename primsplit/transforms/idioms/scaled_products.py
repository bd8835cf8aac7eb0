"""Compute a recurrence of log-sum-exps by products of scaled exponentials, many blocks of steps at once.

    a[t] = logsumexp(a[t-1][:, None] + matrix, axis=0) + terms[t]          # the forward algorithm of a Markov model

is `p[t] = (p[t-1] @ A) * E[t]` for p = exp(a), A = exp(matrix) and E = exp(terms), each divided by its greatest
element, whose logarithms are added up. The products of the matrices of each block of steps are found for all blocks at
once, and then the vectors between the blocks: two loops of about sqrt(n) steps, rather than n steps with a logarithm
and an exponential for each element of the matrix.

All numbers are positive, and nothing is subtracted: each element and each derivative has the relative error of its
sums. `is_within` finds that no product comes near the smallest number.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir.dims import Dim
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.control import scan

BLOCK = 32
"""The steps of a block where only the run knows how many there are."""
WIDEST = 20
"""The most states for which products of matrices pay: their work grows with the cube."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """The recurrence, scaled: A [m, m] and E [n, m] are at most 1, and `logs` [n] has what E was divided by.

    The greatest elements are constants to derivatives: the results do not depend on what is divided by.
    """

    start: Array
    matrix: Array
    factors: Array
    logs: Array
    spread: Any

    @classmethod
    def of(cls, start: Array, matrix: Array, terms: Array) -> "Scaled":
        """Return the recurrence with these logarithms."""
        columns = stop_gradient(np.max(matrix, axis=0))
        moved: Any = terms + columns
        rows = stop_gradient(np.max(moved, axis=1))
        spread = np.max(columns - np.min(matrix, axis=0)) + np.max(rows - np.min(moved, axis=1), initial=0.0)
        return cls(start, np.exp(matrix - columns), np.exp(moved - rows[:, None]), rows, stop_gradient(spread))

    @property
    def length(self) -> Dim:
        """The number of steps."""
        return self.factors.shape[0]

    @property
    def states(self) -> int:
        """The number of states."""
        return int(self.start.shape[0])

    def is_within(self) -> Any:
        """Whether products stay normal numbers, of which none is lost: the range of one step, squared, is one of them.

        Not so for -inf, as of a step that is impossible, and for NaN.
        """
        return (self.spread < 0.35 * -math.log(np.finfo(self.start.dtype).tiny)) & np.isfinite(np.max(self.start))

    def last(self) -> Any:
        """The vector after the last step."""
        first = stop_gradient(np.max(self.start))
        p: Any = np.exp(self.start - first)
        parts = self.blocks()
        size, blocks = parts
        single = self.length - blocks * size
        (p, more), _ = scan(self.step, (p, first), self.factors[:single])
        total = more + np.sum(self.logs)
        if not (isinstance(blocks, int) and blocks == 0):
            products, logs = self.products(self.factors[single:], size, blocks)
            (p, total), _ = scan(_between, (p, total + np.sum(logs)), products)
        return np.log(p) + total

    def every(self) -> Any:
        """The vectors after each step, [n, m]; in blocks of steps those of all blocks at once."""
        first = np.reshape(stop_gradient(np.max(self.start)), (1,))
        size, blocks = self.blocks()
        single = self.length - blocks * size
        carry, (p, totals) = scan(self.kept_step, (np.exp(self.start - first), first), self.factors[:single])
        found = np.log(p) + totals
        if not (isinstance(blocks, int) and blocks == 0):
            products, logs = self.products(self.factors[single:], size, blocks)
            scales = np.sum(logs, axis=0)[:, 0, 0]
            _, before = scan(lambda c, x: (_between((c[0], c[1] + x[1]), x[0])[0], c), carry, (products, scales))
            _, (p, totals) = scan(self.kept_step, before, self.along(self.factors[single:], size, blocks))
            inner = np.transpose(np.log(p) + totals, (1, 0, 2))
            found = np.concatenate([found, np.reshape(inner, (blocks * size, self.states))])
        return found + np.cumsum(self.logs)[:, None]

    def step(self, carry: Any, factor: Any) -> tuple[Any, None]:
        """One step of a vector."""
        p, total = carry
        p = (p @ self.matrix) * factor
        top = stop_gradient(np.max(p))
        return (p / top, total + np.log(top)), None

    def kept_step(self, carry: Any, factor: Any) -> tuple[Any, Any]:
        """One step of a vector, or of rows, which is kept."""
        p, total = carry
        p = (p @ self.matrix) * factor
        top = stop_gradient(np.max(p, axis=-1, keepdims=True))
        carry = p / top, total + np.log(top)
        return carry, carry

    def blocks(self) -> tuple[int, Dim]:
        """The steps of a block, and how many blocks there are; the steps before the first block are left over."""
        if self.states > WIDEST:
            return 1, 0
        if not isinstance(self.length, int):
            return BLOCK, self.length // BLOCK
        root = math.isqrt(self.length)
        size = min(range(max(2, root // 2), 2 * root + 1), key=lambda s: 1.3 * s + self.length // s + self.length % s)
        return size, self.length // size

    def products(self, factors: Any, size: int, blocks: Dim) -> tuple[Any, Any]:
        """The scaled products of the matrices of each block, [blocks, m, m], and the logarithms of the scales."""
        m = self.states

        def step(product: Any, factor: Any) -> tuple[Any, Any]:
            rows = np.reshape(product, (blocks * m, m)) @ self.matrix
            product = np.reshape(rows, (blocks, m, m)) * factor[:, None, :]
            top = stop_gradient(np.max(product, axis=(1, 2), keepdims=True))
            return product / top, np.log(top)

        start: Any = zeros((blocks, 1, 1), self.start.dtype) + np.eye(m, dtype=self.start.dtype)
        return scan(step, start, self.along(factors, size, blocks))

    def along(self, factors: Any, size: int, blocks: Dim) -> Any:
        """The factors of each step of all blocks, [size, blocks, m]."""
        return np.transpose(np.reshape(factors, (blocks, size, self.states)), (1, 0, 2))


def _between(carry: Any, product: Any) -> tuple[Any, None]:
    p, total = carry
    p = p @ product
    top = stop_gradient(np.max(p))
    return (p / top, total + np.log(top)), None
