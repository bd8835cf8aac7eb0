"""scipy.signal's filters built on `lfilter`: second-order sections, forward and backward filters, and deconvolution."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.linear_filter import lfilter
from primsplit.frontends.scipy.operands import inexact, of_at_least, of_length
from primsplit.frontends.scipy.signal import convolve
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.broadcasting import count_up

__all__ = ["deconvolve", "filtfilt", "lfilter_zi", "lfiltic", "sosfilt", "sosfiltfilt"]


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """One filter of second order after the other; with `zi` [sections, ...] their last states, too."""
    sections, x = of_at_least(operand(inexact(sos)), 1, 0), of_at_least(operand(inexact(x)), 1, axis)
    sections = refusing(sections, sections[:, 3] != 1, ValueError("sos[:, 3] should be all ones"))
    zi = zi if zi is None else of_length(operand(inexact(zi)), sections.shape[0], 0)
    if isinstance(sections.shape[0], Size):
        return _sections_of_a_run(sections, x, axis, zi)
    states = []
    for i in range(sections.shape[0]):
        forth, back = sections[i, :3], sections[i, 3:]
        if zi is None:
            x = lfilter(forth, back, x, axis)
        else:
            x, state = lfilter(forth, back, x, axis, zi[i])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


def _sections_of_a_run(sections: Any, x: Any, axis: int, zi: Any) -> Any:
    """`sosfilt` of as many sections as the run knows, one step of a scan for each."""
    if any(map(holds_complex, (sections, x, zi))):
        raise unsupported("scipy.signal.sosfilt of complex numbers by sections of a symbolic number")
    dtype = np.result_type(sections.dtype, x.dtype, *([] if zi is None else [zi.dtype]))
    read = [cast_to(array_like(v), dtype) for v in (sections, *([] if zi is None else [zi]))]

    def step(signal: Array, section: Array, *start: Array) -> tuple[list[Array], list[Array]]:
        found = lfilter(section[:3], section[3:], signal, axis, *start)
        return ([found[0]], [found[1]]) if start else ([found], [])

    found = scan(step, [cast_to(array_like(x), dtype)], read)
    return found[0] if zi is None else tuple(found)


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state in which a filter answers a step at once: that of its difference equation's rest.

    One of a single coefficient has no state, and none in SciPy: a run in which it has no more fails.
    """
    forth, back = (of_at_least(v, 2) for v in _alike(b, a))
    inward = forth[1:] - back[1:] * forth[0]
    first = np.sum(inward) / np.sum(back)
    return np.cumsum(back)[:-1] * first - np.concatenate([np.zeros_like(inward[:1]), np.cumsum(inward)[:-1]])


def _alike(b: Any, a: Any) -> tuple[Any, Any]:
    """Numerator and denominator with as many coefficients, divided by the first of the denominator."""
    sides: list[Any] = [np.atleast_1d(operand(inexact(v))) for v in (b, a)]
    sides[1] = of_at_least(sides[1], 1)
    count = dims.maximum(*(v.shape[0] for v in sides))
    forth, back = (np.pad(v / sides[1][0], (0, count - v.shape[0])) for v in sides)
    return forth, back


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: Any = None,
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
    below: Any = of_at_least(np.atleast_1d(operand(inexact(a))), 1)
    told = "a filter whose first coefficient a[0] is 0 is not supported"
    below = refusing(below, below[0] == 0, ValueError(told))
    forth, back = _alike(of_at_least(np.atleast_1d(operand(inexact(b))), 1), below)
    length: Dim = 3 * forth.shape[0] if padlen is None else padlen
    length = 0 if padtype is None else length
    count = signal.shape[0]
    if dims.at_least(length, count):
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
    back = refusing(back, back[0] == 0, ValueError("First `a` filter coefficient must be non-zero."))
    size = dims.maximum(back.shape[0], forth.shape[0])
    coming = _left_over(forth / back[0], before, size)
    return coming - _left_over(back / back[0], given, size)


def _left_over(weights: Any, past: Any, size: Dim) -> Any:
    """The later output of past samples, last first, from a filter of this size: one sum of products for each."""
    place: Any = count_up(size - 1)[:, None] + count_up(past.shape[0]) + 1
    reach = size_as(weights.shape[0], np.int64)
    factors = np.take(np.append(weights, 0.0).astype(weights.dtype), np.minimum(place, reach))
    return np.sum(factors * past, axis=1)


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """Return the quotient, whose convolution with the divisor approximates the signal, and the remainder."""
    whole, part = (np.atleast_1d(operand(inexact(v))) for v in (signal, divisor))
    whole, part = of_at_least(whole, 1), of_at_least(part, 1)
    n, m = whole.shape[0], part.shape[0]
    if dims.above(m, n):
        return array_like(np.zeros(0)), whole
    quotient = _quotient(whole, part, dims.maximum(n - m + 1, 0))
    if dims.at_least(n, m):
        return quotient, whole - convolve(part, quotient)
    wide = np.concatenate([quotient, np.zeros(1)])
    return quotient, whole - convolve(part, wide)[:n]


def _quotient(whole: Any, part: Any, size: Dim) -> Any:
    impulse = cast_to(array_like(count_up(size) == 0), np.float64)
    # A symbolic number of steps may be none, which a filter of one coefficient refuses.
    back = part if isinstance(size, int) or isinstance(part.shape[0], Size) else np.append(part, 0.0)
    return lfilter(whole, back, impulse)


def _continued(x: Any, length: Dim, kind: str | None) -> Any:
    """The signal, continued on both sides: turned about its ends, mirrored, or by its ends."""
    if dims.same(length, 0):
        return x
    places: Any = np.arange(1, length + 1) if isinstance(length, int) else count_up(length) + 1
    before, after = np.take(x, places[::-1], axis=0), np.take(x, size_as(x.shape[0], np.int64) - 1 - places, axis=0)
    if kind == "odd":
        before, after = 2 * x[:1] - before, 2 * x[-1:] - after
    elif kind == "constant":
        before, after = (end + np.zeros_like(side) for end, side in ((x[:1], before), (x[-1:], after)))
    return np.concatenate([before, x, after])
