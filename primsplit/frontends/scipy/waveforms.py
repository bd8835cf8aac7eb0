"""scipy.signal's waveforms at traced times and with traced frequencies."""

import math
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["chirp", "sawtooth", "square"]

KINDS = {
    "lin": "linear", "li": "linear", "quad": "quadratic", "q": "quadratic", "log": "logarithmic", "lo": "logarithmic",
}  # fmt: skip


@as_scipys("scipy.signal")
def chirp(t: Any, f0: Any, t1: Any, f1: Any, method: Any, phi: Any, vertex_zero: Any) -> Any:
    """The cosine of the integral of a frequency that goes from f0 at 0 to f1 at t1.

    It does so linearly, by a square or by a power; UnsupportedFunction for a hyperbola. A run of a power fails for
    frequencies of two signs or 0; for equal ones it gives NaN, where SciPy takes a cosine.
    """
    time: Any = array_like(floating(t))
    kind = KINDS.get(method, method)
    if kind == "linear":
        turns = f0 * time + 0.5 * (f1 - f0) / t1 * time * time
    elif kind == "quadratic" and vertex_zero:
        turns = f0 * time + (f1 - f0) / t1**2 * time**3 / 3
    elif kind == "quadratic":
        turns = f1 * time + (f1 - f0) / t1**2 * ((t1 - time) ** 3 - t1**3) / 3
    elif kind == "logarithmic":
        wrong = np.logical_not(array_like(f0) * f1 > 0)
        told = "For a logarithmic chirp, f0 and f1 must be nonzero and have the same sign."
        ratio = refusing(array_like(f1) / f0, wrong, ValueError(told))
        turns = t1 / np.log(ratio) * f0 * (ratio ** (time / t1) - 1.0)
    else:
        raise unsupported(f"scipy.signal.chirp with method={method!r}")
    return np.cos(2 * math.pi * turns + phi * (math.pi / 180))


@as_scipys("scipy.signal")
def sawtooth(t: Any, width: Any) -> Any:
    """From -1 up to 1 in this part of each period of 2 pi, and back in the rest; NaN for a width that is none."""
    place = np.remainder(array_like(floating(t)), 2 * math.pi)
    share = array_like(width) + np.zeros_like(place)
    is_rising = place < share * (2 * math.pi)
    up = place / (math.pi * np.where(is_rising, share, 1.0)) - 1
    down = (math.pi * (share + 1) - place) / (math.pi * (1 - np.where(is_rising, 0.0, share)))
    return np.where((share < 0) | (share > 1), np.nan, np.where(is_rising, up, down))


@as_scipys("scipy.signal")
def square(t: Any, duty: Any) -> Any:
    """1 in this part of each period of 2 pi, -1 in the rest; NaN for a part that is none."""
    place = np.remainder(array_like(floating(t)), 2 * math.pi)
    share = array_like(duty) + np.zeros_like(place)
    found = np.where(place < share * (2 * math.pi), 1.0, -1.0)
    return np.where((share < 0) | (share > 1), np.nan, found)
