"""Reduction to Hessenberg form by Householder's reflections (Golub and Van Loan, Matrix Computations, 7.4.2)."""

from primsplit.numpy.dense.general.reflection import reflection
from primsplit.numpy.dense.loop import counting, identity_like, loop
from primsplit.ops import op
from primsplit.tracing.array import Array


def hessenberg(a: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """H and Q with A = Q H Q^T, H zero below its first subdiagonal: A is so already outside of low .. high.

    high - low - 1 steps of 40 small operators and 12 passes over an n by n matrix.
    """
    numbers = counting(a, 0)
    rows, columns = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])

    def step(j: Array, a: Array, q: Array) -> tuple[list[Array], list[Array]]:
        place = low + j
        first = place + 1
        here = op.Equal(numbers, first)
        column = op.Gather(a, place, axis=1)
        below = op.And(numbers > first, numbers <= high)
        found = reflection(here, op.Gather(column, first, axis=0), op.Where(below, column, 0.0))
        v = op.Where(op.Or(here, below), found.vector, 0.0)
        across, down = op.Unsqueeze(v, [0]), op.Unsqueeze(v, [1])
        scaled = op.Mul(across, found.tau)
        a, q = (op.Sub(x, op.Mul(op.MatMul(x, down), scaled), types=[x.type]) for x in (a, q))
        a = op.Sub(a, op.Mul(op.Mul(down, found.tau), op.MatMul(across, a)), types=[a.type])
        is_zero = op.And(op.Equal(columns, place), op.And(rows > first, op.LessOrEqual(rows, high)))
        return [op.Where(is_zero, 0.0, a, types=[a.type]), q], []

    h, q = loop(op.Max(high - low - 1, 0), step, [a, identity_like(a)])
    return h, q
