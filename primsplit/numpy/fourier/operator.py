"""onnxruntime's DFT of real arrays, whose complex numbers lie on a last axis of size 2."""

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.tracing.array import Array

Parts = tuple[Array, Array]


@fault(
    "dft_of_lengths_that_are_no_power_of_two",
    kind="wrong",
    operators=("DFT",),
    says="DFT of a length that is no power of two rounds its angles: an error of 1e-4 of the largest number for "
    "1,000 numbers of float32.",
)
def by_operator(x: Array, y: Array | None) -> Parts:
    """The transform of x + i y along the last axis."""
    rank = x.ndim
    columns = [op.Unsqueeze(part, [rank]) for part in (x, y) if part is not None]
    # What the standard calls the default axis is the last but one.
    found = op.DFT(columns[0] if y is None else op.Concat(*columns, axis=rank))
    half = Type(x.dtype, (*x.shape, 1))
    parts = op.Split(found, axis=rank, num_outputs=2, outputs=2, types=[half, half])
    real, imaginary = (op.Squeeze(part, [rank]) for part in parts)
    return real, imaginary


def constants(values: npt.NDArray[np.complex128], dtype: npt.DTypeLike) -> Parts:
    """Real and imaginary parts as constants of the program."""
    real, imaginary = (Array(tracing.constant(np.ascontiguousarray(p, dtype))) for p in (values.real, values.imag))
    return real, imaginary


def product(a: Parts, b: Parts) -> Parts:
    """The product of complex numbers."""
    (x, y), (u, v) = a, b
    return op.Sub(op.Mul(x, u), op.Mul(y, v)), op.Add(op.Mul(x, v), op.Mul(y, u))


def filled(x: Array, n: Dim) -> Array:
    """`x` with zeros behind, n numbers along the last axis."""
    if dims.same(x.shape[-1], n):
        return x
    # The difference is taken of numbers: of sums of sizes not each size may be known here.
    more = op.Sub(Array(tracing.size_vector([n])), Array(tracing.size_vector([x.shape[-1]])))
    pads = op.Concat(Array(tracing.size_vector([0] * (2 * x.ndim - 1))), more, axis=0)
    return op.Pad(x, pads, types=[Type(x.dtype, (*x.shape[:-1], n))])
