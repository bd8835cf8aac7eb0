"""Record an operator that is another one for each rank: an If over the ranks that a value may have.

```
Conv(x: float32[...], w)   ->   If(rank == 3): Conv of [N,C,L], else If(rank == 4): Conv of [N,C,H,W], else ...
```
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from primsplit.ir import Block, Value
from primsplit.onnx.aligned.node import MEASURED, MOST, Aligned, Form, Node
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.regions import emit_if, record

RANKS: Mapping[str, tuple[Sequence[int], Sequence[int]]] = {
    **dict.fromkeys(("Conv", "ConvTranspose"), ((3, 4, 5), (0, 1))),
    **dict.fromkeys(("CenterCropPad", "Resize", f"{EARLIER}::Resize", f"{EARLIER}::Upsample"), ((1, 2, 3, 4, 5), (0,))),
    "GridSample": ((4, 5), (0, 1)),
    "RotaryEmbedding": ((3, 4), (0,)),
}
"""The ranks that an operator is written for, and the positions of the inputs that have that rank, like the result.

No trait: the standard admits higher ranks, which no kernel has.
"""


def by_rank(node: Node) -> list[Aligned] | None:
    """Record the operator once for each rank; a run in which the first input has none of them fails.

    None if another input is of unknown rank.
    """
    ranks, positions = RANKS[node.kind]
    known = next((r for i in positions if (r := node.given_rank(i)) is not None), None)
    axes = node.attribute("axes") or ()
    least = max((a + 1 if a >= 0 else -a for a in axes), default=0)
    chosen = [r for r in ranks if r >= least] if known is None else [known]
    if not chosen or not set(node.open_ones()) <= set(positions):
        return None
    rank = node.rank(positions[0])

    def of(rank: int) -> list[Value]:
        inner = Node(node.kind, node.values, node.attributes, 1, {}, node.recorder)
        for position in MEASURED.get(node.kind, ()):
            inner.measure(position, len(axes) or rank)
        (made,) = inner.settled({i: rank for i in positions if inner.is_open(i)})
        return [made.value if rank == MOST else op.Unsqueeze(made, list(range(MOST - rank))).value]

    (wide,) = _cases(op.Reshape(rank, np.zeros(0, np.int64)), chosen, of)
    return [Aligned(Array(wide), rank)]


def _cases(rank: Array, ranks: Sequence[int], of: Callable[[int], list[Value]]) -> list[Value]:
    """Record the case for the rank that the run finds, or else for the last."""
    if len(ranks) == 1:
        return of(ranks[0])

    def block(name: str, body: Callable[[], list[Value]]) -> Block:
        return record(name, [], body)

    this = block(f"rank_{ranks[0]}", lambda: of(ranks[0]))
    other = block("rank_above", lambda: _cases(rank, ranks[1:], of))
    return emit_if(op.Equal(rank, ranks[0]).value, this, other)


FORMS: dict[str, Form] = dict.fromkeys(RANKS, by_rank)
