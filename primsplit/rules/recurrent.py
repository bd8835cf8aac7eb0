"""Derivative rules of recurrent layers: the operator forward, its gates recomputed and one reversed Loop backward.

What does not depend on the cotangent of the next step is computed in products over the whole sequence; the loop holds
the products with R; gradients of weights are products over the whole sequence. Everything follows from the equations
of the ONNX standard; sequences are [T, N, size], gates in ONNX's order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.array import Array
from primsplit.broadcasting import zeros
from primsplit.dims import Shape
from primsplit.errors import MissingRule
from primsplit.ops import op
from primsplit.primitive import Primitive
from primsplit.primitive import rrule as rule_of
from primsplit.rules.cells import flipped, gru_backward, lstm_backward, rnn_backward
from primsplit.rules.indexing import text
from primsplit.rules.table import Pullback, rrule

Backward = Callable[..., tuple[Array, ...]]
ACTIVATIONS = {"RNN": [["tanh"], ["relu"]], "GRU": [["sigmoid", "tanh"]], "LSTM": [["sigmoid", "tanh", "tanh"]]}
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def refused(kind: str, why: str, cure: str) -> MissingRule:
    """The error for a form of a recurrent layer without a derivative."""
    return MissingRule(f"{kind} {why} has no derivative rule", cure=cure)


def refuse_second(made: Primitive, kind: str) -> None:
    """Give a backward pass the rule that it has no derivative: its loop has none."""

    @rule_of(made)
    def second(*inputs: Array, **options: Any) -> Any:
        raise refused(kind, "differentiated twice", f"Write the steps of the {kind} as array operations.")


def activations_of(kind: str, attributes: Mapping[str, Any], directions: int) -> list[str]:
    """The activations of one direction, in small letters. Raises MissingRule for what has no rule."""
    if attributes.get("clip"):
        raise refused(kind, "with clip", "Leave the attribute out.")
    if attributes.get("layout"):
        raise refused(kind, "with layout=1", "Transpose the sequence, and use layout=0.")
    if attributes.get("input_forget"):
        raise refused(kind, "with input_forget", "Leave the attribute out.")
    default = ACTIVATIONS[kind][0]
    given = attributes.get("activations") or default * directions
    names = [text(name).lower() for name in given][: len(default) * directions]
    if names[: len(default)] not in ACTIVATIONS[kind] or names != names[: len(default)] * directions:
        raise refused(kind, f"with activations {', '.join(names)}", "Use the default activations.")
    return names[: len(default)]


def layer(kind: str, backward: Backward, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> Any:
    """The operator and its pullback: each direction by itself, a reversed one on flipped sequences."""
    states = 2 if kind == "LSTM" else 1
    flips = DIRECTIONS[text(attributes["direction"])]
    names = activations_of(kind, attributes, len(flips))
    spelt = {**attributes, "activations": [name.capitalize() for name in names] * len(flips)}
    outputs = getattr(op, kind)(*inputs, outputs=1 + states, **spelt)
    x, w, r, b, lengths = (*inputs, None, None)[:5]
    rest = [*inputs[5:], None, None, None]
    if x is None or w is None or r is None or lengths is not None:
        raise refused(kind, "with sequence_lens", "Run sequences of one length at a time, or mask the results.")
    hidden = r.shape[-1]
    if not isinstance(hidden, int):
        raise refused(kind, f"with hidden size {hidden}", "Give the weights fixed sizes.")
    state = (x.shape[1], hidden)
    shapes: list[Shape] = [(2 * w.shape[1],), state, *([state, (3 * hidden,)] if kind == "LSTM" else [])]
    optional = list(zip([b, *rest], shapes, strict=False))
    options: dict[str, Any] = {"activation": names[0]} if kind == "RNN" else {}
    if kind == "GRU":
        options = {"is_linear_first": bool(attributes["linear_before_reset"])}

    def one_direction(d: int, cotangents: Sequence[Array | None]) -> tuple[Array, ...]:
        flip = flips[d]
        parameters = [_of_direction(w, d), _of_direction(r, d)]
        parameters += [zeros(shape, x.dtype) if a is None else _of_direction(a, d) for a, shape in optional]
        y = _turned(_sequence(outputs[0], d), flip)
        dy = zeros(y.shape, x.dtype) if cotangents[0] is None else _turned(_sequence(cotangents[0], d), flip)
        ends = [zeros(state, x.dtype) if c is None else _of_direction(c, d) for c in cotangents[1:]]
        found = backward(_turned(x, flip), *parameters, y, dy, *ends, **options)
        return (_turned(found[0], flip), *(op.Unsqueeze(f, [0]) for f in found[1:]))

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        found = [one_direction(d, cotangents) for d in range(len(flips))]
        d_x, *others = zip(*found, strict=True)
        joined = [op.Concat(*each, axis=0) if len(flips) > 1 else each[0] for each in others]
        whole = [op.Add(*d_x) if len(flips) > 1 else d_x[0], *joined[:3], None, *joined[3:]]
        return [None if a is None else g for a, g in zip(inputs, whole, strict=False)]

    return outputs, pullback


def _turned(x: Array, flip: bool) -> Array:
    return flipped(x) if flip else x


def _of_direction(x: Array, direction: int) -> Array:
    return op.Squeeze(op.Slice(x, [direction], [direction + 1], [0]), [0])


def _sequence(x: Array, direction: int) -> Array:
    return op.Squeeze(op.Slice(x, [direction], [direction + 1], [1]), [1])


def rule(kind: str, backward: Primitive) -> None:
    """Register the rule of one kind of layer."""
    refuse_second(backward, kind)

    def recurrent(*inputs: Array | None, **attributes: Any) -> tuple[Any, Pullback]:
        made: tuple[Any, Pullback] = layer(kind, backward, inputs, attributes)
        return made

    rrule(kind)(recurrent)


rule("RNN", rnn_backward)
rule("GRU", gru_backward)
rule("LSTM", lstm_backward)
