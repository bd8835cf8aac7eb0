"""scipy.signal's linear systems of differential equations, x' = A x + B u and y = C x + D u, with traced coefficients.

A system is what SciPy's functions take: (numerator, denominator), (zeros, poles, gain), (A, B, C, D), or one of
SciPy's own objects. Times are known when tracing.
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.linalg import expm
from primsplit.frontends.scipy.operands import double
from primsplit.frontends.scipy.responses import freqs
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir import Value
from primsplit.ir.errors import ShapeError
from primsplit.numpy import failing
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan, record

__all__ = ["bode", "cont2discrete", "freqresp", "impulse", "lsim", "step", "tf2ss"]

Matrices = tuple[Any, Any, Any, Any]


@as_scipys("scipy.signal")
def tf2ss(num: Any, den: Any) -> Matrices:
    """The matrices of a quotient of polynomials, the highest power first; one row of `num` for each output."""
    below: Any = np.atleast_1d(array_like(double(den)))
    below = refusing(below, np.all(below == 0), ValueError("Denominator must have at least on nonzero element."))
    above: Any = np.atleast_2d(array_like(double(num))) / below[0]
    order, missing = below.shape[0] - 1, below.shape[0] - above.shape[1]
    if order < 1 or missing < 0:
        raise unsupported("a system without states, or whose numerator is of a higher order than its denominator")
    above = np.pad(above, ((0, 0), (missing, 0)))
    rest = below[1:] / below[0]
    a = np.concatenate([-rest[None], np.eye(order - 1, order)])
    through = above[:, :1]
    return a, np.eye(order, 1), above[:, 1:] - through * rest, through


def _matrices(system: Any) -> Matrices:
    """The matrices of any kind of system."""
    if hasattr(system, "to_ss"):
        if system.dt is not None:
            raise unsupported("a system in discrete time")
        found = system.to_ss()
        return found.A, found.B, found.C, found.D
    if len(system) == 3:
        zeros, poles, gain = system
        system = double(gain) * np.poly(zeros), np.poly(poles)
    if len(system) == 2:
        a, b, c, d = tf2ss(*system)
    else:
        a, b, c, d = (np.atleast_2d(array_like(double(matrix))) for matrix in system)
    return a, b, c, d


def _known(values: Any, what: str) -> Any:
    if values is None or holds_traced(values):
        raise unsupported(f"scipy.signal.{what}")
    return np.atleast_1d(np.asarray(values, np.float64))


def _time_step(times: Any) -> float:
    """The time between two of the times. Raises ShapeError where they are not equally far apart, or begin below 0."""
    steps = np.diff(times)
    if times[0] < 0 or not np.allclose(steps, steps[:1]):
        raise ShapeError("times must be equally spaced, from 0 on or later", place=tracing.user_place())
    return float(steps[0]) if steps.size else 0.0


@as_scipys("scipy.signal")
def lsim(system: Any, U: Any, T: Any, X0: Any, interp: bool) -> tuple[Any, Any, Any]:
    """Times, outputs and states for inputs `U`, which go along straight lines between the times, or stay."""
    a, b, c, d = _matrices(system)
    states, inputs = b.shape
    times = _known(T, "lsim at traced times")
    step = _time_step(times)
    is_zero = U is None or (isinstance(U, int | float) and U == 0)
    u: Any = np.zeros((times.size, inputs)) if is_zero else array_like(double(U))
    u = u[:, None] if u.ndim == 1 else u
    if u.shape != (times.size, inputs):
        raise ShapeError(
            f"inputs of shape {u.shape} are not one row for each of {times.size} times, a column for each of {inputs}",
            place=tracing.user_place(),
        )
    first = np.zeros(states) if X0 is None else array_like(double(X0))
    if times[0] > 0:
        first = expm(a * times[0]) @ first
    moved = expm(_moving(a, b, step, slopes=interp)).T
    turned, held = moved[:states, :states], moved[states : states + inputs, :states]
    rise = moved[states + inputs :, :states] if interp else np.zeros((inputs, states))
    x = _followed(first, turned, u[:-1] @ (held - rise) + u[1:] @ rise)
    return times, np.squeeze(x @ c.T + u @ d.T), np.squeeze(x)


def _followed(first: Any, turned: Any, driven: Any) -> Any:
    """The states from the first on: each is the one before times a matrix, and a row that drives it."""

    def advance(x: Any, drive: Any) -> list[Value]:
        after = (x @ turned + drive).value
        return [after, after]

    values = [array_like(v).value for v in (first, driven)]
    body = record("lsim", [values[0].type, element(values[1].type, Walk())], advance)
    _, later = emit_scan(ScanForm(body, 1, (Walk(),), (Walk(),)), values[:1], values[1:])
    return np.concatenate([array_like(first)[None], Array(later)])


def _moving(a: Any, b: Any, step: float, *, slopes: bool) -> Any:
    """The matrix whose exponential moves states by a step, with inputs that stay, and those that rise by 1 in it."""
    states, inputs = b.shape
    rows = [np.concatenate([a * step, b * step], axis=1), np.zeros((inputs, states + inputs))]
    square = np.concatenate(rows)
    if not slopes:
        return square
    rising = np.concatenate([np.zeros((states, inputs)), np.eye(inputs)])
    wide = np.concatenate([square, rising], axis=1)
    return np.concatenate([wide, np.zeros((inputs, states + 2 * inputs))])


@as_scipys("scipy.signal")
def step(system: Any, X0: Any, T: Any) -> tuple[Any, Any]:
    """Times, and the output for an input of 1."""
    times = _known(T, "step without known times T")
    _, output, _ = lsim(system, np.ones(times.shape), times, X0, interp=False)
    return times, output


@as_scipys("scipy.signal")
def impulse(system: Any, X0: Any, T: Any) -> tuple[Any, Any]:
    """Times, and the output for an impulse at time 0 of the one input."""
    times = _known(T, "impulse without known times T")
    matrices = _matrices(system)
    kick = np.squeeze(matrices[1], axis=1)
    first = kick if X0 is None else kick + array_like(double(X0))
    _, output, _ = lsim(matrices, None, times, first, interp=False)
    return times, output


@as_scipys("scipy.signal")
def freqresp(system: Any, w: Any) -> tuple[Any, Any]:
    """The angular frequencies, and the complex response there, of one input and one output."""
    if w is None:
        raise unsupported("scipy.signal.freqresp without frequencies w")
    places: Any = np.atleast_1d(double(w))
    if isinstance(system, tuple | list) and len(system) == 2:
        found: tuple[Any, Any] = freqs(*system, places)
        return found
    a, b, c, d = _matrices(system)
    if b.shape[1] != 1 or c.shape[0] != 1:
        raise unsupported("a frequency response of several inputs or outputs")
    solved = failing.nan_where_singular.solve(1j * places[:, None, None] * np.eye(a.shape[0]) - a, b)
    return places, (c @ solved)[:, 0, 0] + d[0, 0]


@as_scipys("scipy.signal")
def bode(system: Any, w: Any) -> tuple[Any, Any, Any]:
    """The angular frequencies, the gain in decibels and the phase in degrees."""
    places, response = freqresp(system, w)
    phase = np.unwrap(np.arctan2(response.imag, response.real))
    return places, 20.0 * np.log10(abs(response)), phase * 180.0 / np.pi


_SHARES = {"bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0, "backward_diff": 1.0}


@as_scipys("scipy.signal")
def cont2discrete(system: Any, dt: Any, method: str, alpha: Any) -> tuple[Any, ...]:
    """The matrices of a system in steps of `dt`: for inputs that stay in each ("zoh"), or by a rule of integration."""
    if len(system) != 4 or (method not in {"zoh", "gbt"} and method not in _SHARES):
        raise unsupported("cont2discrete but of (A, B, C, D), by zoh, gbt, bilinear, euler or backward_diff")
    a, b, c, d = _matrices(system)
    size = a.shape[0]
    if method == "zoh":
        moved = expm(_moving(a, b, 1.0, slopes=False) * dt)
        return moved[:size, :size], moved[:size, size:], c, d, dt
    share = _SHARES.get(method, alpha)
    ahead = failing.finite(np.eye(size) - share * dt * a)
    driven = failing.nan_where_singular.solve(ahead, failing.finite(dt * b))
    turned = failing.nan_where_singular.solve(ahead, np.eye(size) + (1.0 - share) * dt * a)
    return turned, driven, failing.nan_where_singular.solve(ahead.T, c.T).T, d + share * (c @ driven), dt
