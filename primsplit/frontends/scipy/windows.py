"""scipy.signal's windows of lengths known only at run time, as get_window returns them for spectra."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import number_of
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import size_as
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.broadcasting import count_up

__all__ = ["has_window", "window_of"]

COSINES = {"boxcar": (1.0,), "hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08)}
"""The weights of windows that are sums of cosines, by turns added and subtracted."""


def has_window(told: Any) -> bool:
    """Return whether the window with this name is supported here."""
    return _plain(told) in COSINES or _share(told) is not None


def _plain(told: Any) -> Any:
    """The name of a window, without what says that it repeats."""
    name = told[0] if isinstance(told, tuple) and len(told) == 1 else told
    return name.removesuffix("_periodic") if isinstance(name, str) else None


def window_of(told: Any, size: Dim, dtype: Any) -> Any:
    """The window of as many samples; that of one sample is 1."""
    share = _share(told)
    place = cast_to(count_up(size), np.float64)
    whole = number_of(size)
    if share is None:
        turn = place * (2 * math.pi / whole)
        found: Any = sum((-1) ** j * weight * np.cos(j * turn) for j, weight in enumerate(COSINES[_plain(told)]))
    else:
        near = np.minimum(place, whole - place)
        bent = 0.5 * (1 + np.cos(math.pi * (2 * near / (share * whole) - 1)))
        found = np.where(near <= np.floor(share * whole / 2), bent, 1.0)
    whole_window: Any = np.where(size_as(size, np.int64) == 1, 1.0, found)
    return cast_to(whole_window, dtype)


def _share(told: Any) -> float | None:
    """The part of a Tukey window that is bent, if it is one that is neither a rectangle nor Hann's."""
    if _plain(told) == "tukey":
        return 0.5
    is_tukey = isinstance(told, tuple) and len(told) == 2 and _plain(told[0]) == "tukey"
    return float(told[1]) if is_tukey and 0 < told[1] < 1 else None
