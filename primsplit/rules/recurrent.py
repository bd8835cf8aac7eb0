"""Derivative rules of recurrent layers: the operator forward, its gates recomputed and one reversed Scan backward.

Whatever does not depend on the cotangent of the next step is computed in products over the whole sequence; the loop has
only the products with R; gradients of weights are products over the whole sequence. Everything follows from the
equations of the ONNX standard; sequences are [T, N, size], gates in ONNX's order. Elements beyond a sequence's length
do not affect the result, and a sequence of length 0 gives 0, as in onnxruntime.
"""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir.dims import Shape, at_least
from primsplit.ir.errors import MissingRule, ShapeError
from primsplit.ops import op
from primsplit.rewrites.decompositions.gates import Layer, read_layer, turned
from primsplit.rewrites.decompositions.recurrent import measured, part, reversed_to, within
from primsplit.rules.cells import Gradients, Run, gru_backward, lstm_backward, rnn_backward
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_like, zeros

Backward = Callable[[Run], Gradients]
BACKWARD: dict[str, Backward] = {"RNN": rnn_backward, "GRU": gru_backward, "LSTM": lstm_backward}


@rrule("RNN")
def rnn(*inputs: Array | None, **attributes: Any) -> tuple[Any, Pullback]:
    """y_t = f(x_t W^T + y_(t-1) R^T + b); see rnn_backward."""
    return _rule("RNN", inputs, attributes)


@rrule("GRU")
def gru(*inputs: Array | None, **attributes: Any) -> tuple[Any, Pullback]:
    """Update, reset and proposal; see gru_backward."""
    return _rule("GRU", inputs, attributes)


@rrule("LSTM")
def lstm(*inputs: Array | None, **attributes: Any) -> tuple[Any, Pullback]:
    """Gates of input, output and forgetting around a cell; see lstm_backward."""
    return _rule("LSTM", inputs, attributes)


def _rule(kind: str, inputs: Sequence[Array | None], attributes: dict[str, Any]) -> tuple[Any, Pullback]:
    """Return the operator's outputs and its pullback, time first whatever the layout."""
    how = read_layer(kind, attributes)
    given = [*inputs, *[None] * (8 - len(inputs))]
    moved = {0, *range(5, 5 + how.states)} if how.is_batch_first else set()
    x, w, r, b, lengths, *rest = [turned(a) if i in moved and a is not None else a for i, a in enumerate(given)]
    if x is None or w is None or r is None:
        raise MissingRule(f"{kind} needs its input, W and R")
    hidden = _hidden_size(kind, r, attributes.get("hidden_size"))
    w, r, b, lengths, *rest = measured(how, hidden, x.shape[1], [x, w, r, b, lengths, *rest])
    state = (x.shape[1], hidden)
    shapes: list[Shape] = [(2 * w.shape[1],), *[state] * how.states, *([(3 * hidden,)] if kind == "LSTM" else [])]
    outputs = getattr(op, kind)(x, w, r, b, lengths, *rest, outputs=1 + how.states, **how.attributes(hidden))
    optional = list(zip([b, *rest], shapes, strict=False))

    def one_direction(d: int, cotangents: Sequence[Array | None]) -> Gradients:
        run = _run_of(how, d, x, (w, r), optional, lengths, outputs[0], cotangents)
        d_x, *others = BACKWARD[kind](run)
        return (_in_time(d_x, lengths, how.backwards[d]), *(op.Unsqueeze(f, [0]) for f in others))

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        if how.is_batch_first:
            d_y, *ends = cotangents
            d_y = None if d_y is None else op.Transpose(d_y, perm=[1, 2, 0, 3])
            cotangents = (d_y, *(None if c is None else turned(c) for c in ends))
        found = [one_direction(d, cotangents) for d in range(len(how.backwards))]
        d_x, *others = zip(*found, strict=True)
        joined = [op.Concat(*each, axis=0) if len(found) > 1 else each[0] for each in others]
        whole = [op.Add(*d_x) if len(found) > 1 else d_x[0], *joined[:3], None, *joined[3:]]
        whole = [turned(g) if i in moved and g is not None else g for i, g in enumerate(whole)]
        # Sizes that have two names, as that of the features in the input and in the weights, are one in every run.
        pairs = zip(inputs, whole, strict=False)
        return [None if a is None or g is None else reshape_like(g, a) for a, g in pairs]

    if how.is_batch_first:
        return (op.Transpose(outputs[0], perm=[2, 0, 1, 3]), *map(turned, outputs[1:])), pullback
    return outputs, pullback


def _hidden_size(kind: str, r: Array, told: int | None) -> int:
    hidden = r.shape[-1] if told is None else told
    if isinstance(hidden, int) and not 0 <= hidden < 2**31:
        raise ShapeError(f"{kind} cannot have a hidden size of {hidden}", place=tracing.user_place())
    if isinstance(hidden, int):
        return hidden
    raise MissingRule(
        f"{kind} with hidden size {hidden} has no derivative rule",
        place=tracing.user_place(),
        cure="Give the weights fixed sizes.",
    )


def _run_of(
    how: Layer,
    d: int,
    x: Array,
    weights: Sequence[Array],
    optional: Sequence[tuple[Array | None, Shape]],
    lengths: Array | None,
    y: Array,
    cotangents: Sequence[Array | None],
) -> Run:
    """Return one direction, its sequences in the order in which it reads them.

    Absent inputs and cotangents are zero.
    """
    is_back = how.backwards[d]
    w, r = (part(a, d) for a in weights)
    b, *states = [zeros(shape, x.dtype) if a is None else part(a, d) for a, shape in optional]
    belongs = None if lengths is None else within(lengths, x.shape[0])
    y = _in_time(_sequence(y, d), lengths, is_back)
    dy = zeros(y.shape, x.dtype) if cotangents[0] is None else _in_time(_sequence(cotangents[0], d), lengths, is_back)
    ends = [zeros(states[0].shape, x.dtype) if c is None else part(c, d) for c in cotangents[1:]]
    ends += [zeros(states[0].shape, x.dtype)] * (how.states - len(ends))
    if lengths is not None or not at_least(x.shape[0], 1):
        steps = op.Shape(x, start=0, end=1) if lengths is None else op.Unsqueeze(lengths, [1])
        ends = [op.Where(op.Greater(steps, 0), end, 0.0) for end in ends]
    x = _in_time(x, lengths, is_back)
    if belongs is not None:
        x, dy = op.Where(belongs, x, 0.0), op.Where(belongs, dy, 0.0)
    return Run(how, how.activations[d], x, w, r, b, states, y, dy, ends, belongs)


def _in_time(x: Array, lengths: Array | None, is_back: bool) -> Array:
    return reversed_to(x, lengths) if is_back else x


def _sequence(x: Array, direction: int) -> Array:
    return op.Squeeze(op.Slice(x, [direction], [direction + 1], [1]), [1])
