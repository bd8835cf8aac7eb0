"""Chooses how a transform of n numbers is computed: onnxruntime's operator, matrix products, or a convolution.

onnxruntime's DFT is accurate to the last bits where n is a power of two. For other sizes it rounds the angles of its
chirp in the array's own precision: the error is 1e-4 for 1,000 numbers of float32. It is therefore used only for powers
of two.
"""

import math

import numpy as np
import numpy.typing as npt

from primsplit.ir import Type, Value
from primsplit.ir.dims import Size
from primsplit.numpy.axes import size_as
from primsplit.numpy.fourier.chirp import by_chirp, next_power
from primsplit.numpy.fourier.operator import Parts, by_operator, constants, product
from primsplit.ops import op
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, transpose

SMALL = 32
"""The largest power of two that is done by a matrix: two products take less time than one DFT."""
LARGEST_MATRIX = 128
"""The largest other size that is done by one matrix."""
LARGEST_FACTOR = 256
"""The largest factor of a size that is done by two."""
LEAST_FACTORED = 256
"""The least power of two that is done by two: up to four times as fast as DFT, but slower below."""


def spectrum(x: Array, y: Array | None) -> Parts:
    """The sums of (x + i y) times exp(-2 pi i j k / n) along the last axis; an imaginary part of None is 0."""
    n = x.shape[-1]
    if isinstance(n, Size):
        return _by_size(x, y, n)
    if has_matrix(n):
        return by_matrix(x, y, roots(n))
    factor = _factor(n)
    if factor is not None and not (_is_power(n) and n < LEAST_FACTORED):
        return _by_factors(x, y, factor)
    return by_operator(x, y) if _is_power(n) else by_chirp(x, y, spectrum)


def has_matrix(n: int) -> bool:
    """Return whether a transform of n numbers is computed by one matrix product."""
    return n <= (SMALL if _is_power(n) else LARGEST_MATRIX)


def half_matrix(n: int) -> npt.NDArray[np.complex128]:
    """The matrix of the first n // 2 + 1 numbers of a transform."""
    return roots(n)[:, : n // 2 + 1]


def roots(n: int) -> npt.NDArray[np.complex128]:
    """exp(-2 pi i j k / n) for all j and k."""
    powers = np.arange(n)
    return _roots_of_unity(n)[np.outer(powers, powers) % n]


def _roots_of_unity(n: int) -> npt.NDArray[np.complex128]:
    """exp(-2 pi i j / n), as NumPy's transform has it: exact at each quarter."""
    return np.fft.fft(np.arange(n) == 1) if n > 1 else np.ones(1, np.complex128)


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0


def _factor(n: int) -> int | None:
    """Return the largest divisor of n up to its square root; None if it is 1, or one of both factors is too large."""
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return first if first > 1 and n // first <= LARGEST_FACTOR else None


def by_matrix(x: Array, y: Array | None, matrix: npt.NDArray[np.complex128]) -> Parts:
    """The rows of x + i y times a matrix."""
    cos, sin = constants(matrix, x.dtype)
    if y is None:
        return op.MatMul(x, cos), op.MatMul(x, sin)
    return op.Sub(op.MatMul(x, cos), op.MatMul(y, sin)), op.Add(op.MatMul(x, sin), op.MatMul(y, cos))


def _by_factors(x: Array, y: Array | None, first: int) -> Parts:
    """Transforms of `first` numbers, turned, and of n / first numbers: Cooley and Tukey, Math. Comp. 19 (1965), (3)."""
    n = int(x.shape[-1])
    lead, rest = x.shape[:-1], n // first
    shape = (*lead, first, rest)
    last = len(lead)
    swapped = [*range(last), last + 1, last]
    below = None if y is None else transpose(reshape_to(y, shape), swapped)
    real, imaginary = by_matrix(transpose(reshape_to(x, shape), swapped), below, roots(first))
    turns = _roots_of_unity(n)[np.outer(np.arange(rest), np.arange(first))]
    turned = product((real, imaginary), constants(turns, x.dtype))
    found = by_matrix(transpose(turned[0], swapped), transpose(turned[1], swapped), roots(rest))
    real, imaginary = (reshape_to(transpose(part, swapped), (*lead, n)) for part in found)
    return real, imaginary


def _by_size(x: Array, y: Array | None, n: Size) -> Parts:
    """By the operator where the run finds a power of two, else as a convolution."""
    is_power = op.Equal(next_power(size_as(n, np.int64)), size_as(n, np.int64))

    def branch(way: str) -> list[Value]:
        return [part.value for part in (by_operator(x, y) if way == "whole" else by_chirp(x, y, by_operator))]

    then, otherwise = (nested.record(way, [], lambda way=way: branch(way)) for way in ("whole", "chirp"))
    real, imaginary = nested.emit_if(is_power.value, then, otherwise, [Type(x.dtype, x.shape)] * 2)
    return Array(real), Array(imaginary)
