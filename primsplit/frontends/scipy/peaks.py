"""scipy.signal's search for extremes in traced signals; only the run knows how many there are."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up

__all__ = ["find_peaks"]

Properties = dict[str, Any]


@as_scipys("scipy.signal")
def find_peaks(x: Any, height: Any, threshold: Any, prominence: Any) -> tuple[Any, Properties]:
    """The places of peaks, in the middle of a plateau, and their properties, whose values have gradients."""
    signal = array_like(double(x))
    peaks = _tops(signal)
    found: Properties = {}
    if height is not None:
        heights = found["peak_heights"] = signal[peaks]
        peaks = _kept(peaks, found, _within(height, peaks, heights, heights))
    if threshold is not None:
        left, right = signal[peaks] - signal[peaks - 1], signal[peaks] - signal[peaks + 1]
        found |= {"left_thresholds": left, "right_thresholds": right}
        peaks = _kept(peaks, found, _within(threshold, peaks, np.minimum(left, right), np.maximum(left, right)))
    if prominence is not None:
        found |= _prominences(signal, peaks)
        peaks = _kept(peaks, found, _within(prominence, peaks, found["prominences"], found["prominences"]))
    return peaks, found


def _tops(signal: Any) -> Any:
    """Return where a rise is followed by a fall, or by equal numbers and then a fall; none at a NaN."""
    before, after = signal[:-1], signal[1:]
    rises, falls = after > before, after < before
    steps = np.flatnonzero(~(after == before))
    is_top = rises[steps[:-1]] & falls[steps[1:]]
    return (steps[:-1][is_top] + 1 + steps[1:][is_top]) // 2


def _within(condition: Any, peaks: Any, lower: Any, upper: Any) -> Any:
    """Of which peaks `lower` is no less than the least, and `upper` no more than the most, of a condition.

    That is a least number, or a pair of which one may be None; a number is one for all, or for each of the signal.
    """
    least, most = condition if isinstance(condition, tuple | list) else (condition, None)
    keep = np.ones_like(peaks, dtype=bool)
    if least is not None:
        keep = keep & (lower >= (least[peaks] if np.ndim(least) else least))
    if most is not None:
        keep = keep & (upper <= (most[peaks] if np.ndim(most) else most))
    return keep


def _kept(peaks: Any, found: Properties, keep: Any) -> Any:
    """The peaks that are kept; their properties are cut to them."""
    found.update({name: values[keep] for name, values in found.items()})
    return peaks[keep]


def _prominences(signal: Any, peaks: Any) -> Properties:
    """Return the height of each peak above the higher of its bases, and the places of the bases.

    A base is the lowest place on a side, up to the first element that is higher than the peak.
    """
    places = count_up(signal.shape[0])
    peak, tops = peaks[:, None], signal[peaks][:, None]
    ends = ~(signal <= tops)
    first = np.max(np.where(ends & (places < peak), places, -1), axis=1, initial=-1)[:, None]
    last = np.min(np.where(ends & (places > peak), places, signal.shape[0]), axis=1, initial=signal.shape[0])[:, None]
    spread = np.broadcast_to(signal, ends.shape)
    sides = [(places > first) & (places <= peak), (places < last) & (places >= peak)]
    lows = [np.min(np.where(side, spread, np.inf), axis=1, initial=np.inf) for side in sides]
    left, right = (side & (spread == low[:, None]) for side, low in zip(sides, lows, strict=True))
    return {
        "prominences": signal[peaks] - np.maximum(*lows),
        "left_bases": np.max(np.where(left, places, -1), axis=1, initial=-1),
        "right_bases": np.min(np.where(right, places, signal.shape[0]), axis=1, initial=signal.shape[0]),
    }
