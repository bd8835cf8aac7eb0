"""Read the mask of a Dropout that trains, to keep onnxruntime from dropping it.

```
y = Dropout(x, 0.5, True)   ->   t, mask = Dropout(x, 0.5, True);  y = Where(mask, t, 0)
```

onnxruntime takes a Dropout whose training_mode is a constant, and whose mask is not read, for the identity, between
other nodes. Masked elements are 0 anyway.
"""

from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, walk
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter


@fault(
    "dropout_that_trains_removed",
    kind="wrong",
    operators=("Dropout",),
    says="A Dropout that trains is removed if its training_mode is a constant and nothing reads its mask.",
)
def read_masks(block: Block) -> Block:
    """Return the block in which every mask of a Dropout that trains is read; the same block if each is."""
    return _Reading({v for op in walk(block) for v in op.inputs}).run(block)


class _Reading(Rewriter):
    """The walk; `read_values` are those that ops read."""

    kinds = frozenset({"Dropout"})

    def __init__(self, read_values: set[Value | None]) -> None:
        super().__init__()
        self.read_values = read_values

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the op that reads its mask."""
        if op.kind != "Dropout" or not _trains(op) or any(v in self.read_values for v in op.outputs[1:]):
            return super().visit(op)
        kept = op.outputs[0]
        mask = op.outputs[1] if len(op.outputs) > 1 else Var(Type(np.bool_, kept.type.shape), sizes=kept.sizes)
        raw = Var(kept.type, kept.hint, kept.sizes)
        self.kept.append(replace(op, outputs=(raw, mask)))
        return op.beside("Where", (mask, raw, Const(np.zeros((), kept.type.dtype))), (kept,))


def _trains(op: Op) -> bool:
    mode = op.inputs[2] if len(op.inputs) > 2 else None
    return isinstance(mode, Const) and bool(np.any(mode.numpy()))
