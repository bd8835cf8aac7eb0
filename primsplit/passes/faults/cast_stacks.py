"""Stacks of matrices that are transposed, cast, and multiplied: the Transpose is kept out of the product.

onnxruntime 1.23 to 1.32 fuses a Transpose that moves the first axis into a product of stacks, also past a Cast, which
for 16 bits it puts there itself. What the product is then written as has no type, and an operator with a constant
behind it ends the process while the file is loaded.
"""

from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, renamed
from primsplit.passes.faults.empty_products import BARRIERS
from primsplit.passes.rewriting import Rewriter, made_again


def keep_cast_stacks(block: Block) -> Block:
    """The block with such operands of products kept apart from their Transposes; itself without such."""
    return _Apart().run(block)


class _Apart(Rewriter):
    """The walk. `moved` are values that a Transpose of the first axis may be moved behind, `cast` those cast since."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: set[Value | None] = set()
        self.cast: set[Value | None] = set()

    def visit(self, op: Op) -> Op | None:
        """A product of stacks, with what makes its operands again in front of it."""
        self.follow(op)
        if op.kind != "MatMul" or all(v is None or v.type.rank == 2 for v in op.inputs):
            return super().visit(op)
        apart = {v: Var(v.type, v.hint, v.sizes) for v in op.inputs if isinstance(v, Var) and self.is_suspected(v)}
        if not apart:
            return super().visit(op)
        self.kept.extend(step for v, again in apart.items() for step in made_again(op, v, again))
        return replace(op, inputs=tuple(renamed(v, apart) for v in op.inputs))

    def follow(self, op: Op) -> None:
        """Remember Transposes, and what they may be moved behind."""
        if op.kind == "Transpose" and _moves_first(op):
            self.moved.update(op.outputs)
        elif op.kind not in BARRIERS and not self.moved.isdisjoint(op.inputs):
            self.moved.update(op.outputs)
            if op.kind == "Cast" or not self.cast.isdisjoint(op.inputs):
                self.cast.update(op.outputs)

    def is_suspected(self, value: Var) -> bool:
        """True for an operand that has been, or will be, cast after such a Transpose."""
        return value in self.cast or (value in self.moved and value.type.dtype.itemsize == 2)


def _moves_first(transpose: Op) -> bool:
    """True for a Transpose that puts another axis first; without `perm` it is the last."""
    perm = transpose.attributes.get("perm")
    return perm is None or (len(perm) > 0 and perm[0] != 0)
