"""np.hanning and the other windows, for a size known only at run time.

NumPy's own functions need an int. As there, each window is 1 if the size is 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.dims import maximum
from primsplit.numpy.axes import array_like, as_count_or_none, size_as
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.broadcasting import count_up


def _places(size: Any) -> tuple[Array, Array]:
    """1 - M, 3 - M, ... up to M - 1, and M - 1, but 1 for it where that is 0."""
    size = as_count_or_none(size)
    last = size_as(size - 1, np.float64)
    return Array((2.0 * count_up(size)).value) - last, size_as(maximum(size - 1, 1), np.float64)


def _cosines(size: Any, *weights: float) -> Any:
    """The weights times the cosines of whole multiples of pi places / (M - 1)."""
    places, last = _places(size)
    return sum(weight * np.cos(np.pi * k * places / last) for k, weight in enumerate(weights))


def hanning(M: Any) -> Any:
    """np.hanning."""
    return _cosines(M, 0.5, 0.5)


def hamming(M: Any) -> Any:
    """np.hamming."""
    return _cosines(M, 0.54, 0.46)


def blackman(M: Any) -> Any:
    """np.blackman."""
    return _cosines(M, 0.42, 0.5, 0.08)


def bartlett(M: Any) -> Any:
    """np.bartlett."""
    places, last = _places(M)
    return 1.0 - np.abs(places) / last


def kaiser(M: Any, beta: Any) -> Any:
    """np.kaiser; `beta` may be traced."""
    places, last = _places(M)
    steepness = cast_to(array_like(beta), np.float64)
    i0 = FUNCTIONS[np.i0]
    return i0(steepness * np.sqrt(1.0 - (places / last) ** 2.0)) / i0(steepness)


WINDOWS: dict[Any, Callable[..., Any]] = {
    np.hanning: hanning, np.hamming: hamming, np.blackman: blackman, np.bartlett: bartlett, np.kaiser: kaiser,
}  # fmt: skip
