"""Avoid copies around stacked arrays: when arrays are stacked, and when a transposed stack is taken apart.

```
Concat(Unsqueeze(a, 0), Unsqueeze(b, 0))   ->   Reshape(Concat(a, b))
Gather(t, 3)  with t = Transpose(x)        ->   Reshape(Gather(Flatten(t), 3))
```

A stack along an axis lies in memory as its arrays joined along that axis: one Reshape after the Concat is enough. And
if a whole stack is transposed and then taken apart, onnxruntime transposes the arrays instead, once for each of their
readers, also in the pullback. A Flatten in between, which moves nothing, prevents that.
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims, reads
from primsplit.ir.dims import Shape
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter, integers


@fault(
    "transpose_moved_behind_gathers",
    kind="slow",
    operators=("Transpose", "Gather"),
    says="A Transpose before several Gathers is moved behind them, once for each of them.",
)
def join_stacks(block: Block) -> Block:
    """Return the block with each Concat of Unsqueezed arrays as a Concat of the arrays, and a Reshape."""
    return _Joining().run_and_drop(block)


def keep_transposed_stacks(block: Block) -> Block:
    """Return the block in which transposed stacks are taken apart along their first axis as matrices."""
    if not any(op.kind == "Transpose" for op in block.ops):
        return block
    return _Parting(block).run(block)


class _Joining(Rewriter):
    """The walk; `raised` maps the results of Unsqueezes to their input and the new axis."""

    kinds = frozenset({"Concat"})

    def __init__(self) -> None:
        super().__init__()
        self.raised: dict[Value | None, tuple[Value, int]] = {}

    def visit(self, op: Op) -> Op | None:
        """Return a stack as its arrays joined, in the shape of the stack."""
        if op.kind == "Unsqueeze":
            source, axes = op.inputs[0], integers(op.inputs[1])
            if source is not None and axes is not None and len(axes) == 1 and source.type.rank is not None:
                self.raised[op.outputs[0]] = (source, axes[0] % (source.type.rank + 1))
        elif op.kind == "Concat" and len(op.inputs) > 1 and all(v in self.raised for v in op.inputs):
            return self._joined(op) or super().visit(op)
        return super().visit(op)

    def _joined(self, op: Op) -> Op | None:
        pairs = [self.raised[v] for v in op.inputs]
        shape, whole = pairs[0][0].type.shape, op.outputs[0].type.shape
        if shape is None or whole is None or (sizes := sizes_of(whole)) is None:
            return None
        axis = int(op.attributes["axis"]) % len(whole)
        if axis == len(shape) or any(place != axis or not _has_shape(v, shape) for v, place in pairs):
            return None
        long = (*shape[:axis], len(pairs) * shape[axis], *shape[axis + 1 :])
        joined = Var(Type(op.outputs[0].type.dtype, long))
        inputs = tuple(v for v, _ in pairs)
        self.kept.append(op.beside("Concat", inputs, (joined,), {"axis": axis}))
        return op.beside("Reshape", (joined, Const(sizes)), op.outputs, {"allowzero": 0})


class _Parting(Rewriter):
    """The walk; `wholes` are the transposed stacks that several Gathers take apart, `flat` the same as matrices."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        readers: dict[Var, list[Op]] = {}
        for op in block.ops:
            for var in reads(op):
                readers.setdefault(var, []).append(op)
        made = (op.outputs[0] for op in block.ops if op.kind == "Transpose")
        self.wholes = {v for v in made if len(readers.get(v, ())) > 1 and all(map(_takes_one, readers[v]))}
        self.flat: dict[Value, Var] = {}

    def visit(self, op: Op) -> Op | None:
        """Return one array of a stack as a row of the stack as a matrix."""
        whole, shape = op.inputs[0] if op.inputs else None, op.outputs[0].type.shape
        if op.kind != "Gather" or whole not in self.wholes or shape is None or (sizes := sizes_of(shape)) is None:
            return super().visit(op)
        assert isinstance(whole, Var)
        assert whole.type.shape is not None
        length = dims.product(shape)
        if whole not in self.flat:
            self.flat[whole] = Var(Type(whole.type.dtype, (whole.type.shape[0], length)))
            self.kept.append(op.beside("Flatten", (whole,), (self.flat[whole],), {"axis": 1}))
        row = Var(Type(whole.type.dtype, (length,)))
        self.kept.append(op.beside("Gather", (self.flat[whole], op.inputs[1]), (row,), {"axis": 0}))
        return op.beside("Reshape", (row, Const(sizes)), op.outputs, {"allowzero": 0})


def _takes_one(op: Op) -> bool:
    """Whether it is a Gather of one array of a stack."""
    index = op.inputs[1] if op.kind == "Gather" else None
    return isinstance(index, Const) and index.type.shape == () and op.attributes.get("axis", 0) == 0


def _has_shape(value: Value, shape: Shape) -> bool:
    return value.type.shape is not None and dims.same_shape(value.type.shape, shape)


def sizes_of(shape: Sequence[dims.Dim]) -> "np.ndarray[tuple[int], np.dtype[np.int64]] | None":
    """Return the sizes for a Reshape to a shape, -1 for one that is not literal.

    None if more are not, or if a literal is 0: that would copy a size, and beside -1 it would be ambiguous.
    """
    found = [d if isinstance(d, int) else -1 for d in shape]
    return None if found.count(-1) > 1 or 0 in found else np.array(found, np.int64)
