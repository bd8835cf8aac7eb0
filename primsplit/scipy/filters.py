"""scipy.signal's filters made of `lfilter`: in sections of second order, forward and backward, and undone."""

from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.array import unsupported
from primsplit.concretization import literal_size
from primsplit.errors import ShapeError
from primsplit.lifting import array_like, holds_traced
from primsplit.numpy.complex.operands import operand
from primsplit.scipy.operands import inexact, of_at_least
from primsplit.scipy.signal import convolve, lfilter

__all__ = ["deconvolve", "filtfilt", "lfilter_zi", "lfiltic", "sosfilt", "sosfiltfilt"]


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """One filter of second order after the other; with `zi` [sections, ...] their last states, too."""
    sections: Any = operand(inexact(sos))
    states = []
    for i in range(literal_size(sections.shape[0], "scipy.signal.sosfilt")):
        forth, back = sections[i, :3], sections[i, 3:]
        if zi is None:
            x = lfilter(forth, back, x, axis)
        else:
            x, state = lfilter(forth, back, x, axis, zi[i])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state in which a filter answers a step at once: that of its difference equation's rest."""
    forth, back = _alike(b, a)
    inward = forth[1:] - back[1:] * forth[0]
    first = np.sum(inward) / np.sum(back)
    return np.cumsum(back)[:-1] * first - np.concatenate([np.zeros_like(inward[:1]), np.cumsum(inward)[:-1]])


def _alike(b: Any, a: Any) -> tuple[Any, Any]:
    """Numerator and denominator with as many coefficients, divided by the first of the denominator."""
    sides: list[Any] = [np.atleast_1d(operand(inexact(v))) for v in (b, a)]
    count = dims.maximum(*(v.shape[0] for v in sides))
    forth, back = (np.pad(v / sides[1][0], (0, count - v.shape[0])) for v in sides)
    return forth, back


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filtered forward and backward, the ends continued by `padlen` samples. Raises ShapeError for a short signal.

    Only method "pad"; where only the run knows that a signal is short, it fails there.
    """
    if method != "pad" or padtype not in {None, "odd", "even", "constant"}:
        raise unsupported(f"scipy.signal.filtfilt with method={method!r} and padtype={padtype!r}")
    given: Any = operand(inexact(x))
    signal = np.moveaxis(given, axis, 0)
    forth, back = _alike(b, a)
    length = 3 * forth.shape[0] if padlen is None else padlen
    length = 0 if padtype is None else length
    count = signal.shape[0]
    if isinstance(count, int) and count <= length:
        raise ShapeError(f"filtfilt of {count} samples continues them by {length}", place=tracing.user_place())
    wide: Any = _continued(of_at_least(signal, length + 1, 0), length, padtype)
    rest = lfilter_zi(forth, back).reshape((-1, *(1,) * (signal.ndim - 1)))
    for _ in range(2):
        wide = lfilter(forth, back, wide, axis=0, zi=rest * wide[:1])[0][::-1]
    return np.moveaxis(wide[length : length + count], 0, axis)


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Any:
    """Sections of second order forward and backward, as `filtfilt` does it; the sections are known when tracing."""
    if holds_traced(sos) or padtype not in {None, "odd", "even", "constant"}:
        raise unsupported(f"scipy.signal.sosfiltfilt of traced sections, or with padtype={padtype!r}")
    sections = np.asarray(sos)
    given: Any = operand(inexact(x))
    signal = np.moveaxis(given, axis, 0)
    short = min(np.sum(sections[:, 2] == 0), np.sum(sections[:, 5] == 0))
    length = 3 * int(2 * len(sections) + 1 - short) if padlen is None else padlen
    length = 0 if padtype is None else length
    count = signal.shape[0]
    if isinstance(count, int) and count <= length:
        raise ShapeError(f"sosfiltfilt of {count} samples continues them by {length}", place=tracing.user_place())
    wide: Any = _continued(of_at_least(signal, length + 1, 0), length, padtype)
    rest = _section_states(sections).reshape((len(sections), 2, *(1,) * (signal.ndim - 1)))
    for _ in range(2):
        wide = sosfilt(sections, wide, axis=0, zi=rest * wide[:1])[0][::-1]
    return np.moveaxis(wide[length : length + count], 0, axis)


def _section_states(sections: Any) -> Any:
    """The states in which known sections answer a step at once: each gets what those before make of it."""
    scale, states = 1.0, []
    for section in sections:
        forth, back = (np.asarray(v) / section[3] for v in (section[:3], section[3:]))
        inward = forth[1:] - back[1:] * forth[0]
        first = np.sum(inward) / np.sum(back)
        states.append(scale * np.array([first, (1 + back[1]) * first - inward[0]]))
        scale *= np.sum(forth) / np.sum(back)
    return np.stack(states)


def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """The state of a filter that gave `y`, the last number first, of `x`."""
    forth, back, given, before = (
        np.atleast_1d(operand(inexact(v))) for v in (b, a, y, np.zeros(1) if x is None else x)
    )
    n, m = (literal_size(v.shape[0], "scipy.signal.lfiltic") - 1 for v in (back, forth))
    coming = _left_over(forth / back[0], before, m, max(n, m))
    return coming - _left_over(back / back[0], given, n, max(n, m))


def _left_over(weights: Any, past: Any, reach: int, size: int) -> Any:
    """What of past samples, the last first, is still to come: sums of products, one a place."""
    count = literal_size(past.shape[0], "scipy.signal.lfiltic")
    known = np.pad(past[:reach], (0, max(reach - count, 0)))
    sums = [np.sum(weights[i + 1 :] * known[: reach - i]) for i in range(reach)]
    return np.stack([*sums, *[np.zeros_like(weights[0])] * (size - reach)]) if size else weights[:0]


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """What, convolved with the divisor, gives the signal but for a rest, and the rest."""
    whole, part = (np.atleast_1d(operand(inexact(v))) for v in (signal, divisor))
    n, m = (literal_size(v.shape[0], "scipy.signal.deconvolve") for v in (whole, part))
    if m > n:
        return array_like(np.zeros(0)), whole
    quotient = lfilter(whole, part, np.eye(1, n - m + 1)[0])
    return quotient, whole - convolve(part, quotient)


def _continued(x: Any, length: int, kind: str | None) -> Any:
    """The signal, continued on both sides: turned about its ends, mirrored, or by its ends."""
    if length == 0:
        return x
    places = np.arange(1, length + 1)
    before, after = x[places[::-1]], x[-1 - places]
    if kind == "odd":
        before, after = 2 * x[:1] - before, 2 * x[-1:] - after
    elif kind == "constant":
        before, after = (end + np.zeros_like(side) for end, side in ((x[:1], before), (x[-1:], after)))
    return np.concatenate([before, x, after])
