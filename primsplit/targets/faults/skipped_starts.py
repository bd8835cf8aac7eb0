"""Cut arrays behind the last window of pools with SAME padding whose windows are shorter than their strides.

```
MaxPool(x: [1,1,10], kernel 2, stride 5, SAME)   ->   MaxPool(Slice(x, 0, 7), ...)
```

onnxruntime pads by a negative number there. Half of the elements that no window reads it leaves out at the start, so
that all windows lie elsewhere than those of its own Conv, of TensorFlow, and of the derivatives here, which pad by
nothing; a MaxPool of float32 it refuses.
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Type, Var, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.windows import windows_over
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.targets.faults.surplus_windows import POOLS


@fault(
    "same_padding_skips_the_start",
    kind="wrong",
    operators=("MaxPool", "AveragePool", "LpPool"),
    says="A pool with SAME padding and windows shorter than the stride begins behind the first element, or is refused.",
)
def cut_behind_windows(block: Block) -> Block:
    """Return the block with such pools reading arrays that end where the last window does."""
    return _Cutting().run(block)


class _Cutting(Rewriter):
    kinds = POOLS

    def visit(self, op: Op) -> Op | None:
        """Return the pool of a cut array. One that returns indices, which count over the whole array, is left alone."""
        source = op.inputs[0] if op.kind in POOLS and len(op.outputs) == 1 else None
        shape = None if source is None else source.type.shape
        if source is None or shape is None or not text(op.attributes.get("auto_pad", "")).startswith("SAME"):
            return super().visit(op)
        placed: dict[str, Any] = {name: op.attributes.get(name) for name in ("strides", "dilations")}
        windows = windows_over(shape[2:], op.attributes["kernel_shape"], **placed)
        if not any(map(_may_skip, shape[2:], windows.strides, map(int, windows.spans))):
            return super().visit(op)
        ends = list(map(_end, shape[2:], windows.strides, map(int, windows.spans)))
        with recorded_beside(op) as around:
            vector = tracing.size_vector(ends)
        axes = tuple(Const(np.array(numbers, np.int64)) for numbers in ([0] * len(ends), range(2, len(shape))))
        cut = Var(Type(source.type.dtype, (*shape[:2], *ends)))
        self.kept.extend([*around.ops, op.beside("Slice", (source, axes[0], vector, axes[1]), (cut,))])
        return op.beside(op.kind, (cut,), op.outputs, op.attributes)


def _end(size: Dim, stride: int, span: int) -> Dim:
    """Return where the last window ends, or the array."""
    return dims.minimum(size, (-(-size // stride) - 1) * stride + span)


def _may_skip(size: Dim, stride: int, span: int) -> bool:
    """Whether elements may lie behind the last window."""
    behind = size - (-(-size // stride) - 1) * stride - span
    return stride > span and (not isinstance(behind, int) or behind > 0)
