"""scipy.signal's spectrum of unevenly spaced samples. Only for traced arrays."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double, not_empty, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir import dims
from primsplit.numpy.axes import size_as
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like

__all__ = ["lombscargle"]

LEAST = 2.0**-53
"""The least divisor in SciPy."""
CLEAR = 1e-6
"""A determinant from which on cosine and sine are told apart without turning them."""


@as_scipys("scipy.signal")
def lombscargle(x: Any, y: Any, freqs: Any, normalize: Any, weights: Any, floating_mean: Any) -> Any:
    """The power at each frequency of sines fitted to samples: M. Zechmeister and M. Kuerster, A&A 496 (2009) 577-584.

    That at one frequency is a number, where one is known to be all. Raises UnsupportedFunction for complex amplitudes.
    """
    if normalize not in {True, False, "power", "normalize"}:
        raise unsupported(f"scipy.signal.lombscargle with normalize={normalize!r}")
    times = not_empty(array_like(double(x)))
    heights = of_length(array_like(double(y)), times.shape[0])
    count = size_as(times.shape[0], np.float64)
    shares: Any = np.ones_like(times) if weights is None else of_length(array_like(double(weights)), times.shape[0])
    shares = shares / np.sum(shares)
    angles = not_empty(array_like(double(freqs)))[:, None] * times
    mean = np.sum(shares * heights) if floating_mean else 0.0
    power = _power(angles, shares, heights - mean, is_floating=bool(floating_mean))
    power = power[0] if dims.is_one(power.shape[0]) else power
    if normalize in {False, "power"}:
        return 0.5 * count * power
    spread: Any = np.sum(shares * (heights - mean) ** 2)
    return power / spread


def _power(angles: Any, shares: Any, heights: Any, *, is_floating: bool) -> Any:
    """The squares that the best sine explains: of one whose angle is turned until cosine and sine are orthogonal.

    Where these are well apart the turn, which may be any, is left out.
    """
    yc, ys, cc, ss, cs = _moments(angles, shares, heights, is_floating=is_floating)
    whole = cc * ss - cs * cs
    is_clear = whole > CLEAR
    direct = (ss * yc * yc - 2 * cs * yc * ys + cc * ys * ys) / np.where(is_clear, whole, 1.0)
    turn = 0.5 * np.arctan2(2 * np.where(is_clear, 0.0, cs), np.where(is_clear, 1.0, cc - ss))
    yc, ys, cc, ss, _ = _moments(angles - turn[:, None], shares, heights, is_floating=is_floating)
    turned = yc * yc / np.maximum(cc, LEAST) + ys * ys / np.maximum(ss, LEAST)
    return np.where(is_clear, direct, turned)


def _moments(angles: Any, shares: Any, heights: Any, *, is_floating: bool) -> tuple[Any, ...]:
    """The weighted sums of heights, cosines and sines."""
    c, s = np.cos(angles), np.sin(angles)
    yc, ys, cc, cs = (v @ shares for v in (heights * c, heights * s, c * c, c * s))
    ss = 1.0 - cc
    if is_floating:
        mc, ms = c @ shares, s @ shares
        cc, ss, cs = cc - mc * mc, ss - ms * ms, cs - mc * ms
    return yc, ys, cc, ss, cs
