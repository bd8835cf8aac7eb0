"""The transform of any number of elements as a convolution with a chirp, by transforms of powers of two.

With w_j = exp(-i pi j**2 / n), since 2 j k = j**2 + k**2 - (k - j)**2,

    X_k = w_k * sum over j of (x_j w_j) conj(w_(k - j)):   L. I. Bluestein, IEEE Trans. AU-18 (1970), (6).

Angles are computed in float64 from j**2 mod 2 n, which is exact.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size
from primsplit.numpy.axes import size_as
from primsplit.numpy.fourier.operator import Parts, by_operator, constants, filled, product
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array

POWERS = 2 ** np.arange(62)
"""The powers of two that int64 holds, but the last."""


class _Chirp(NamedTuple):
    """The chirp w, the transform of its conjugate, and the length of that, which is a power of two."""

    wave: Parts
    kernel: Parts
    size: Dim


def next_power(number: Array) -> Array:
    """Return the least power of two that is at least an int64 scalar."""
    powers = Array(tracing.constant(POWERS))
    smaller = op.Cast(op.Less(powers, number), to=np.int64)
    return op.Gather(powers, op.ReduceSum(smaller, keepdims=0))


def by_chirp(x: Array, y: Array | None, transform: Callable[[Array, Array], Parts]) -> Parts:
    """The transform of x + i y along the last axis, of any size but 0. `transform` is that of powers of two."""
    n = x.shape[-1]
    chirp = _run_time_chirp(n, x.dtype) if isinstance(n, Size) else _literal_chirp(n, x.dtype)
    cos, sin = chirp.wave
    turned = (op.Mul(x, cos), op.Mul(x, sin)) if y is None else product((x, y), chirp.wave)
    real, imaginary = product(transform(*(filled(part, chirp.size) for part in turned)), chirp.kernel)
    # The inverse transform is the transform with the parts swapped, before and after, over the length.
    imaginary, real = transform(imaginary, real)
    cut = Type(x.dtype, x.shape)
    real, imaginary = (op.Slice(part, [0], [n], [-1], types=[cut]) for part in (real, imaginary))
    scale = size_as(chirp.size, x.dtype)
    return product((real, imaginary), (op.Div(cos, scale), op.Div(sin, scale)))


def _literal_chirp(n: int, dtype: np.dtype[Any]) -> _Chirp:
    size = 1 << (2 * n - 2).bit_length()
    wave = np.exp(-1j * np.pi * (np.arange(n) ** 2 % (2 * n)) / n)
    kernel = np.zeros(size, np.complex128)
    kernel[:n] = wave.conj()
    kernel[size - n + 1 :] = kernel[n - 1 : 0 : -1]
    return _Chirp(constants(wave, dtype), constants(np.fft.fft(kernel), dtype), size)


def _run_time_chirp(n: Size, dtype: np.dtype[Any]) -> _Chirp:
    count = size_as(n, np.int64)
    row = Type(np.float64, (n,))
    steps = op.Range(0, count, 1, types=[Type(np.int64, (n,))])
    turns = op.Mod(op.Mul(steps, steps), op.Mul(count, 2))
    angles = op.Div(op.Mul(op.Cast(turns, to=np.float64), math.pi), op.Cast(count, to=np.float64))
    cos, sin = op.Cos(angles, types=[row]), op.Sin(angles, types=[row])
    length = next_power(op.Sub(op.Mul(count, 2), 1))
    size = fresh("chirp")
    gap = op.Reshape(op.Sub(length, op.Sub(op.Mul(count, 2), 1)), [1])
    between = op.ConstantOfShape(gap, value=np.zeros(1))
    whole = [
        op.Concat(part, between, op.Slice(part, [-1], [0], [0], [-1]), axis=0, types=[Type(np.float64, (size,))])
        for part in (cos, sin)
    ]
    real, imaginary = (cast_to(part, dtype) for part in by_operator(whole[0], whole[1]))
    return _Chirp((cast_to(cos, dtype), cast_to(op.Neg(sin), dtype)), (real, imaginary), size)
