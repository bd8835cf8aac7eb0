"""Recurrent layers: steps over time of a cell, in one direction or in both."""

from typing import Any

import numpy as np

from primsplit.ir import AnyArray


def activation(name: str, alpha: Any = None, beta: Any = None) -> Any:
    """Return an activation function of a cell by its name."""
    return {
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(x, 0),
        "affine": lambda x: alpha * x + beta,
        "leakyrelu": lambda x: np.where(x < 0, alpha * x, x),
        "thresholdedrelu": lambda x: np.where(x > alpha, x, 0),
        "scaledtanh": lambda x: alpha * np.tanh(beta * x),
        "elu": lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
        "hardsigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "softplus": lambda x: np.logaddexp(x, 0),
    }[name.lower()]


def recurrent(
    cell: Any,
    x: AnyArray,
    w: AnyArray,
    r: AnyArray,
    b: Any = None,
    lengths: Any = None,
    *first: Any,
    direction: str = "forward",
    activations: Any,
    clip: Any = None,
    layout: int = 0,
    peepholes: Any = None,
    **more: Any,
) -> Any:
    """Return the states of a cell after each step, and the last ones, 0 without steps; `first` are those to start from.

    A cell gets functions, clipped sums' limits, a step's input, the weights and the states.
    """
    x = np.swapaxes(x, 0, 1) if layout else x
    steps, batch, hidden = x.shape[0], x.shape[1], r.shape[2]
    lengths = np.full(batch, steps) if lengths is None else lengths
    every, last = [], []
    for d in range(w.shape[0]):
        is_back = direction == "reverse" or d == 1
        names = activations[d * len(activations) // w.shape[0] : (d + 1) * len(activations) // w.shape[0]]
        functions = [activation(*f) if isinstance(f, tuple) else activation(f) for f in names]
        bias = np.zeros(2 * w.shape[1], x.dtype) if b is None else b[d]
        states = [np.zeros((batch, hidden), x.dtype) if s is None else (s[:, d] if layout else s[d]) for s in first]
        outputs = np.zeros((steps, batch, hidden), x.dtype)
        own = more if peepholes is None else {**more, "peepholes": peepholes[d]}
        for t in range(steps):
            at = np.where(t < lengths, lengths - 1 - t if is_back else t, t)
            runs = (t < lengths)[:, None]
            rows = np.arange(batch)
            new = cell(functions, clip, x[at, rows], w[d], r[d], bias, states, **own)
            states = [np.where(runs, n, s) for n, s in zip(new, states, strict=True)]
            outputs[at, rows] = np.where(runs, new[0], 0)
        every.append(outputs)
        last.append([np.where(lengths[:, None] > 0, s, 0) for s in states])
    y = np.stack(every, axis=1)
    ends = [np.stack(parts) for parts in zip(*last, strict=True)]
    if layout:
        return np.transpose(y, (2, 0, 1, 3)), *[np.swapaxes(e, 0, 1) for e in ends]
    return y, *ends


def clipped(a: AnyArray, clip: Any) -> AnyArray:
    """Return numbers between -clip and clip, or as they are."""
    return a if clip is None else np.clip(a, -clip, clip)


def rnn_cell(functions: Any, clip: Any, x: AnyArray, w: AnyArray, r: AnyArray, b: AnyArray, states: Any) -> Any:
    """Return the next state of a plain recurrent cell."""
    wb, rb = np.split(b, 2)
    return [functions[0](clipped(x @ w.T + states[0] @ r.T + wb + rb, clip))]


def gru_cell(
    functions: Any, clip: Any, x: AnyArray, w: AnyArray, r: AnyArray, b: AnyArray, states: Any, after: int = 0
) -> Any:
    """Return the next state of a gated recurrent unit; with `after` the product is reset, not the state."""
    h = states[0]
    (wz, wr, wh), (rz, rr, rh), (bz, br, bh, cz, cr, ch) = np.split(w, 3), np.split(r, 3), np.split(b, 6)
    z = functions[0](clipped(x @ wz.T + h @ rz.T + bz + cz, clip))
    reset = functions[0](clipped(x @ wr.T + h @ rr.T + br + cr, clip))
    inner = reset * (h @ rh.T + ch) if after else (reset * h) @ rh.T + ch
    new = functions[1](clipped(x @ wh.T + inner + bh, clip))
    return [(1 - z) * new + z * h]


def lstm_cell(
    functions: Any,
    clip: Any,
    x: AnyArray,
    w: AnyArray,
    r: AnyArray,
    b: AnyArray,
    states: Any,
    peepholes: Any = None,
    coupled: int = 0,
) -> Any:
    """Return the next output and state of a long short-term memory; `peepholes` are weights of the state."""
    h, c = states
    wb, rb = np.split(b, 2)
    i, o, f, g = np.split(x @ w.T + h @ r.T + wb + rb, 4, axis=-1)
    pi, po, pf = np.zeros((3, 1), x.dtype) if peepholes is None else np.split(peepholes, 3)
    i = functions[0](clipped(i + pi * c, clip))
    f = 1 - i if coupled else functions[0](clipped(f + pf * c, clip))
    c = f * c + i * functions[1](clipped(g, clip))
    o = functions[0](clipped(o + po * c, clip))
    return [o * functions[2](c), c]
