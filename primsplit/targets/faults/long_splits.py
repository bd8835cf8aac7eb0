"""Replace a Split of 2**31 elements or more along its axis by Slices.

```
a, b = Split(x: [3000000000])   ->   a = Slice(x, 0, 1500000000);  b = Slice(x, 1500000000, 3000000000)
```

onnx's inference keeps the size of that axis in 32 bits, and onnxruntime refuses to load the file.
"""

from typing import ClassVar

from primsplit.ir import Block, Op
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.rewriting import Rewriter, literal_shape, recorded_beside
from primsplit.tracing.array import Array

LONG = 2**31


@fault(
    "split_of_long_axis",
    kind="refuses",
    operators=("Split",),
    says="A Split of an axis of 2**31 elements or more is refused.",
)
def slice_long_splits(block: Block) -> Block:
    """Return the block with Slices in place of Splits of long axes; itself if it has none."""
    return _LongSplits().run(block)


class _LongSplits(Rewriter):
    kinds: ClassVar = frozenset({"Split"})

    def visit(self, step: Op) -> Op | None:
        """None for a Split of a long axis: its parts are replaced."""
        whole = step.inputs[0] if step.kind == "Split" else None
        shape = None if whole is None else literal_shape(whole.type)
        axis = int(step.attributes.get("axis", 0))
        parts = [literal_shape(v.type) for v in step.outputs]
        if whole is None or shape is None or shape[axis] < LONG or None in parts:
            return super().visit(step)
        start = 0
        for var, part in zip(step.outputs, parts, strict=True):
            end = start + (part or ())[axis]
            with recorded_beside(step) as around:
                self.replaced[var] = op.Slice(Array(whole), [start], [end], [axis], types=[var.type]).value
            self.kept.extend(around.ops)
            start = end
        return None
