"""The fallback of batching: run an op for one example after the other, in a Loop.

```
y = ConvInteger(x, w), both batched   ->   ys = Loop(B): ConvInteger(Gather(xs, i), Gather(ws, i))
```

It is a Loop and no Scan because onnxruntime refuses a Scan without steps.
"""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, rename
from primsplit.ir.dims import Dim
from primsplit.ops import op as operators
from primsplit.tracing.array import Array
from primsplit.transforms.batching.table import batched_type


def variable_inputs(op: Op) -> list[int]:
    """Return the positions of the inputs that are no small constants: the parameters of the op as a function."""
    return [i for i, v in enumerate(op.inputs) if v is not None and not (isinstance(v, Const) and v.is_small)]


def each(op: Op, batched: Sequence[bool], size: Dim) -> Block:
    """Return a closed block from the op's variable inputs, batched ones with a batch axis, to its batched outputs."""
    positions = variable_inputs(op)
    with tracing.fresh_stack(), tracing.recording(place=op.place) as outer:
        params = []
        for position, is_batched in zip(positions, batched, strict=True):
            value = op.inputs[position]
            if value is None:
                continue
            params.append(outer.param(batched_type(value.type, size) if is_batched else value.type))
        types = [batched_type(v.type, size) for v in op.outputs]
        with tracing.recording(place=op.place) as inner:
            iteration, condition = inner.param(Type(np.int64, ())), inner.param(Type(np.bool_, ()))
            renaming: Renaming = {}
            for position, param, is_batched in zip(positions, params, batched, strict=True):
                own = op.inputs[position]
                if isinstance(own, Var):
                    renaming[own] = _example(param, own.type, iteration) if is_batched else param
            done = rename(op, renaming)
            tracing.append(done)
        body = tracing.close("example", [iteration, condition], inner, [condition, *done.outputs])
        count = Array(tracing.size_of(size))
        trips = operators.Squeeze(count, [0])
        results = tracing.emit("Loop", [trips.value, None], {"body": body}, outputs=len(types), types=types)
    return tracing.close(f"each_{op.kind}", params, outer, results)


def _example(param: Var, type: Type, number: Var) -> Value:
    return tracing.emit("Gather", [param, number], {"axis": 0}, types=[type])[0]
