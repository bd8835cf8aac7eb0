"""Pools with ceil_mode: onnxruntime before 1.21 has a last window in the padding, or past the end, which is cut off.

There is one only where a stride and the padding after are longer than a window. The standard has had none since
opset 19. A cut of nothing costs a copy, so that it is written where the sizes do not tell that nothing is cut.
"""

from typing import Any

import numpy as np

from primsplit import dims, tracing
from primsplit.dims import Dim
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.passes.compositions.windows import windows_over
from primsplit.passes.rewriting import Rewriter, recorded_beside

POOLS = frozenset({"MaxPool", "AveragePool", "LpPool"})


def cut_pools(block: Block) -> Block:
    """The block with the windows that begin past the end cut off its pools."""
    return _Cutting().run(block)


class _Cutting(Rewriter):
    kinds = POOLS

    def visit(self, op: Op) -> Op | None:
        """The pool, and after it the cut of each output."""
        if op.kind not in POOLS or not _has_more(op):
            return super().visit(op)
        whole = tuple(Var(Type(v.type.dtype, None), v.hint) for v in op.outputs)
        shape = op.outputs[0].type.shape or ()
        with recorded_beside(op) as around:
            ends = tracing.size_vector(shape[2:])
        axes = tuple(Const(np.array(numbers, np.int64)) for numbers in ([0] * len(shape[2:]), range(2, len(shape))))
        cuts = [op.beside("Slice", (v, axes[0], ends, axes[1]), (o,)) for v, o in zip(whole, op.outputs, strict=True)]
        self.kept.extend([*around.ops, op.beside(op.kind, op.inputs, whole, op.attributes), *cuts[:-1]])
        return cuts[-1]


def _has_more(pool: Op) -> bool:
    """True where onnxruntime may have a window more than the type of the result tells."""
    given = pool.attributes
    source, found = pool.inputs[0], pool.outputs[0].type.shape
    is_placed = given.get("auto_pad", "NOTSET") in {"NOTSET", b"NOTSET"}
    if not given.get("ceil_mode", 0) or not is_placed or source is None or source.type.shape is None or found is None:
        return False
    sizes = source.type.shape[2:]
    placed: dict[str, Any] = {name: given.get(name) for name in ("strides", "dilations", "pads")}
    windows = windows_over(sizes, given["kernel_shape"], **placed)
    pads = zip(windows.before, windows.after, strict=True)
    return any(map(_is_longer, sizes, found[2:], windows.strides, windows.spans, pads))


def _is_longer(size: Dim, count: Dim, stride: int, span: int, pads: tuple[Dim, Dim]) -> bool:
    """True where as many windows as begin before the padded end may be more than there are."""
    before, after = pads
    room = size + before + after - span
    return dims.above(stride + after, span) and not dims.same(-(-room // stride) + 1, count)
