"""Reduction of complex matrices to Hessenberg form by Householder's reflections, as LAPACK's gehd2.

But LAPACK also makes the last element below the diagonal real.
"""

from typing import NamedTuple

import numpy as np

from primsplit.numpy.complex.arithmetic import quotient
from primsplit.numpy.complex.matrices import Parts, difference, product, times, turned
from primsplit.numpy.dense.general.reflection import length
from primsplit.numpy.dense.loop import counting, identity_like, loop
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like


class Reflection(NamedTuple):
    """I - tau v v^H, whose conjugate transpose takes a vector to (beta, 0, ...), beta real."""

    tau: Parts
    vector: Parts
    beta: Array


def reflection(is_head: Array | np.ndarray[tuple[int, ...], np.dtype[np.bool_]], x: Parts) -> Reflection:
    """The reflection of a vector [n]; none, with tau 0, where it is a real number and zeros: as LAPACK's larfg."""
    head = Parts(*(op.ReduceSum(op.Where(is_head, p, 0.0), [0], keepdims=0) for p in x))
    others = [op.ReduceMax(op.Abs(op.Where(is_head, 0.0, p)), [0], keepdims=0) for p in x]
    none = op.And(op.Equal(op.Max(*others), 0.0), op.Equal(head.imag, 0.0))
    whole = length(op.Concat(*x, axis=0), axis=0)
    beta = op.Where(none, head.real, op.Where(op.Less(head.real, 0.0), whole, op.Neg(whole)))
    safe = op.Where(none, 1.0, beta)
    tau = op.Where(none, 0.0, (beta - head.real) / safe), op.Where(none, 0.0, op.Neg(head.imag) / safe)
    scaled = Parts(*quotient(*x, op.Where(none, 1.0, head.real - beta), op.Where(none, 0.0, head.imag)))
    return Reflection(
        Parts(*tau), Parts(op.Where(is_head, 1.0, scaled.real), op.Where(is_head, 0.0, scaled.imag)), beta
    )


def hessenberg(a: Parts, low: Array, high: Array) -> tuple[Parts, Parts]:
    """H and Q with A = Q H Q^H, H zero below its first subdiagonal: A is so already outside of low .. high."""
    numbers = counting(a.real, 0)
    rows, columns = op.Unsqueeze(numbers, [1]), op.Unsqueeze(numbers, [0])

    def step(j: Array, *given: Array) -> tuple[list[Array], list[Array]]:
        matrix, basis = Parts(*given[:2]), Parts(*given[2:])
        place = low + j
        first = place + 1
        within = op.And(numbers >= first, numbers <= high)
        column = Parts(*(op.Where(within, op.Gather(p, place, axis=1), 0.0) for p in matrix))
        found = reflection(op.Equal(numbers, first), column)
        v = Parts(*(op.Unsqueeze(op.Where(within, p, 0.0), [1]) for p in found.vector))
        across = times(turned(v), found.tau)
        matrix, basis = (difference(z, product(product(z, v), across)) for z in (matrix, basis))
        left = times(v, (found.tau.real, op.Neg(found.tau.imag)))
        matrix = difference(matrix, product(left, product(turned(v), matrix)))
        is_zero = op.And(op.Equal(columns, place), op.And(rows > first, op.LessOrEqual(rows, high)))
        matrix = Parts(*(op.Where(is_zero, 0.0, p, types=[p.type]) for p in matrix))
        return [*matrix, *basis], []

    start = [*a, identity_like(a.real), zeros_like(a.real)]
    found = loop(op.Max(high - low - 1, 0), step, start)
    return Parts(*found[:2]), Parts(*found[2:])
