"""Infer the sizes of results again where constants that were computed when an op was recorded are known by now.

```
s = Concat([2], Where(True, [0], [5]), axis=0)   ->   s = [2, 0]
y: float32[2,expanded_1] = Expand(x, s)               y: float32[2,0] = Expand(x, s)
```
"""

from primsplit.ir import Const, Op, Type, dims, is_call
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.inference import infer
from primsplit.rewrites.constant_branches import Taking
from primsplit.tracing.regions import visible


class Inferring(Taking):
    """A walk that learns sizes from the constants that ops read: `sizes` maps the symbols to them."""

    def visit(self, op: Op) -> Op | None:
        """Learn the sizes of the op's results, then visit it."""
        if reads_numbers(op) and has_own_size(op):
            self._infer(op)
        return super().visit(op)

    def _infer(self, op: Op) -> None:
        try:
            found = infer(op.kind, op.inputs, op.attributes, len(op.outputs))
        except PrimsplitError:
            return  # `refuse_misfits` tells of ops that do not fit what they read
        for output, (inferred, _) in zip(op.outputs, found, strict=True):
            if inferred.shape is not None and output.type.shape is not None and inferred.rank == output.type.rank:
                pairs = zip(inferred.shape, output.type.shape, strict=True)
                told = [size if isinstance(size, int) else before for size, before in pairs]
                self.learn_first(output, Type(output.type.dtype, told))


def reads_numbers(op: Op) -> bool:
    """Whether an op reads a short constant."""
    return any(isinstance(v, Const) and v.is_small for v in op.inputs)


def has_own_size(op: Op) -> bool:
    """Whether a result has a size of its own, which none of the inputs has."""
    if is_call(op) or any(op.blocks()):
        return False
    sizes = [d for v in op.outputs for d in v.type.shape or () if not isinstance(d, int)]
    if not sizes:
        return False
    known = visible(v for v in op.inputs if v is not None)
    return any(not dims.symbols(d) <= known for d in sizes)
