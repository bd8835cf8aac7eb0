"""Write squares of float64 as products, in which onnxruntime finds no layer norm to fuse.

```
Pow(x: float64, 2)   ->   Mul(x, x)
```

When onnxruntime fuses a Pow and the ops after it into a layer norm or an RMS norm of float64, it does not read the
number that is added to the variance: before 1.30 it is 1e-5 then, whatever the model says; before 1.32 it is rounded to
float32, and an RMS norm's is still 1e-5.
"""

import numpy as np

from primsplit.ir import Block, Const, Op, Value
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter


@fault(
    "epsilon_of_float64_rms_norm",
    kind="wrong",
    operators=("Pow", "ReduceMean", "Sqrt", "Div", "Mul"),
    says="An RMS norm of float64 written by Pow is fused with an epsilon of 1e-5, whatever the file says.",
    before="1.32",
)
@fault(
    "epsilon_of_float64_layer_norm",
    kind="wrong",
    operators=("Pow", "ReduceMean", "Sqrt", "Div", "Mul"),
    says="A layer norm of float64 written by Pow is fused with an epsilon of 1e-5, from 1.30 on with the file's "
    "own rounded to float32.",
    before="1.32",
)
def write_squares(block: Block) -> Block:
    """Return the block with each float64 Pow by the constant 2 as a product; itself if there are none."""
    return _Squares().run(block)


class _Squares(Rewriter):
    kinds = frozenset({"Pow"})

    def visit(self, op: Op) -> Op | None:
        """Return the Pow, or the product."""
        if op.kind != "Pow":
            return super().visit(op)
        base, exponent = op.inputs
        if base is None or base.type.dtype != np.float64 or not _is_two(exponent, base):
            return super().visit(op)
        return op.beside("Mul", (base, base), op.outputs)


def _is_two(exponent: Value | None, base: Value) -> bool:
    """Whether it is the one number 2, of no more axes than the base has."""
    if not isinstance(exponent, Const) or not exponent.is_small or exponent.data.shape not in {(), (1,)}:
        return False
    return bool(exponent.numpy().item() == 2) and (exponent.type.rank == 0 or bool(base.type.rank))
