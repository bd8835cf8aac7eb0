"""scipy.signal's recursive filter designs with traced band edges, from known analog prototypes.

The prototypes are moved to the edges and made digital. Orders, ripples and attenuations are known numbers. Whether the
edges are in range, for which SciPy raises, is not checked.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import double
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.converted_run import running_plainly
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced

__all__ = ["bessel", "butter", "cheby1", "cheby2", "ellip"]

KINDS = {
    "low": "low", "lowpass": "low", "lp": "low", "l": "low", "high": "high", "highpass": "high", "hp": "high",
    "h": "high", "band": "band", "bandpass": "band", "bp": "band", "pass": "band", "bandstop": "stop", "bs": "stop",
    "stop": "stop", "bands": "stop",
}  # fmt: skip
"""SciPy's names of what is let through."""
TURNS = 4.0
"""Twice the sampling rate of a filter whose highest frequency is 1."""


class _Filter(NamedTuple):
    """Zeros and poles, complex vectors, and the gain."""

    zeros: Any
    poles: Any
    gain: Any


class _Asked(NamedTuple):
    """The arguments that all designs share."""

    Wn: Any
    btype: str
    analog: bool
    output: str
    fs: Any


@as_scipys("scipy.signal")
def butter(N: Any, Wn: Any, btype: Any, analog: Any, output: Any, fs: Any) -> Any:
    """Butterworth's filter."""
    return _designed("butter", "buttap", (N,), _Asked(Wn, btype, analog, output, fs))


@as_scipys("scipy.signal")
def cheby1(N: Any, rp: Any, Wn: Any, btype: Any, analog: Any, output: Any, fs: Any) -> Any:
    """Chebyshev's filter of the first kind."""
    return _designed("cheby1", "cheb1ap", (N, rp), _Asked(Wn, btype, analog, output, fs))


@as_scipys("scipy.signal")
def cheby2(N: Any, rs: Any, Wn: Any, btype: Any, analog: Any, output: Any, fs: Any) -> Any:
    """Chebyshev's filter of the second kind."""
    return _designed("cheby2", "cheb2ap", (N, rs), _Asked(Wn, btype, analog, output, fs))


@as_scipys("scipy.signal")
def ellip(N: Any, rp: Any, rs: Any, Wn: Any, btype: Any, analog: Any, output: Any, fs: Any) -> Any:
    """The elliptic filter."""
    return _designed("ellip", "ellipap", (N, rp, rs), _Asked(Wn, btype, analog, output, fs))


@as_scipys("scipy.signal")
def bessel(N: Any, Wn: Any, btype: Any, analog: Any, output: Any, norm: Any, fs: Any) -> Any:
    """Bessel's filter."""
    return _designed("bessel", "besselap", (N, norm), _Asked(Wn, btype, analog, output, fs))


def _designed(name: str, maker: str, shape: tuple[Any, ...], asked: _Asked) -> Any:
    """Coefficients, sections, or zeros, poles and gain.

    Sections are those of each pole of the prototype: SciPy may pair the zeros with other poles; and the two poles that
    a band makes of a real one may be in the other order. Raises UnsupportedFunction for what is traced but the edges,
    and for sections of a prototype that has zeros.
    """
    if any(map(holds_traced, (*shape, asked.fs))) or asked.btype.lower() not in KINDS:
        raise unsupported(f"scipy.signal.{name} of traced values but its edges, or with btype={asked.btype!r}")
    with running_plainly():
        prototype = _Filter(*getattr(sys.modules["scipy.signal"], maker)(*shape))
    kind = KINDS[asked.btype.lower()]
    edges: Any = array_like(double(asked.Wn)) * (1.0 if asked.fs is None else 2.0 / asked.fs)
    edges = _in_order(edges, asked)
    edges = edges if asked.analog else TURNS * np.tan(0.5 * np.pi * edges)
    if asked.output == "sos":
        if len(prototype.zeros) or asked.analog:
            raise unsupported(
                f"scipy.signal.{name} in sections of traced values, but for digital filters without zeros"
            )
        return _sections(prototype, kind, edges)
    found = _moved(prototype, kind, edges)
    found = found if asked.analog else _digital(found)
    if asked.output == "zpk":
        return tuple(found)
    return found.gain * _polynomial(found.zeros), _polynomial(found.poles)


def _in_order(edges: Any, asked: _Asked) -> Any:
    """The edges, 1 for half of the sampling rate; a run fails in which they are out of range or not in order."""
    edges = refusing(edges, np.logical_not(edges > 0), ValueError("filter critical frequencies must be greater than 0"))
    if not asked.analog:
        above = "Digital filter critical frequencies must be below half of the sampling rate"
        edges = refusing(edges, edges >= 1, ValueError(above))
    if edges.ndim and edges.shape[0] == 2:
        edges = refusing(edges, edges[0] >= edges[1], ValueError("Wn[0] must be less than Wn[1]"))
    return edges


def _polynomial(roots: Any) -> Any:
    """The real polynomial with these roots. np.poly would ask whether they are conjugates."""
    found: Any = np.ones(1)
    for i in range(np.shape(roots)[0]):
        found = _joined(found, np.zeros(1)) - _joined(np.zeros(1), found * roots[i])
    return np.real(found)


def _moved(given: _Filter, kind: str, edges: Any) -> _Filter:
    """The analog filter at its edges."""
    zeros, poles, gain = given
    excess = len(poles) - len(zeros)
    if kind == "low":
        return _Filter(_times(zeros, edges), _times(poles, edges), gain * edges**excess)
    inverted = gain * np.real(np.prod(-zeros) / np.prod(-poles))
    if kind == "high":
        return _Filter(_joined(_times(1 / zeros, edges), np.zeros(excess)), _times(1 / poles, edges), inverted)
    width, middle = edges[1] - edges[0], np.sqrt(edges[0] * edges[1])
    if kind == "band":
        both = [_split(_times(v, 0.5 * width), middle) for v in (zeros, poles)]
        return _Filter(_joined(both[0], np.zeros(excess, complex)), both[1], gain * width**excess)
    both = [_split(_times(1 / v, 0.5 * width), middle) for v in (zeros, poles)]
    stops = [_times(np.full(excess, turn), middle) for turn in (1j, -1j)]
    return _Filter(_joined(both[0], *stops), both[1], inverted)


def _times(known: Any, factor: Any) -> Any:
    return operand(known) * factor if len(known) else known


def _joined(*parts: Any) -> Any:
    kept = [p for p in parts if np.shape(p)[0]]
    return np.concatenate(kept) if kept else parts[0]


def _split(v: Any, middle: Any) -> Any:
    """The two places of each zero or pole about the middle of a band."""
    if not np.shape(v)[0]:
        return v
    apart: Any = np.sqrt(v * v - middle * middle)
    return np.concatenate([v + apart, v - apart])


def _digital(given: _Filter) -> _Filter:
    """The filter whose response at a frequency is the analog one's at the tangent of half of it."""
    zeros, poles, gain = given
    excess = np.shape(poles)[0] - np.shape(zeros)[0]
    found: Any = [(TURNS + v) / (TURNS - v) if np.shape(v)[0] else v for v in (zeros, poles)]
    scale: Any = _product(TURNS - zeros) / _product(TURNS - poles)
    return _Filter(_joined(found[0], -np.ones(excess)), found[1], gain * np.real(scale))


def _product(v: Any) -> Any:
    found: Any = 1.0
    for i in range(np.shape(v)[0]):
        found = found * v[i]
    return found


def _sections(prototype: _Filter, kind: str, edges: Any) -> Any:
    """Sections of second order: a pole with its conjugate, or both poles that a band makes of a real one."""
    rows, gain = [], 1.0
    upper = prototype.poles[prototype.poles.imag > 1e-10]
    real = prototype.poles[np.abs(prototype.poles.imag) <= 1e-10]
    for own in (*real[:, None], *upper[np.argsort(upper.real)][:, None]):
        is_real = abs(own[0].imag) <= 1e-10
        for part in _parts(own if is_real else np.concatenate([own, own.conj()]), kind, edges):
            rows.append([*_padded(_polynomial(part.zeros)), *_padded(_polynomial(part.poles))])
            gain = gain * part.gain
    rows[0][:3] = [v * (prototype.gain * gain) for v in rows[0][:3]]
    return np.stack([np.stack([array_like(v) for v in row]) for row in rows])


def _parts(poles: Any, kind: str, edges: Any) -> list[_Filter]:
    """The filter of a real pole, or of a pair, cut into filters of two poles at most."""
    found = _digital(_moved(_Filter(np.zeros(0), poles, 1.0), kind, edges))
    if len(poles) == 1 or kind in {"low", "high"}:
        return [found]
    cuts = (([0, 2], [0, 1], found.gain), ([1, 3], [2, 3], 1.0))
    return [_Filter(found.zeros[zeros], found.poles[poles], gain) for zeros, poles, gain in cuts]


def _padded(polynomial: Any) -> list[Any]:
    found = [polynomial[i] for i in range(np.shape(polynomial)[0])]
    return [*found, *[0.0] * (3 - len(found))]
