"""Raise lengths of 0 to 1 before a ReverseSequence: a sequence of one step is its own reverse, too.

```
ReverseSequence(x, lengths)   ->   ReverseSequence(x, Where(lengths > 0, lengths, 1))
```

onnxruntime before 1.28 writes nothing for a sequence of length 0, so that memory stays uninitialized.
"""

import numpy as np

from primsplit.ir import Block, Const, Op, Value
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.tracing.array import Array

KIND = "ReverseSequence"


@fault(
    "reversal_of_length_0",
    kind="wrong",
    operators=("ReverseSequence",),
    says="ReverseSequence does not write a sequence of length 0.",
    before="1.28",
)
def reverse_at_least_one(block: Block) -> Block:
    """Return the block whose reversals read lengths from 1 on; itself if it has none, or they surely are."""
    return _Reversals().run(block)


class _Reversals(Rewriter):
    kinds = frozenset({KIND})

    def visit(self, op: Op) -> Op | None:
        """Return the op, its lengths raised before it."""
        lengths = op.inputs[1] if op.kind == KIND else None
        if lengths is None or _are_positive(lengths):
            return super().visit(op)
        with recorded_beside(op) as around:
            raised = _raised(lengths)
        self.kept.extend(around.ops)
        return op.beside(KIND, (op.inputs[0], raised), op.outputs, op.attributes)


def _are_positive(lengths: Value) -> bool:
    return isinstance(lengths, Const) and lengths.is_small and bool(np.all(lengths.numpy() > 0))


def _raised(lengths: Value) -> Value:
    given = Array(lengths)
    return op.Where(op.Greater(given, 0), given, 1).value
