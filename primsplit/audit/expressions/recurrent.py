"""Recurrent layers."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.expressions.normalization import first_of
from primsplit.audit.trees import call, literal, name

CELLS = {
    "RNN": ("_rnn_cell", ["Tanh"], {}),
    "GRU": ("_gru_cell", ["Sigmoid", "Tanh"], {"after": "linear_before_reset"}),
    "LSTM": ("_lstm_cell", ["Sigmoid", "Tanh", "Tanh"], {"coupled": "input_forget"}),
}
"""The cell of each operator, its activation functions, and the attributes that are its options."""


def recurrent(node: Node) -> ast.expr:
    """Return the results of a recurrent layer."""
    cell, defaults, options = CELLS[node.op.kind]
    direction = node.attribute("direction", "forward")
    if node.op.kind == "LSTM" and node.has(7) and direction == "bidirectional":
        raise node.refusal("has peepholes in both directions")
    count = 7 if node.op.kind == "LSTM" else 6
    given = [a if a is not None else literal(None) for a in node.arguments[:count]]
    given += [literal(None)] * (count - len(given))
    named = {"activations": literal(_activations(node, defaults))}
    if direction != "forward":
        named["direction"] = literal(direction)
    for argument, attribute in {"clip": "clip", "layout": "layout", **options}.items():
        if node.attribute(attribute):
            named[argument] = literal(node.attribute(attribute))
    if node.op.kind == "LSTM" and node.has(7):
        named["peepholes"] = node.argument(7)
    return first_of(call("_recurrent", name(cell), *given, **named), len(node.op.outputs), count - 3 - 1)


def _activations(node: Node, defaults: list[str]) -> list[object]:
    """Return the names of the functions, with their numbers where the node has some."""
    sides = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    names = list(node.attribute("activations") or defaults * sides)
    numbers = [list(node.attribute(f"activation_{which}") or []) for which in ("alpha", "beta")]
    if not any(numbers):
        return [*names]
    return [(n, *(v[i] if i < len(v) else None for v in numbers)) for i, n in enumerate(names)]


BUILDERS: dict[str, Builder] = dict.fromkeys(CELLS, recurrent)
