"""Store a constant that tracing converted in its source dtype, and convert it by a Cast in the file.

`x @ w` of a float64 `x` and a float32 array `w` reads `w` in float64. The file holds the user's array, once, and a
Cast, which onnxruntime folds when it loads the file:

    Const(float64[100,100])  ->  Cast(Const(float32[100,100]), to=float64)
"""

from dataclasses import replace

import onnx.helper

from primsplit.ir import Block, Const, Converted, Op, Value, Var
from primsplit.rewrites.rewriting import Rewriter


def convert_in_program(block: Block) -> Block:
    """Return the block with a Cast for each converted array of data, in sub-blocks too; itself if there are none."""
    return _Converting().run(block)


class _Converting(Rewriter):
    """The walk."""

    def visit(self, op: Op) -> Op | None:
        """Return the op, which reads the results of Casts before it."""
        inputs = tuple(self.computed(op, v) for v in op.inputs)
        changed = any(a is not b for a, b in zip(inputs, op.inputs, strict=True))
        return replace(op, inputs=inputs) if changed else super().visit(op)

    def computed(self, op: Op, value: Value | None) -> Value | None:
        """Return the value for a converted constant, computed from its source."""
        if not isinstance(value, Const) or not isinstance(value.data, Converted) or value.number is not None:
            return value
        source = Const(value.data.source, value.hint, value.place)
        if not source.type.is_float and source.type.dtype.itemsize >= value.type.dtype.itemsize:
            return value
        made = Var(value.type)
        self.kept.append(
            op.beside("Cast", (source,), (made,), {"to": int(onnx.helper.np_dtype_to_tensor_dtype(value.type.dtype))})
        )
        return made
