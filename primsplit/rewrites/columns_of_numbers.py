"""Numbers beside columns have as many axes as these.

onnxruntime takes an array whose last axis is 1 and a number without axes element by element, 10 to 70 times as long as
with a number of shape [1, 1]. Such arrays are what a maximum, a norm or a mean along the last axis leaves that keeps
it. What is added to a mean stays without axes: onnxruntime looks for that in the layer norms that it fuses.
"""

import math

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewriting import Rewriter, literal_shape

MANY = 2**8
"""Rows from which on a number that only the run knows is given axes: that takes an op."""
KINDS = kinds_where(lambda t: t.broadcasts == "all")
"""The operators that repeat an operand along the axes that it lacks."""


def number_columns(block: Block) -> Block:
    """The block with axes for the numbers beside columns, in loops and branches too; itself where there are none."""
    return _Numbering().run(block)


class _Numbering(Rewriter):
    """The walk over blocks with operators that repeat what has fewer axes; `means` are those that were made."""

    kinds = KINDS

    def __init__(self) -> None:
        super().__init__()
        self.means: set[Value | None] = set()

    def visit(self, op: Op) -> Op | None:
        """The op of numbers of as many axes."""
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
        """A number with so many axes; any other value as it is."""
        if value is None or not _is_number(value) or len(value.type.shape or ()) >= rank:
            return value
        shape = (1,) * rank
        if isinstance(value, Const) and value.is_param:
            return value
        if isinstance(value, Const) and not value.is_weight:
            return Const(value.numpy().reshape(shape), value.hint, value.place)
        if not many:
            return value
        made = Var(Type(value.type.dtype, shape), value.hint)
        self.kept.append(op.beside("Reshape", (value, Const(np.array(shape))), (made,), {"allowzero": 1}))
        return made


def _is_number(value: Value) -> bool:
    shape = literal_shape(value.type)
    return shape is not None and all(d == 1 for d in shape)
