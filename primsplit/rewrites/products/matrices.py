"""Compute elementwise ops of pullbacks on matrices instead of arrays of three axes and more.

```
y: [64,16,32] = Mul(a: [64,16,32], b)   ->   y = Reshape(Mul(Reshape(a, [1024,32]), Reshape(b, [1024,32])))
```

The products around are of matrices, so that this leaves fewer Reshapes, not more. And onnxruntime lets a value reuse
the memory of an earlier one of the same shape, and keeps that memory in between: memory in the shapes of the forward
pass would lie there unused until the pullback meets them again.
"""

from collections.abc import Sequence
from dataclasses import replace

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.analysis.orders import ops_of_values
from primsplit.ir.dims import Shape
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.products.stacks import sizes_of
from primsplit.rewrites.rewriting import drop_dead_code

ELEMENTWISE = kinds_where(lambda t: t.elementwise) - {"Sum"}
"""Operators that are written on matrices. A Sum adds what Pads make of windows, which keep all their axes."""
SMALL = 2**16
"""Up to so many bytes a value stays as it is."""


def pulled_as_matrices(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with the elementwise ops that only results in `gradients`, by position, need, on matrices."""
    if not any(map(_has_axes, block.ops)):
        return block
    early = set(map(id, ops_of_values(block, gradients)))
    walk = _Walk()
    for op in block.ops:
        if id(op) in early:
            walk.keep(op)
        elif not walk.as_matrices(op):
            walk.keep(op)
            walk.view_of_result(op)
    return drop_dead_code(Block(block.name, block.params, tuple(walk.ops), block.results)) if walk.is_changed else block


class _Walk:
    """The ops so far; `matrices` are the arrays that exist as matrices too."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.matrices: dict[Var, Var] = {}
        self.is_changed = False

    def keep(self, op: Op) -> None:
        """Keep an op; note a Reshape of a matrix to an array, and drop one to a matrix that exists."""
        source = op.inputs[0] if op.inputs else None
        if op.kind == "Reshape" and isinstance(source, Var):
            made = op.outputs[0]
            if _is_view(made.type, source.type):
                self.matrices[made] = source
            elif _is_view(source.type, made.type):
                known = self.matrices.get(source)
                if known is not None and dims.same_shape(known.type.shape or (), made.type.shape or ()):
                    op = op.beside("Identity", (known,), op.outputs)
                else:
                    self.matrices[source] = made
        self.ops.append(op)

    def as_matrices(self, op: Op) -> bool:
        """Write the op on matrices if all of its operands are arrays of its shape, rows, columns or scalars."""
        if op.kind not in ELEMENTWISE or len(op.outputs) != 1:
            return False
        made, shape = op.outputs[0], op.outputs[0].type.shape
        if shape is None or len(shape) < 3 or sizes_of(shape) is None:
            return False
        size = made.type.literal_nbytes()
        if size is not None and size <= SMALL:
            return False
        views = [found for v in op.inputs if (found := _shape_within(v, shape)) is not None]
        if len(views) < len(op.inputs):
            return False
        inputs = [v if view == () else self.view(v, view, op) for v, view in zip(op.inputs, views, strict=True)]
        matrix = Var(Type(made.type.dtype, _matrix(shape)))
        self.ops.append(replace(op, inputs=tuple(inputs), outputs=(matrix,)))
        self.ops.append(_reshaped(matrix, shape, made, op))
        self.matrices[made] = matrix
        self.is_changed = True
        return True

    def view_of_result(self, op: Op) -> None:
        """Reshape the op's result to a matrix, at its own place: onnxruntime's order follows the places in the file."""
        made, shape = op.outputs[0], op.outputs[0].type.shape
        if made not in self.matrices and shape is not None and len(shape) > 2 and sizes_of(shape) is not None:
            self.matrices[made] = matrix = Var(Type(made.type.dtype, _matrix(shape)))
            self.ops.append(_reshaped(made, _matrix(shape), matrix, op))

    def view(self, value: Value | None, shape: Shape, op: Op) -> Value:
        """Return the array as a matrix of this shape."""
        assert value is not None
        assert isinstance(value, Var)
        if value not in self.matrices:
            self.matrices[value] = matrix = Var(Type(value.type.dtype, shape))
            self.ops.append(_reshaped(value, shape, matrix, op))
        return self.matrices[value]


def _has_axes(op: Op) -> bool:
    return op.kind in ELEMENTWISE and (op.outputs[0].type.rank or 0) > 2


def _matrix(shape: Shape) -> Shape:
    return (dims.product(shape[:-1]), shape[-1])


def _is_view(array: Type, matrix: Type) -> bool:
    """Whether the second is the first with all axes but the last merged."""
    if array.shape is None or matrix.shape is None or len(array.shape) < 3:
        return False
    return dims.same_shape(_matrix(array.shape), matrix.shape)


def _shape_within(value: Value | None, shape: Shape) -> Shape | None:
    """Return the shape in which an operand meets a matrix of these sizes: () for its own, None if it cannot."""
    own = None if value is None else value.type.shape
    if own is None:
        return None
    if len(own) <= 1:
        return ()
    if len(own) == len(shape) and dims.same_shape(own[:-1], shape[:-1]):
        is_whole = dims.same(own[-1], shape[-1])
        if (is_whole or dims.is_one(own[-1])) and sizes_of(own) is not None and not isinstance(value, Const):
            return _matrix(own)
    return None


def _reshaped(value: Var, shape: Shape, made: Var, op: Op) -> Op:
    sizes = sizes_of(shape)
    assert sizes is not None
    return op.beside("Reshape", (value, Const(sizes)), (made,), {"allowzero": 0})
