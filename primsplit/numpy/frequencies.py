"""np.fft.fftfreq and the like, and the shifts that move frequency 0 to the middle and back."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import array_like, as_count, as_size, many_axes, size_as
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import count_up


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


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """np.fft.fftfreq of a size that only the run knows: 0, 1, ..., then the negative frequencies, over n d."""
    n = as_size(n)
    middle = (n - 1) // 2 + 1
    places = count_up(n)
    signed = op.Where(op.Less(places, size_as(middle, np.int64)), places, op.Sub(places, size_as(n, np.int64)))
    return Array(signed.value) * (1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """np.fft.rfftfreq of a size that only the run knows: 0, 1, ... up to the middle, over n d."""
    n = as_count(n)
    return count_up(n // 2 + 1) * (1.0 / (n * d))
