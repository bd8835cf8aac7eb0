"""Count the axes of reductions, ArgMax and ArgMin from the front.

```
ReduceSum(x: [N,3], [-1])   ->   ReduceSum(x, [1])
```

onnxruntime 1.31.1 returns the wrong shape, without an error, when an empty tensor is reduced along a negative axis with
keepdims=0, or when ArgMax or ArgMin goes along one.
"""

from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter, integers


@fault(
    "reduction_of_nothing_along_negative_axis",
    kind="wrong",
    operators=("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"),
    says="A reduction of an empty array along a negative axis, without keepdims, has a wrong shape.",
    before="1.32",
)
@fault(
    "place_of_extremum_of_nothing_along_negative_axis",
    kind="wrong",
    operators=("ArgMax", "ArgMin"),
    says="ArgMax and ArgMin of an empty array along a negative axis have a wrong shape.",
    before="1.32",
)
def count_axes_from_front(block: Block) -> Block:
    """Return the block with no negative constant axis in its reductions."""
    return _Counting().run(block)


class _Counting(Rewriter):
    def visit(self, op: Op) -> Op | None:
        if op.kind in {"ArgMax", "ArgMin"} and op.inputs[0] is not None and op.attributes.get("axis", 0) < 0:
            rank = op.inputs[0].type.rank
            attributes = op.attributes if rank is None else {**op.attributes, "axis": op.attributes["axis"] + rank}
            return replace(op, attributes=attributes)
        if not op.kind.startswith("Reduce") or len(op.inputs) < 2 or op.inputs[0] is None:
            return op
        axes, rank = integers(op.inputs[1]), op.inputs[0].type.rank
        if axes is None or rank is None or all(a >= 0 for a in axes):
            return op
        counted = Const(np.array([a % rank for a in axes], dtype=np.int64))
        return replace(op, inputs=(op.inputs[0], counted))
