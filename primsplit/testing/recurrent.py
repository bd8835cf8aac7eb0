"""ONNX's RNN, GRU and LSTM as NumPy functions, step by step, because onnx.reference has only the plain forms."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ops.traits import traits

AnyArray = npt.NDArray[Any]
Function = Callable[[AnyArray], AnyArray]
Step = Callable[[AnyArray, list[AnyArray]], list[AnyArray]]

_ALPHAS = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "scaledtanh": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0}
_BETAS = {"scaledtanh": 1.0, "hardsigmoid": 0.5, "affine": 0.0}


_BACKWARDS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def _sigmoid(x: AnyArray) -> AnyArray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _function(name: str, a: float, b: float) -> Function:
    """An activation with its alpha and beta."""
    found: dict[str, Callable[[AnyArray], Any]] = {
        "affine": lambda x: a * x + b,
        "elu": lambda x: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))),
        "hardsigmoid": lambda x: np.clip(a * x + b, 0, 1),
        "leakyrelu": lambda x: np.where(x >= 0, x, a * x),
        "relu": lambda x: np.maximum(x, 0),
        "scaledtanh": lambda x: a * np.tanh(b * x),
        "sigmoid": _sigmoid,
        "softplus": lambda x: np.logaddexp(x, 0),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "tanh": np.tanh,
        "thresholdedrelu": lambda x: np.where(x > a, x, 0),
    }
    return found[name]


def _functions(
    names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None, clip: float | None
) -> list[Function]:
    """The activations; alphas and betas go, in order, to those that take one. Arguments are clipped first."""
    given_alphas, given_betas = iter(alphas or ()), iter(betas or ())
    found: list[Function] = []
    for name in map(str.lower, names):
        a = next(given_alphas, _ALPHAS[name]) if name in _ALPHAS else 0.0
        b = next(given_betas, _BETAS[name]) if name in _BETAS else 0.0
        plain = _function(name, a, b)
        found.append(_clipped(plain, clip) if clip else plain)
    return found


def _clipped(function: Function, clip: float) -> Function:
    return lambda x: function(np.clip(x, -clip, clip))


def _rnn(w: AnyArray, r: AnyArray, b: AnyArray, functions: Sequence[Function], **options: Any) -> Step:
    total = np.add(*np.split(b, 2))
    return lambda x, held: [functions[0](x @ w.T + held[0] @ r.T + total)]


def _gru(
    w: AnyArray, r: AnyArray, b: AnyArray, functions: Sequence[Function], *, linear: int = 0, **options: Any
) -> Step:
    f, g = functions
    (w_z, w_r, w_h), (r_z, r_r, r_h), (b_wz, b_wr, b_wh, b_rz, b_rr, b_rh) = (
        np.split(w, 3), np.split(r, 3), np.split(b, 6),
    )  # fmt: skip

    def step(x: AnyArray, held: list[AnyArray]) -> list[AnyArray]:
        h = held[0]
        z = f(x @ w_z.T + h @ r_z.T + b_wz + b_rz)
        reset = f(x @ w_r.T + h @ r_r.T + b_wr + b_rr)
        seen = reset * (h @ r_h.T + b_rh) if linear else (reset * h) @ r_h.T + b_rh
        return [(1 - z) * g(x @ w_h.T + seen + b_wh) + z * h]

    return step


def _lstm(
    w: AnyArray,
    r: AnyArray,
    b: AnyArray,
    functions: Sequence[Function],
    *,
    p: AnyArray,
    forget: int = 0,
    **options: Any,
) -> Step:
    f, g, shown = functions
    p_i, p_o, p_f = np.split(p, 3)
    total = np.add(*np.split(b, 2))

    def step(x: AnyArray, held: list[AnyArray]) -> list[AnyArray]:
        h, c = held
        i, o, kept, new = np.split(x @ w.T + h @ r.T + total, 4, axis=-1)
        i = f(i + p_i * c)
        kept = 1 - i if forget else f(kept + p_f * c)
        c = kept * c + i * g(new)
        return [f(o + p_o * c) * shown(c), c]

    return step


_CELLS: dict[str, Callable[..., Step]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def _run(x: AnyArray, lengths: AnyArray, step: Step, start: list[AnyArray], back: bool) -> tuple[AnyArray, ...]:
    """One direction: y [T, N, H], zero beyond each sequence, and the last states, zero where there is no step."""
    ends = [s.copy() for s in start]
    y = np.zeros((*x.shape[:2], start[0].shape[-1]), x.dtype)
    for n, length in enumerate(lengths):
        held = [s[n] for s in start]
        for t in reversed(range(length)) if back else range(length):
            held = step(x[t, n], held)
            y[t, n] = held[0]
        for end, value in zip(ends, held, strict=True):
            end[n] = value if length else 0
    return (y, *ends)


def recurrent(
    kind: str,
    x: AnyArray,
    w: AnyArray,
    r: AnyArray,
    b: AnyArray | None = None,
    lengths: AnyArray | None = None,
    *more: AnyArray | None,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    layout: int = 0,
    input_forget: int = 0,
    linear_before_reset: int = 0,
    hidden_size: int | None = None,
) -> tuple[AnyArray, ...]:
    """All results of a layer of one kind, from the equations of the standard."""
    directions, hidden = w.shape[0], r.shape[-1]
    x = x.swapaxes(0, 1) if layout else x
    steps, batch = x.shape[:2]
    optional = [*more, None, None, None][:3]
    nothing = np.zeros((directions, batch, hidden), x.dtype)
    start = [
        nothing if s is None else s.swapaxes(0, 1) if layout else s for s in optional[: 2 if kind == "LSTM" else 1]
    ]
    b = np.zeros((directions, 2 * w.shape[1]), x.dtype) if b is None else b
    p = np.zeros((directions, 3 * hidden), x.dtype) if optional[2] is None else optional[2]
    lengths = np.full(batch, steps) if lengths is None else lengths
    defaults = traits(kind).activations
    names = activations or [*defaults] * directions
    functions, plain = (_functions(names, activation_alpha, activation_beta, c) for c in (clip, None))
    options = {"linear": linear_before_reset, "forget": input_forget}

    def results() -> Iterator[tuple[AnyArray, ...]]:
        size = len(defaults)
        for d, back in enumerate(_BACKWARDS[direction]):
            used = functions[d * size : (d + 1) * size]
            if kind == "LSTM":  # onnxruntime clips what enters the gates, not the cell state on its way out
                used[-1] = plain[(d + 1) * size - 1]
            step = _CELLS[kind](w[d], r[d], b[d], used, p=p[d], **options)
            yield _run(x, lengths, step, [s[d] for s in start], back)

    y, *ends = (np.stack(each, axis=1 if i == 0 else 0) for i, each in enumerate(zip(*results(), strict=True)))
    if layout:
        return (y.transpose(2, 0, 1, 3), *(e.swapaxes(0, 1) for e in ends))
    return (y, *ends)


def _several(kind: str) -> Callable[..., Any]:
    return lambda *inputs, **attributes: recurrent(kind, *inputs, **attributes)


def _first(kind: str) -> Callable[..., Any]:
    return lambda *inputs, **attributes: recurrent(kind, *inputs, **attributes)[0]


RECURRENT: dict[str, Callable[..., Any]] = {kind: _several(kind) for kind in _CELLS}
"""All results, by operator."""

SEQUENCES: dict[str, Callable[..., Any]] = {kind: _first(kind) for kind in _CELLS}
"""The first result, by operator."""
