"""Nodes that read values of unknown rank, recorded on the same elements with further axes of size 1.

Broadcasting lays arrays along their last axes, so an array with more leading ones is the same to every operator that
works element by element, along axes counted from the back, or on matrices; and one with more axes of size 1 behind is
the same to those that count axes from the front. Such a value is kept beside the one that the model has, with `MOST`
axes and the number of those that are its own; its rank is then known to every rule. A node that cannot be told so reads
the model's own value, and its gradient is refused where that needs the rank.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from primsplit.ir import Value
from primsplit.onnx.aligned import cases, contraction, elementwise, indexing, layout
from primsplit.onnx.aligned.node import Aligned, Form, Known, Node, Recorder

__all__ = ["Known", "Recorder", "record_aligned"]

_FORMS: dict[str, Form] = {**cases.FORMS, **elementwise.FORMS, **layout.FORMS, **indexing.FORMS, **contraction.FORMS}


def record_aligned(
    kind: str,
    values: Sequence[Value | None],
    attributes: Mapping[str, Any],
    outputs: int,
    known: Known,
    recorder: Recorder,
) -> tuple[Value, ...] | None:
    """Record a node that reads values of unknown rank on what is aligned with them; None where that cannot be.

    So is one that reads indices of unknown depth, or a shape of unknown length. None too where all is known.

    `recorder` records the operator itself. `known` learns what is aligned with the results.
    """
    form, node = _FORMS.get(kind), Node(kind, values, attributes, outputs, known, recorder)
    if form is None or not (node.open_ones() or indexing.is_deep(node) or layout.is_stretched(node)):
        return None
    made = form(node) or (None if kind not in cases.FORMS else cases.FORMS[kind](node))
    if made is None:
        return None
    results = []
    for x in made:
        results.append(x.own() if isinstance(x, Aligned) else x.value)
        if isinstance(x, Aligned):
            known[results[-1]] = x
    return tuple(results)
