"""Keep onnxruntime from dropping an Expand to size 0 whose shape it knows when it loads the file.

```
Expand(x: [2,1], shape)   ->   Squeeze(Expand(x, Concat([1], shape)), [0])
```

onnxruntime takes a constant size of 0 for one that changes nothing: `Expand(x: [2,1], [2,0])` gives x. It leaves an
Expand that adds axes in place. The shape may be constant although it is computed here: onnxruntime folds what depends
on weights alone, too. An Expand whose shape depends on the data, or on the sizes of an input, is left as it is.
"""

from collections.abc import Iterable

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ir.dims import Dim, above, same, symbols
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter, literal_shape
from primsplit.tracing.regions import visible


@fault(
    "expand_to_nothing_dropped",
    kind="wrong",
    operators=("Expand",),
    says="An Expand to a constant shape that holds a 0 is dropped: `Expand(x[N], [0])` gives x.",
)
def keep_expansions(block: Block) -> Block:
    """Return the block with each Expand that onnxruntime may drop adding an axis; itself if there are none."""
    return _Keeping(block.params).run(block)


class _Keeping(Rewriter):
    """The walk.

    `known` are values that onnxruntime may compute when it loads the file, `sizes` the symbols of sizes that it may
    know then.
    """

    def __init__(self, params: Iterable[Var]) -> None:
        super().__init__()
        self.known: set[Var] = set()
        self.sizes: set[str] = set()
        self.given = visible(params)

    def visit(self, op: Op) -> Op | None:
        """Return the op, or a Squeeze of an Expand that adds an axis."""
        self._note(op)
        if op.kind != "Expand" or not self._may_be_dropped(op):
            return super().visit(op)
        x, shape = op.inputs
        result, count = op.outputs[0], _length(shape)
        assert result.type.shape is not None
        ones = Const(np.ones(len(result.type.shape) + 1 - count, np.int64))
        longer = Var(Type(np.int64, (len(result.type.shape) + 1,)))
        wide = Var(Type(result.type.dtype, (1, *result.type.shape)))
        self.kept.append(op.beside("Concat", (ones, shape), (longer,), {"axis": 0}))
        self.kept.append(op.beside("Expand", (x, longer), (wide,)))
        return op.beside("Squeeze", (wide, Const(np.zeros(1, np.int64))), (result,))

    def _note(self, op: Op) -> None:
        """Note the results and sizes that onnxruntime may know."""
        given = [v for v in op.inputs if v is not None]
        if op.kind == "If":
            self._note_branches(op)
        elif op.kind in SHAPES:
            self.known.update(op.outputs if all(map(self._is_known_size, given[0].type.shape or ())) else ())
        elif given and all(map(self._is_known, given)) and not any(op.blocks()):
            self.known.update(op.outputs)
        read = given[1:] or given
        if read and all(map(self._is_known, read)):
            self.sizes.update(visible(op.outputs) - visible(given) - self.given)

    def _note_branches(self, choice: Op) -> None:
        if self._is_known(choice.inputs[0]):
            for block in choice.blocks():
                pairs = zip(choice.outputs, block.results, strict=True)
                self.known.update(output for output, result in pairs if self._is_known(result))

    def _is_known(self, value: Value | None) -> bool:
        return isinstance(value, Const) or value in self.known

    def _is_known_size(self, size: Dim) -> bool:
        return symbols(size) <= self.sizes

    def _may_be_dropped(self, op: Op) -> bool:
        """Whether the shape may be known when the file is loaded, adds no axes, and may make a size 0."""
        x, shape = op.inputs
        before, after = None if x is None else x.type.shape, op.outputs[0].type.shape
        if before is None or after is None or len(before) < len(after):
            return False
        if not _length(shape) or not self._is_known(shape):
            return False
        return any(not same(a, b) and not above(b, 0) for a, b in zip(before, after, strict=True))


def _length(vector: Value | None) -> int:
    """The number of elements of a vector; 0 if only the run knows it."""
    shape = None if vector is None else literal_shape(vector.type)
    return shape[0] if shape else 0
