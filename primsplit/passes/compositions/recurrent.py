"""Recurrent layers in float64: each direction a Loop over the steps.

Sequences are [T, N, size], gates in ONNX's order. Only default activations (Relu too for RNN) and sequences of one
length are composed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.broadcasting import zeros
from primsplit.errors import DtypeError
from primsplit.ir import Type, Value
from primsplit.ops import op

State = Sequence[Array]
Cell = Callable[[Array, State], State]
DEFAULTS = {"RNN": (["tanh"], ["relu"]), "GRU": (["sigmoid", "tanh"],), "LSTM": (["sigmoid", "tanh", "tanh"],)}


def text(value: str | bytes) -> str:
    """A text attribute, which may be bytes."""
    return value.decode() if isinstance(value, bytes) else value


def layer(kind: str, make: Callable[..., Cell], *inputs: Array | None, **attributes: Any) -> tuple[Array, ...]:
    """The sequence of each direction and its last states. Raises DtypeError for what is not composed."""
    x, w, r, b, lengths = (*inputs, None, None)[:5]
    direction = text(attributes.get("direction", "forward"))
    directions = 2 if direction == "bidirectional" else 1
    activation = _activation(kind, attributes, directions)
    if x is None or w is None or r is None or lengths is not None or not isinstance(r.shape[-1], int):
        raise DtypeError(f"float64 {kind} takes sequences of one length and weights of fixed sizes")
    count = 2 if kind == "LSTM" else 1
    optional = [*inputs[5:], None, None, None][:3]
    state = (x.shape[1], r.shape[-1])
    found: list[State] = []
    for d in range(directions):
        bias = zeros((2 * w.shape[1],), x.dtype) if b is None else _part(b, d)
        peepholes = None if optional[2] is None else _part(optional[2], d)
        options = {"activation": activation, "linear": attributes.get("linear_before_reset", 0), "p": peepholes}
        start = [zeros(state, x.dtype) if a is None else _part(a, d) for a in optional[:count]]
        cell = make(*(_part(a, d) for a in (w, r)), bias, **options)
        found.append(_run(x, cell, start, is_reversed=direction == "reverse" or d == 1))
    return tuple(
        op.Concat(*(op.Unsqueeze(each[i], [1 if i == 0 else 0]) for each in found), axis=1 if i == 0 else 0)
        for i in range(1 + count)
    )


def _activation(kind: str, attributes: Mapping[str, Any], directions: int) -> str:
    size = len(DEFAULTS[kind][0])
    names = [text(a).lower() for a in attributes.get("activations") or DEFAULTS[kind][0] * directions]
    names = names[: size * directions]
    odd = [a for a in ("clip", "layout", "input_forget") if attributes.get(a)]
    if odd or names[:size] not in DEFAULTS[kind] or names != names[:size] * directions:
        raise DtypeError(f"float64 {kind} has no {', '.join(odd) or 'activations ' + ', '.join(names)}")
    return names[0]


def _part(x: Array, direction: int) -> Array:
    return op.Squeeze(op.Slice(x, [direction], [direction + 1], [0]), [0])


def _run(x: Array, cell: Cell, start: State, *, is_reversed: bool) -> State:
    """The first state of every step, then the last states."""
    count = op.Squeeze(op.Shape(x, start=0, end=1), [0])
    with tracing.recording(place=tracing.current().place) as inner:
        iteration, condition = inner.param(Type(np.int64, ())), inner.param(Type(np.bool_, ()))
        held = [inner.param(a.type) for a in start]
        t = op.Sub(op.Sub(count, 1), Array(iteration)) if is_reversed else Array(iteration)
        new = [a.value for a in cell(op.Gather(x, t, axis=0), [Array(h) for h in held])]
        results: list[Value] = [condition, *new, new[0]]
    body = tracing.close("step", [iteration, condition, *held], inner, results)
    sequence = Type(x.dtype, (x.shape[0], *start[0].shape))
    inputs = [count.value, None, *(a.value for a in start)]
    made = tracing.emit(
        "Loop", inputs, {"body": body}, outputs=len(start) + 1, types=[*(a.type for a in start), sequence]
    )
    *ends, collected = map(Array, made)
    if is_reversed:
        collected = op.Slice(collected, [-1], [-(2**62)], [0], [-1], types=[sequence])
    return [collected, *ends]


def _transposed(x: Array) -> Array:
    return op.Transpose(x, perm=[1, 0])


def _parts(x: Array, count: int, axis: int = -1) -> tuple[Array, ...]:
    size = x.shape[axis]
    found: tuple[Array, ...] = op.Split(x, [size // count if isinstance(size, int) else 0] * count, axis=axis)
    return found


def rnn_cell(w: Array, r: Array, b: Array, *, activation: str, **others: Any) -> Cell:
    """h = f(x w^T + h r^T + b)."""
    function = op.Tanh if activation == "tanh" else op.Relu
    w_t, r_t, bias = _transposed(w), _transposed(r), op.Add(*_parts(b, 2))
    return lambda x, held: [function(op.Add(op.Add(op.MatMul(x, w_t), op.MatMul(held[0], r_t)), bias))]


def gru_cell(w: Array, r: Array, b: Array, *, linear: int, **others: Any) -> Cell:
    """The update z, the reset and the proposal p: h = (1 - z) p + z h."""
    w_t, r_t = _transposed(w), _transposed(r)
    b_w, b_r = _parts(b, 2)
    r_p, b_p = _parts(r_t, 3)[2], _parts(b_r, 3)[2]

    def cell(x: Array, held: State) -> State:
        h = held[0]
        of_x, of_h = op.Add(op.MatMul(x, w_t), b_w), op.Add(op.MatMul(h, r_t), b_r)
        x_z, x_r, x_p = _parts(of_x, 3)
        h_z, h_r, h_p = _parts(of_h, 3)
        z, reset = op.Sigmoid(op.Add(x_z, h_z)), op.Sigmoid(op.Add(x_r, h_r))
        seen = op.Mul(reset, h_p) if linear else op.Add(op.MatMul(op.Mul(reset, h), r_p), b_p)
        p = op.Tanh(op.Add(x_p, seen))
        return [op.Add(op.Mul(op.Sub(1.0, z), p), op.Mul(z, h))]

    return cell


def lstm_cell(w: Array, r: Array, b: Array, *, p: Array | None, **others: Any) -> Cell:
    """Gates i, o, f and proposal g: c = f c + i g, h = o tanh(c); peepholes of i, o, f read c."""
    w_t, r_t, bias = _transposed(w), _transposed(r), op.Add(*_parts(b, 2))
    peepholes = None if p is None else _parts(p, 3)

    def gate(x: Array, c: Array, which: int) -> Array:
        return op.Sigmoid(x if peepholes is None else op.Add(x, op.Mul(c, peepholes[which])))

    def cell(x: Array, held: State) -> State:
        h, c = held
        i, o, f, g = _parts(op.Add(op.Add(op.MatMul(x, w_t), op.MatMul(h, r_t)), bias), 4)
        new = op.Add(op.Mul(gate(f, c, 2), c), op.Mul(gate(i, c, 0), op.Tanh(g)))
        return [op.Mul(gate(o, new, 1), op.Tanh(new)), new]

    return cell


def composition(kind: str, make: Callable[..., Cell]) -> Callable[..., tuple[Array, ...]]:
    """The composition of one kind of layer."""
    return lambda *inputs, **attributes: layer(kind, make, *inputs, **attributes)


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    kind: composition(kind, make) for kind, make in (("RNN", rnn_cell), ("GRU", gru_cell), ("LSTM", lstm_cell))
}
