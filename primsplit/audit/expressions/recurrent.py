"""Recurrent layers."""

import ast
from collections.abc import Sequence

from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.expressions.normalization import first_of
from primsplit.audit.trees import call, literal, name

NUMBERS = {
    "affine": (1.0, 0.0), "elu": (1.0,), "hardsigmoid": (0.2, 0.5), "leakyrelu": (0.01,), "scaledtanh": (1.0, 1.0),
    "thresholdedrelu": (1.0,),
}  # fmt: skip
"""The standard's alpha, and beta, of the activation functions that have them."""


def recurrent(cell: str, activations: list[str], states: int, **options: str) -> Builder:
    """Return the builder of a layer of cells with these activation functions, that hand on this many states.

    `options` are arguments of a cell by the attributes that set them.
    """

    def build(node: Node) -> ast.expr:
        count = 5 + states
        given = [a if a is not None else literal(None) for a in node.arguments[:count]]
        given += [literal(None)] * (count - len(given))
        direction = node.attribute("direction", "forward")
        named = {"activations": literal(_activations(node, activations))}
        if direction != "forward":
            named["direction"] = literal(direction)
        for argument, attribute in {"clip": "clip", "layout": "layout", **options}.items():
            if node.attribute(attribute):
                named[argument] = literal(node.attribute(attribute))
        if node.has(count):
            named["peepholes"] = node.argument(count)
        return first_of(call("_recurrent", name(cell), *given, **named), len(node.op.outputs), states + 1)

    return build


def _activations(node: Node, defaults: list[str]) -> list[object]:
    """Return the names of the functions, with their numbers."""
    sides = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    numbers = (node.attribute(f"activation_{which}") for which in ("alpha", "beta"))
    return with_numbers(node.attribute("activations") or defaults * sides, *numbers)


def with_numbers(
    names: Sequence[str], alphas: Sequence[float] | None = None, betas: Sequence[float] | None = None
) -> list[object]:
    """Return functions by their names, those that have numbers with these: alpha, then beta.

    The given numbers go, in order, to the functions that have such a number.
    """
    given = (iter(alphas or ()), iter(betas or ()))
    found: list[object] = []
    for each in names:
        numbers = [next(left, own) for left, own in zip(given, NUMBERS.get(each.lower(), ()), strict=False)]
        found.append((each, *numbers) if numbers else each)
    return found


BUILDERS: dict[str, Builder] = {
    "RNN": recurrent("_rnn_cell", ["Tanh"], 1),
    "GRU": recurrent("_gru_cell", ["Sigmoid", "Tanh"], 1, after="linear_before_reset"),
    "LSTM": recurrent("_lstm_cell", ["Sigmoid", "Tanh", "Tanh"], 2, coupled="input_forget"),
}
