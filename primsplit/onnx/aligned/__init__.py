"""Record nodes on values of unknown rank: as the same elements with further axes of size 1.

```
y = Softmax(x: float32[...], axis=-1)   ->   w = Reshape(x, [1, ..., 1, *shape]);  Softmax(w: rank 8, axis=-1)
```

Broadcasting aligns arrays along their last axes, so an array with more leading axes of size 1 is the same to every
operator that works element by element, along axes counted from the back, or on matrices; and one with more trailing
axes of size 1 is the same to operators that count axes from the front. Such a value is kept beside the model's own,
with `MOST` axes and its own number of axes; every rule then knows its rank. A node that has no such form reads the
model's own value, and its gradient is refused if that needs the rank.
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
    """Record a node that reads values of unknown rank on aligned values; None if that is not possible.

    Also a node that reads indices of unknown depth, or a shape of unknown length. None too if everything is known.
    `recorder` records the operator itself. `known` learns the results' aligned values.
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
