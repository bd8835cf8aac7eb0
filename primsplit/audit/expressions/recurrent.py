"""Recurrent layers."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.expressions.normalization import first_of
from primsplit.audit.trees import call, literal, name


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
            if direction == "bidirectional":
                raise node.refusal("has peepholes in both directions")
            named["peepholes"] = node.argument(count)
        return first_of(call("_recurrent", name(cell), *given, **named), len(node.op.outputs), states + 1)

    return build


def _activations(node: Node, defaults: list[str]) -> list[object]:
    """Return the names of the functions, with their numbers where the node has some."""
    sides = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    names = list(node.attribute("activations") or defaults * sides)
    numbers = [list(node.attribute(f"activation_{which}") or []) for which in ("alpha", "beta")]
    if not any(numbers):
        return [*names]
    return [(n, *(v[i] if i < len(v) else None for v in numbers)) for i, n in enumerate(names)]


BUILDERS: dict[str, Builder] = {
    "RNN": recurrent("_rnn_cell", ["Tanh"], 1),
    "GRU": recurrent("_gru_cell", ["Sigmoid", "Tanh"], 1, after="linear_before_reset"),
    "LSTM": recurrent("_lstm_cell", ["Sigmoid", "Tanh", "Tanh"], 2, coupled="input_forget"),
}
