"""The three transforms on which np.fft is built; each is one op whose derivative is again one of the three.

    np.fft.rfft(x)
    becomes
    real, imag = call::analysis(x, rule=_analysis)

A transform is a symmetric matrix C - i S. With the parts swapped before and after, it becomes C + i S, which is n times
the inverse, and also the transpose on pairs of reals.
"""

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, floor_divide
from primsplit.numpy.axes import slab_of
from primsplit.numpy.fourier.algorithms import by_matrix, half_matrix, has_matrix, spectrum
from primsplit.numpy.fourier.operator import Parts, constants, filled
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Function, primitive, rrule


@primitive
def fourier(x: Array, y: Array) -> Parts:
    """The transform of x + i y along the last axis."""
    return spectrum(x, y)


@rrule(fourier)
def _fourier(x: Array, y: Array) -> tuple[Parts, Function]:
    """The sums the other way round."""
    return fourier(x, y), lambda dz: backwards(*dz)


def backwards(x: Array, y: Array) -> Parts:
    """The transform of x + i y with the opposite angles."""
    imaginary, real = fourier(y, x)
    return real, imaginary


@primitive
def analysis(x: Array) -> Parts:
    """The first n // 2 + 1 numbers of the transform of n real numbers along the last axis."""
    n = x.shape[-1]
    if isinstance(n, int) and has_matrix(n):
        return by_matrix(x, None, half_matrix(n))
    real, imaginary = (slab_of(part, x.ndim - 1, floor_divide(n, 2) + 1) for part in spectrum(x, None))
    return real, imaginary


@rrule(analysis)
def _analysis(x: Array) -> tuple[Parts, Function]:
    """The derivative rule of `analysis`: its pullback is `synthesis`."""
    return analysis(x), lambda dz: synthesis(dz[0], dz[1], x.shape[-1])


def synthesis(x: Array, y: Array, n: Dim) -> Array:
    """The sums of x cos(2 pi j k / n) - y sin(2 pi j k / n) over k = 0 .. n // 2, for j below n."""
    length: int | Array
    if isinstance(n, int):
        length = n
    else:
        length = op.ConstantOfShape(tracing.size_vector([n]), value=np.zeros(1, bool), types=[Type(np.bool_, (n,))])
    found: Array = synthesized(x, y, length)
    return found


@primitive
def synthesized(x: Array, y: Array, length: int | Array) -> Array:
    """Return `synthesis`; where only the run knows the length, it is that of the array `length`."""
    n = length if isinstance(length, int) else length.shape[0]
    if isinstance(n, int) and has_matrix(n):
        cos, sin = constants(half_matrix(n).T, x.dtype)
        return op.Add(op.MatMul(x, cos), op.MatMul(y, sin))
    _, imaginary = spectrum(filled(y, n), filled(x, n))
    return imaginary


@rrule(synthesized)
def _synthesized(x: Array, y: Array, length: int | Array) -> tuple[Array, Function]:
    """The half of the transform."""
    return synthesized(x, y, length), lambda dz: (*analysis(dz), None)
