"""What np.fft has for real arrays: shifting the zero frequency to the middle and back."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array, implements
from primsplit.dims import Dim
from primsplit.ir import Type
from primsplit.numpy.axes import array_like, many_axes
from primsplit.ops import op


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Array:
    """np.fft.fftshift: the second half of each axis, which is the shorter one, comes first."""
    found = array_like(x)
    for axis in many_axes(axes, found.ndim):
        found = _turned(found, axis, (found.shape[axis] + 1) // 2)
    return Array(found.value)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Array:
    """np.fft.ifftshift, which undoes fftshift."""
    found = array_like(x)
    for axis in many_axes(axes, found.ndim):
        found = _turned(found, axis, found.shape[axis] // 2)
    return Array(found.value)


def _turned(x: Array, axis: int, cut: Dim) -> Array:
    """`x` with the part before the cut moved behind the rest."""
    sizes = [cut, x.shape[axis] - cut]
    types = [Type(x.dtype, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]
    front, back = op.Split(x, Array(tracing.size_vector(sizes)), axis=axis, outputs=2, types=types)
    return op.Concat(back, front, axis=axis, types=[x.type])
