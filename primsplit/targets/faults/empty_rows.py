"""Put TopK and OneHot of arrays without rows, and LpNormalization of rows without elements, in an If.

```
TopK(x: [N,5], 2)   ->   If(Size(x) == 0): arrays of shape [N,2], else TopK(x, 2)
```

onnxruntime divides by their number, which ends the process before 1.31, 1.27 and 1.30. The If returns empty arrays for
them; a vector is sorted as it is.
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Op, Value
from primsplit.ir.dims import Shape
from primsplit.ir.errors import TraceError
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.targets.faults.empty_layers import GuardingFirst
from primsplit.tracing.array import Array

FAULTS = {
    "TopK": "top_k_of_no_rows",
    "OneHot": "one_hot_of_no_rows",
    "LpNormalization": "lp_normalization_along_nothing",
}
"""The faults of each operator. No trait: facts about kernels of onnxruntime."""


@fault(
    "top_k_of_no_rows",
    kind="aborts",
    operators=("TopK",),
    says="TopK of no rows along a later axis ends the process.",
    before="1.31",
)
@fault(
    "one_hot_of_no_rows",
    kind="aborts",
    operators=("OneHot",),
    says="OneHot of no rows ends the process.",
    before="1.27",
)
@fault(
    "lp_normalization_along_nothing",
    kind="aborts",
    operators=("LpNormalization",),
    says="LpNormalization along an axis without elements ends the process.",
    before="1.30",
)
def guard_empty_rows(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with each of these ops that may have no rows inside an If."""
    hit = frozenset(kind for kind, name in FAULTS.items() if runtime.has(name))
    return GuardingFirst(hit, _divisors, _nothing).run(block)


def _divisors(step: Op, source: Value) -> Shape | None:
    """Return the sizes that onnxruntime divides by: those before the operator's axis, or that of a norm."""
    shape = source.type.shape
    if shape is None:
        return None
    axis = step.attributes.get("axis", -1) % (len(shape) + (step.kind == "OneHot"))
    return shape[axis : axis + 1] if step.kind == "LpNormalization" else shape[:axis]


def _nothing(step: Op, source: Value) -> Sequence[Value]:
    """Return the op's results for an empty array: arrays without elements of the right shape."""
    x = Array(source)
    if step.kind == "LpNormalization":
        return [op.Identity(x, types=[step.outputs[0].type]).value]
    counts = op.Shape(x)
    size = op.Reshape(op.Cast(Array(_given(step.inputs[1])), to=np.int64), [1])
    axis = step.attributes.get("axis", -1)
    if step.kind == "TopK":
        shape = op.ScatterElements(counts, np.array([axis]), size)
    else:
        before = op.Add(np.array([axis]), op.Add(op.Size(counts), 1)) if axis < 0 else np.array([axis])
        far = np.array([np.iinfo(np.int64).max])
        shape = op.Concat(op.Slice(counts, [0], before), size, op.Slice(counts, before, far), axis=0)
    return [
        op.ConstantOfShape(shape, value=np.zeros(1, output.type.dtype), types=[output.type]).value
        for output in step.outputs
    ]


def _given(value: Value | None) -> Value:
    if value is None:
        raise TraceError("a TopK or OneHot lacks its size")
    return value
