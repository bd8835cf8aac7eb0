"""Write the float64 cosine, for which onnxruntime has a kernel only from 1.30 on, with a sine.

```
Cos(x: float64)   ->   1 - 2 * Sin(x * 0.5)**2
```

It is written last: nothing about it can be simplified, and a program may hold many. Its error is 1.5e-15, the kernel's
6e-16; both are small beside 1, but not beside a cosine that is nearly 0.
"""

import numpy as np

from primsplit.ir import Block, Const, Op, Var
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter

HALF, ONE, TWO = (Const(np.array(number)) for number in (0.5, 1.0, 2.0))


@fault(
    "no_float64_cosine",
    kind="refuses",
    operators=("Cos",),
    says="There is no float64 Cos.",
    before="1.29",
)
def write_cosines(block: Block) -> Block:
    """Return the block without float64 Cos; itself if it has none."""
    return _Cosines().run(block)


class _Cosines(Rewriter):
    """The walk."""

    kinds = frozenset({"Cos"})

    def visit(self, op: Op) -> Op | None:
        """Return a cosine by the sine of half its angle."""
        x = op.inputs[0] if op.kind == "Cos" else None
        if x is None or x.type.dtype != np.float64:
            return super().visit(op)
        half, sine, square, twice = (Var(x.type) for _ in range(4))
        for kind, inputs, output in (
            ("Mul", (x, HALF), half),
            ("Sin", (half,), sine),
            ("Mul", (sine, sine), square),
            ("Mul", (square, TWO), twice),
        ):
            self.kept.append(op.beside(kind, inputs, (output,)))
        return op.beside("Sub", (ONE, twice), op.outputs)
