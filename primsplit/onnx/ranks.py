"""Fix the rank of values whose number of axes only the run knows, if the nodes that read them allow it.

```
y = Squeeze(x: [N,3]);  z = Add(y, b: [N,3])   ->   z = Add(x, b)     # y may lack the first axis: broadcasting adds it
```

A Squeeze without axes drops an axis if its size turns out to be 1, and an If may return a number on one side and a
vector of one element on the other. Such a value has no rank. Beside it a `Wide` is kept: the same elements with the
most axes that it may have. A node reads that instead if its result is the same: a sum with a value of as many axes. And
if a node does not accept fewer axes (a Split along the last of them), a run in which there are fewer fails in the
model's own file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Value, dims
from primsplit.ops import op
from primsplit.ops.schema import schema
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class Wide:
    """The elements of a value with the most axes that it may have.

    `leads` is True if the axes that the value may lack are the first ones.
    """

    value: Value
    leads: bool

    @property
    def rank(self) -> int:
        return len(self.value.type.shape or ())


Widened = dict[Value, Wide]


def settled(
    kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], known: Mapping[Value, Wide]
) -> list[Value | None]:
    """Return the inputs of a node, those of unknown rank as values of a known one if that is right."""
    found = list(inputs)
    for position, value in enumerate(inputs):
        wide = None if value is None or value.type.rank is not None else known.get(value)
        if wide is not None and (_is_stretched(kind, found, wide) or _is_needed(kind, position, attributes, wide)):
            found[position] = wide.value
    return found


def _is_stretched(kind: str, inputs: Sequence[Value | None], wide: Wide) -> bool:
    """Whether broadcasting adds the axes that a value may lack."""
    ranks = [v.type.rank for v in inputs if v is not None]
    return traits(kind).broadcasts == "all" and wide.leads and any(r is not None and r >= wide.rank for r in ranks)


def _is_needed(kind: str, position: int, attributes: Mapping[str, Any], wide: Wide) -> bool:
    """Whether the operator accepts no value of fewer axes."""
    if kind == "Transpose":
        return len(attributes.get("perm", ())) == wide.rank
    if not traits(kind).along or (position > 0 and kind != "Concat"):
        return False
    axis = int(attributes.get("axis", schema(kind).defaults.get("axis", 0)))
    return axis >= wide.rank - 1 or axis <= -wide.rank if wide.rank > 1 else False


def widened_squeeze(value: Value) -> Wide | None:
    """Return the result of a Squeeze without axes if only the sizes known to be 1 are; None for an unknown rank."""
    shape = value.type.shape
    if shape is None:
        return None
    axes = [i for i, d in enumerate(shape) if dims.same(d, 1)]
    left = [d for i, d in enumerate(shape) if i not in axes]
    unknown = [not isinstance(d, int) for d in left]
    leads = unknown == sorted(unknown, reverse=True)
    return Wide(op.Squeeze(Array(value), axes).value if axes else value, leads)


def is_one_element(value: Value) -> bool:
    """Whether a value has one element, whatever its axes."""
    return value.type.shape is not None and all(dims.same(d, 1) for d in value.type.shape)


def with_axes(value: Value, rank: int) -> Value:
    """Return a value of one element with so many axes."""
    if value.type.rank == rank:
        return op.Identity(Array(value)).value
    return op.Reshape(Array(value), np.ones(rank, np.int64)).value
