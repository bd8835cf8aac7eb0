"""Lambert's W of complex numbers: R. M. Corless et al., On the Lambert W function, Adv. Comput. Math. 5 (1996)."""

import math
from typing import Any

import numpy as np

from primsplit.numpy.approximations.signs import is_negative
from primsplit.numpy.complex.arithmetic import Parts
from primsplit.numpy.complex.operands import Pair, made
from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule

MOST = 60
"""The most of Halley's steps, each of which has three times the digits of the one before."""
CLOSE = 1e-8
LEAST = 1e-290
PADE = (
    (12.85106382978723404255, 12.34042553191489361902, 1.0),
    (32.53191489361702127660, 14.34042553191489361702, 1.0),
)
"""W over z near 0."""


def lambert(z: Any, branch: int) -> Any:
    """The W of a complex array, complex128 as in SciPy."""
    return made(Pair(*lambert_of(*(cast_to(p, np.float64) for p in (z.real, z.imag)), branch=branch)))


def _whole(x: Array, y: Array) -> Any:
    return made(Pair(x, y))


@primitive
def lambert_of(x: Array, y: Array, *, branch: int) -> Parts:
    """Halley's iteration (5.9) from the first terms of the series (4.20) or (4.22), or near 0 a quotient.

    W of 0 is 0 in branch 0, else -inf; that of what is not finite is NaN.
    """
    z = _whole(x, y)
    is_zero = z == 0
    is_usual = np.isfinite(z) & ~is_zero
    below = op.Where(op.And(op.Equal(y, 0.0), is_negative(y)), -LEAST, y)  # a choice would make 0 of -0
    z = np.where(is_usual, _whole(x, below), 2)

    def step(u: Array, v: Array, _: Array) -> list[Array]:
        w = _whole(u, v)
        is_right = w.real >= 0
        growth = np.exp(np.where(is_right, -w, w))
        rest = np.where(is_right, w - z * growth, w * growth - z)
        slope = np.where(is_right, w + 1, w * growth + growth)
        after = w - rest / (slope - (w + 2) * rest / (2 * w + 2))
        moved = np.abs(after - w) - CLOSE * np.abs(after)
        return [
            after.real,
            after.imag,
            op.ReduceMax(op.Concat(np.zeros(1) - 1.0, op.Reshape(moved, [-1]), axis=0), keepdims=0),
        ]

    def settled(_: Array, __: Array, most: Array) -> Array:
        return op.Or(most <= 0.0, op.IsNaN(most))

    start = _start(z, branch)
    one = op.Identity(np.ones(()))
    real, imag, _ = until(settled, step, [start.real, start.imag, one], MOST)
    edge = np.where(is_zero, 0.0 if branch == 0 else -math.inf, math.nan)
    beside = np.where(is_zero, 0.0, math.nan)
    return op.Where(is_usual, real, edge), op.Where(is_usual, imag, beside)


def _start(z: Any, branch: int) -> Any:
    """The first guess, as SciPy's."""
    turned = np.log(z) + 2j * math.pi * branch
    far = turned - np.log(np.where(turned == 0, 1, turned))
    if branch == -1:
        is_between = (np.abs(z) <= math.exp(-1)) & (np.abs(z.imag) <= LEAST) & (z.real < 0)
        return np.where(is_between, np.log(np.where(is_between, -z.real, 1)), far)
    if branch != 0:
        return far
    p = np.sqrt(2 * (math.e * z + 1))
    is_near = (z.real > -1.0) & (z.real < 1.5) & (np.abs(z.imag) < 1) & (-2.5 * np.abs(z.imag) - 0.2 < z.real)
    found = np.where(is_near, z * np.polyval(PADE[0], z) / np.polyval(PADE[1], z), far)
    return np.where(np.abs(z + math.exp(-1)) < 0.3, (p * (-1 / 3) + 1) * p - 1, found)


@rrule(lambert_of)
def _lambert_of(x: Array, y: Array, *, branch: int) -> tuple[Parts, Function]:
    """dz conj(exp(-W) / (1 + W)); infinite at -1 / e in the branches that meet there."""
    found = lambert_of(x, y, branch=branch)

    def pullback(dw: Any) -> Parts:
        w = _whole(*found)
        given = _whole(*dw) * np.conj(np.exp(-w) / (1 + w))
        return given.real, given.imag

    return found, pullback
