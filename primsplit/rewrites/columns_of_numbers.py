"""Reshape scalars that meet columns to the rank of the columns.

```
Add(x: float32[N,1], 1.0)   ->   Add(x, float32[1,1](1.0))
```

onnxruntime computes element by element when an array whose last axis is 1 meets a scalar of rank 0: 10 to 70 times
slower than with a scalar of shape [1, 1]. Maxima, norms and means along the last axis with keepdims are such arrays. A
scalar that is added to a mean keeps rank 0: onnxruntime looks for that in the layer norms that it fuses.
"""

import math

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewriting import Rewriter, literal_shape

MANY = 2**8
"""From so many rows on, a scalar that only the run knows is reshaped too, which takes an op."""
KINDS = kinds_where(lambda t: t.broadcasts == "all")
"""The operators that broadcast all of their operands to a common shape."""


def number_columns(block: Block) -> Block:
    """Return the block with the scalars beside columns reshaped, in loops and branches too.

    Itself if there are none.
    """
    return _Numbering().run(block)


class _Numbering(Rewriter):
    """The walk over blocks with broadcasting operators; `means` are the results of ReduceMean so far."""

    kinds = KINDS

    def __init__(self) -> None:
        super().__init__()
        self.means: set[Value | None] = set()

    def visit(self, op: Op) -> Op | None:
        """Return the op with its scalars reshaped."""
        if op.kind == "ReduceMean":
            self.means.update(op.outputs)
        shape = op.outputs[0].type.shape if op.kind in KINDS else None
        is_of_mean = op.kind == "Add" and not self.means.isdisjoint(op.inputs)
        if shape is None or len(shape) < 2 or not dims.same(shape[-1], 1) or is_of_mean:
            return super().visit(op)
        many = math.prod(d for d in shape if isinstance(d, int)) >= MANY
        inputs = tuple(self.with_axes(op, v, len(shape), many=many) for v in op.inputs)
        changed = any(a is not b for a, b in zip(inputs, op.inputs, strict=True))
        return op.beside(op.kind, inputs, op.outputs, op.attributes) if changed else op

    def with_axes(self, op: Op, value: Value | None, rank: int, *, many: bool) -> Value | None:
        """Return a scalar reshaped to this rank; any other value as it is."""
        if value is None or not _is_number(value) or len(value.type.shape or ()) >= rank:
            return value
        shape = (1,) * rank
        if isinstance(value, Const) and value.is_param:
            return value
        if isinstance(value, Const) and not value.is_weight:
            return Const(value.numpy().reshape(shape), value.hint, value.place)
        if not many:
            return value
        reshaped = Var(Type(value.type.dtype, shape), value.hint)
        self.kept.append(op.beside("Reshape", (value, Const(np.array(shape))), (reshaped,), {"allowzero": 1}))
        return reshaped


def _is_number(value: Value) -> bool:
    shape = literal_shape(value.type)
    return shape is not None and all(d == 1 for d in shape)
