"""Cut the windows off pools that onnxruntime computes and the standard does not have.

```
y = MaxPool(x)   ->   y = Slice(MaxPool(x), 0, number of windows by the standard)
```

onnxruntime rounds the division for the number of windows towards zero, so that an axis that is too short for a window
has one; the standard rounds down, and it has none. With ceil_mode, versions before 1.21 have a last window in the
padding, or past the end, if a stride and the padding after are longer than a window; the standard has had none since
opset 19. A cut of nothing costs a copy, so that it is written only where the sizes do not prove that nothing is cut.
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.inference import infer
from primsplit.ops.schema import text
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.decompositions.windows import windows_over
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.tracing.array import Array

POOLS = kinds_where(lambda t: t.windows == "pool")


@fault(
    "window_over_too_short_axis",
    kind="wrong",
    operators=("MaxPool", "AveragePool", "LpPool"),
    says="A pool with a stride has one window over an axis that is too short for it, where the standard has none.",
)
@fault(
    "window_in_the_padding_of_ceil_mode",
    kind="wrong",
    operators=("MaxPool", "AveragePool", "LpPool"),
    says="A pool with ceil_mode has a window that begins in the padding, which the standard does not have.",
    before="1.21",
)
def cut_pools(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with the windows that the standard does not have cut off its pools."""
    return _Cutting(runtime).run(block)


class _Cutting(Rewriter):
    kinds = POOLS

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.runtime = runtime

    def visit(self, op: Op) -> Op | None:
        """Return the pool, and after it the cut of each output."""
        if op.kind not in POOLS or not _has_more(op, self.runtime):
            return super().visit(op)
        whole = tuple(Var(Type(v.type.dtype, None), v.hint) for v in op.outputs)
        # What a model declares may be in sizes that nothing here has.
        ((inferred, _), *_) = infer(op.kind, op.inputs, op.attributes, len(op.outputs))
        counts = (inferred.shape or ())[2:]
        with recorded_beside(op) as around:
            ends = _as_counts(tracing.size_vector(counts), counts)
        axes = tuple(Const(np.array(numbers, np.int64)) for numbers in ([0] * len(counts), range(2, len(counts) + 2)))
        cuts = [op.beside("Slice", (v, axes[0], ends, axes[1]), (o,)) for v, o in zip(whole, op.outputs, strict=True)]
        self.kept.extend([*around.ops, op.beside(op.kind, op.inputs, whole, op.attributes), *cuts[:-1]])
        return cuts[-1]


def _as_counts(vector: Value, counts: tuple[Dim, ...]) -> Value:
    """Return the numbers of windows.

    A run in which one is negative fails: it would read before the start of an array.
    """
    if all(dims.at_least(count, 0) for count in counts):
        return vector
    places = op.Mul(op.Min(Array(vector), np.int64(0)), np.int64(2))
    return op.Add(Array(vector), op.Gather(np.zeros(1, np.int64), places)).value


def _has_more(pool: Op, runtime: Runtime) -> bool:
    """Whether onnxruntime may have a window more than the result's type says."""
    given = pool.attributes
    source, found = pool.inputs[0], pool.outputs[0].type.shape
    is_placed = not text(given.get("auto_pad", "NOTSET")).startswith("SAME")
    if not is_placed or source is None or source.type.shape is None or found is None:
        return False
    sizes = source.type.shape[2:]
    placed: dict[str, Any] = {name: given.get(name) for name in ("strides", "dilations", "pads")}
    windows = windows_over(sizes, given["kernel_shape"], **placed)
    pads = zip(windows.before, windows.after, strict=True)
    is_ceiled = bool(given.get("ceil_mode", 0))
    if not runtime.has("window_in_the_padding_of_ceil_mode" if is_ceiled else "window_over_too_short_axis"):
        return False
    test = _ends_late if is_ceiled else _may_lack_one
    return any(map(test, sizes, found[2:], windows.strides, map(int, windows.spans), pads))


def _ends_late(size: Dim, count: Dim, stride: int, span: int, pads: tuple[Dim, Dim]) -> bool:
    """Whether there may be more windows that begin before the padded end than the standard has."""
    before, after = pads
    room = size + before + after - span
    return dims.above(stride + after, span) and not dims.same(-(-room // stride) + 1, count)


def _may_lack_one(size: Dim, _: Dim, stride: int, span: int, pads: tuple[Dim, Dim]) -> bool:
    """Whether the padded axis may be too short for a window; onnxruntime refuses an axis without elements."""
    least = span - pads[0] - pads[1]
    return stride > 1 and dims.above(least, 1) and not dims.at_least(size, least)
