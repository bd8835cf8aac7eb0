"""Write zeros for products over an axis that may be empty, where onnxruntime leaves memory uninitialized.

```
y = MatMul(x: [3,K], v: [K])   ->   y = Where(K == 0, 0, MatMul(x, v))
```

onnxruntime 1.31.1 writes nothing to the result of a matrix times a vector, or of a stack of matrices with a Transpose
that it fuses into the product, if the axis that is summed over has no elements. Those of two matrices are zeros. Of
stacks of which one is broadcast it writes nothing either, and it refuses to broadcast one to a stack of no matrices. A
fused Transpose that makes the first axis one of the matrices' ends the process if there are no elements. onnxruntime
moves a Transpose past elementwise ops, and fuses it then, so that values after one are suspected too.
"""

from dataclasses import replace
from itertools import zip_longest

import numpy as np

from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, dims, readers, rename, renamed
from primsplit.ir.dims import Dim, Shape
from primsplit.ir.runtimes import fault
from primsplit.ops import op as operators
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.rewrites.table import is_zero
from primsplit.targets.faults.empty_layers import alone, unless_empty
from primsplit.targets.faults.moved_transposes import Reached, moves_first, permutation
from primsplit.tracing.array import Array


@fault(
    "sum_over_nothing_with_vector",
    kind="wrong",
    operators=("MatMul",),
    says="A matrix times a vector leaves the result unwritten where the sum is over no elements.",
    before="1.32",
)
@fault(
    "sum_over_nothing_in_transposed_stack",
    kind="wrong",
    operators=("Transpose", "MatMul"),
    says="A product of stacks with a fused Transpose leaves the result unwritten where the sum is over no elements.",
    before="1.32",
)
@fault(
    "sum_over_nothing_in_repeated_stack",
    kind="wrong",
    operators=("MatMul",),
    says="A product that repeats a stack of matrices leaves the result unwritten where the sum is over no elements.",
    before="1.32",
)
@fault(
    "stack_repeated_for_no_matrices",
    kind="refuses",
    operators=("MatMul",),
    says="A stack of matrices is not repeated for a stack of no matrices: the run fails.",
    before="1.32",
)
@fault(
    "fused_transpose_of_first_axis_of_nothing",
    kind="aborts",
    operators=("Transpose", "MatMul"),
    says="A Transpose of the first axis that is fused into a product of stacks ends the process where an axis is "
    "empty.",
    before="1.32",
)
def zero_empty_products(block: Block) -> Block:
    """Return the block with zeros for the products that onnxruntime does not write; itself if there are none."""
    return _Zeroing().run_and_drop(block)


class _Zeroing(SizeRewriter):
    """The walk.

    `turned` maps the results of Transposes to these. `zeroed` maps products to the choice of zeros that alone reads
    them. `swapped` are values that a Transpose of the last two axes may be
    moved to, `moved` those that one of a stack which moves the first axis may be moved to.
    """

    kinds = frozenset({"MatMul"})

    def __init__(self) -> None:
        super().__init__()
        self.turned: dict[Value, Op] = {}
        self.zeroed: dict[Value, Op] = {}
        self.swapped = Reached(_swaps_last)
        self.moved = Reached(lambda op: len(permutation(op)) > 2 and moves_first(op))

    def enter(self, block: Block) -> None:
        """Note the block's choices between zeros and something else."""
        super().enter(block)
        chosen = [op for op in block.ops if op.kind == "Where" and is_zero(op.inputs[1])]
        if chosen:
            by_value = readers(block.ops, block.results)
            self.zeroed.update((v, op) for op in chosen if isinstance(v := op.inputs[2], Var) and len(by_value[v]) == 1)

    def visit(self, op: Op) -> Op | None:
        """Return a product, then the choice of zeros if its axis is empty; or an If around it."""
        self.follow(op)
        left, right = op.inputs if op.kind == "MatMul" else (None, None)
        if left is None or right is None or left.type.shape is None or right.type.shape is None:
            return super().visit(op)
        a, b = left.type.shape, right.type.shape
        if self.is_repeating(left, a, b) or self.is_ending(op, a, b):
            return self.guarded(op, left, right)
        if not self.is_unwritten(op, a, b):
            return super().visit(op)
        result = op.outputs[0]
        product = Var(result.type, result.hint)
        form = () if len(b) == 1 else (1,)
        size, is_empty = Var(Type(np.int64, form)), Var(Type(np.bool_, form))
        zero = Const(np.zeros((), result.type.dtype))
        counted = ("Shape", (left,), (size,), {"start": len(a) - 1, "end": len(a)})
        made = (
            op.beside("MatMul", op.inputs, (product,), op.attributes),
            op.beside("Size", (right,), (size,)) if len(b) == 1 else op.beside(*counted),
            op.beside("Equal", (size, Const(np.zeros(form, np.int64))), (is_empty,)),
            op.beside("Where", (is_empty, zero, product), (result,)),
        )
        self.kept.extend(made[:-1])
        return made[-1]

    def follow(self, op: Op) -> None:
        """Note Transposes, and the values that they may be moved to."""
        if op.kind == "Transpose":
            self.turned[op.outputs[0]] = op
        self.swapped.follow(op)
        self.moved.follow(op)

    def is_unwritten(self, op: Op, a: Shape, b: Shape) -> bool:
        """Whether a product would not be written if its axis were empty, which it may be."""
        if self.above(a[-1] if a else 1, 0) or self.is_zeroed(op, a[-1]):
            return False
        if any(dims.same(a[-1], part) for size in op.outputs[0].type.shape or () for part in dims.factors(size)):
            return False  # without elements to add there are none to write
        is_stack = len(a) > 2 or len(b) > 2
        return len(b) == 1 or (is_stack and not self.turned.keys().isdisjoint(op.inputs))

    def is_zeroed(self, product: Op, size: Dim) -> bool:
        """Whether a choice that a file holds takes zeros for the product where a size is 0."""
        choice = self.zeroed.get(product.outputs[0])
        _, unequal = self.answers.get(choice.inputs[0], ((), ())) if choice and choice.inputs[0] else ((), ())
        return any(dims.same(size - 1, known) for known in unequal)

    def is_repeating(self, left: Value, a: Shape, b: Shape) -> bool:
        """Whether a product may broadcast one stack for the matrices of the other, either of them empty.

        A matrix on the right is not broadcast: the stack is one long matrix, if no Transpose of matrices is fused.
        """
        is_long = len(b) == 2 and left not in self.swapped
        stacks = zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1)
        if len(b) < 2 or is_long or all(dims.same(m, n) for m, n in stacks):
            return False
        return self.may_be_empty(a, b)

    def is_ending(self, op: Op, a: Shape, b: Shape) -> bool:
        """Whether a product of stacks with a fused Transpose ends the process if an axis is empty, which it may be."""
        return min(len(a), len(b)) > 2 and self.moved.meets(op) and self.may_be_empty(a, b)

    def may_be_empty(self, *shapes: Shape) -> bool:
        """Whether one of these axes may have no elements where the op stands."""
        return not all(self.above(size, 0) for shape in shapes for size in shape)

    def guarded(self, op: Op, left: Value, right: Value) -> Op:
        """Return an If around the product, which contains the Transposes that onnxruntime fuses with it."""
        arrays = (left, right)
        turns = {v: turn for v in arrays if (turn := self.turned.get(v)) and v.type.dtype == np.float32}
        renaming: Renaming = {}
        before = [rename(turn, renaming) for turn in turns.values()]
        whole = alone(replace(op, inputs=tuple(renamed(v, renaming) for v in arrays)), before)
        read = [source for v in arrays if (source := turns[v].inputs[0] if v in turns else v) is not None]
        perms = [permutation(turns[v]) if v in turns else None for v in arrays]

        def nothing() -> list[Value]:
            a, b = (Array(v) if p is None else operators.Transpose(v, perm=p) for v, p in zip(read, perms, strict=True))
            return [_sums_met(a, b, op.outputs[0].type)]

        *made, guarded = unless_empty(replace(op, inputs=tuple(read)), read, whole=whole, nothing=nothing)
        self.kept.extend(made)
        return guarded


def _swaps_last(op: Op) -> bool:
    """Whether it is a Transpose of a stack that transposes its matrices."""
    order = permutation(op)
    return len(order) > 2 and order[-2:] == (len(order) - 1, len(order) - 2)


def _sums_met(a: Array, b: Array, result: Type) -> Value:
    """The sums of rows and of columns, added: zeros of the shape of the product of the two, one of which is empty."""
    left, right = len(a.shape), len(b.shape)
    rows = operators.ReduceSum(a, [left - 1], keepdims=int(left > 1))
    columns = operators.ReduceSum(b, [right - 2], keepdims=int(left > 1))
    return operators.Add(rows, columns, types=[result]).value
