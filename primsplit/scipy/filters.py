"""scipy.signal's filters made of `lfilter`: in sections of second order, and forward and backward."""

from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.array import unsupported
from primsplit.concretization import literal_size
from primsplit.errors import ShapeError
from primsplit.lifting import array_like
from primsplit.scipy.operands import floating
from primsplit.scipy.signal import lfilter

__all__ = ["filtfilt", "lfilter_zi", "sosfilt"]


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """One filter of second order after the other; with `zi` [sections, ...] their last states, too."""
    sections: Any = array_like(floating(sos))
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
    sides: list[Any] = [array_like(np.atleast_1d(floating(v))) for v in (b, a)]
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
    given: Any = array_like(floating(x))
    signal = np.moveaxis(given, axis, 0)
    forth, back = _alike(b, a)
    length = 3 * forth.shape[0] if padlen is None else padlen
    length = 0 if padtype is None else length
    count = signal.shape[0]
    if isinstance(count, int) and count <= length:
        raise ShapeError(f"filtfilt of {count} samples continues them by {length}", place=tracing.user_place())
    wide: Any = _continued(signal, length, padtype)
    rest = lfilter_zi(forth, back).reshape((-1, *(1,) * (signal.ndim - 1)))
    for _ in range(2):
        wide = lfilter(forth, back, wide, axis=0, zi=rest * wide[:1])[0][::-1]
    return np.moveaxis(wide[length : length + count], 0, axis)


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
