"""Compute sums, means and products with vectors over many numbers of 32 bits or fewer in two stages.

    y = ReduceSum(x[1000000], [0])   ->   y = ReduceSum(ReduceSum(Reshape(x, [1000, 1000]), [1]), [0])

onnxruntime adds the numbers one after the other, so that the error grows with their number: a sum of a million equal
numbers is off by 1e-3. Here the first stage adds along one part of the axes, the second adds the first one's results,
about as many, and the error grows with the square root. 16 bits go through float32.

If only the run knows how many numbers there are, an If chooses. Its condition is computed once for each size, before
the loops that contain such sums. Sums of rows, as the gradients of biases are, need no If: they are the product of a
row of ones with the rows, which onnxruntime adds up in blocks, in less time.

A file that is loaded may hold such Ifs. They stay as they are: else each time that a program is saved and loaded would
write its sums eight times as long.
"""

from collections.abc import Callable, Mapping

import numpy as np

from primsplit.ir import BFLOAT16, Block, Op, Type, Value, dims, walk
from primsplit.ir.dims import Dim, Size
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.products.addends import PRODUCTS
from primsplit.rewrites.rewriting import recorded_beside, reduced_axes
from primsplit.rewrites.sums.long_steps import LONG_STEPS, OVER_IMAGES, LongStep, mean_over_images
from primsplit.rewrites.sums.products import vector_product
from primsplit.rewrites.sums.stages import MANY, MANY_ROWS, STAGES, is_long, ones_of, reduced_in_stages, summed_rows
from primsplit.tracing import current, emit, fresh_stack, is_readable, recording, size_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.operators import cast_to
from primsplit.tracing.regions import emit_if, record
from primsplit.tracing.stack import primitive_part

HALVES = (np.dtype(np.float16), BFLOAT16)
SHORT = (np.dtype(np.float32), *HALVES)
FROM = 2**14
"""Numbers from which on an If takes two stages: it may have to copy them."""
REDUCTIONS = frozenset({*STAGES, "ReduceMean", "ReduceLogSum"})
SUMMING = REDUCTIONS | PRODUCTS | OVER_IMAGES.keys() | LONG_STEPS.keys()
SIMPLE = kinds_where(lambda t: t.moves)
"""Operators that may stand beside the sum in the branch of few numbers."""
MOST_BESIDE = 4
"""The most ops of that branch."""


@fault(
    "float32_sums_one_after_the_other",
    kind="wrong",
    operators=("ReduceSum", "ReduceMean", "MatMul", "GlobalAveragePool", "Conv"),
    says="Sums of many float32 numbers are added up one after the other: a relative error of 1e-3 for a million "
    "equal numbers.",
)
def part_long_sums(block: Block) -> Block:
    """Return the block with each such reduction and product in two stages; itself if there is none."""
    return _Parting().run_and_drop(block)


class _Parting(SizeRewriter):
    """The walk. `turned` maps the results of Transposes of matrices to their inputs.

    `sizes` are those known in the outermost block, `made` the values computed from them there, by name. `parted` counts
    the Ifs around that choose between one stage and two.
    """

    kinds = SUMMING

    def __init__(self) -> None:
        super().__init__()
        self.turned: dict[Value | None, Value] = {}
        self.sizes: dict[str, Value] = {}
        self.made: dict[tuple[str, str], Value] = {}
        self.blocks: list[Block] = []
        self.outermost: list[Op] = []
        self.parted = 0

    def enter(self, block: Block) -> None:
        """Note the ops that the outermost block keeps: ops on sizes that sub-blocks need are appended there."""
        super().enter(block)
        if len(self.blocks) == 1:
            self.outermost = self.kept
        self.blocks.append(block)

    def leave(self, block: Block) -> None:
        """End the block."""
        self.blocks.pop()

    def visit(self, op: Op) -> Op | None:
        """Return the op; None if it is replaced."""
        if op.kind == "Transpose" and op.inputs[0] is not None and _turns_matrices(op):
            self.turned[op.outputs[0]] = op.inputs[0]
        if self.parted or op.kind not in self.kinds or op.outputs[0].type.dtype not in SHORT:
            return super().visit(op)
        if op.outputs[0].type.shape is None:
            return super().visit(op)
        with recorded_beside(op) as around:
            found = self._summed(op)
            made = None if found is None else found.value
        if made is None:
            return super().visit(op)
        self.kept.extend(around.ops)
        self.replaced[op.outputs[0]] = made
        return None

    def inside(self, op: Op) -> Mapping[str, object]:
        """Return the op's attributes with their blocks rewritten; sums that a file holds in parts stay."""
        in_parts = op.kind == "If" and op.inputs[0] in self.answers and _is_in_parts(op)
        self.parted += in_parts
        found = super().inside(op)
        self.parted -= in_parts
        return found

    def _summed(self, step: Op) -> Array | None:
        """Return the result of an op, added up in stages; None if it is of few numbers."""
        if step.kind in PRODUCTS:
            return self._product(step)
        if step.kind in LONG_STEPS:
            return self._long_step(step, LONG_STEPS[step.kind](step))
        value = step.inputs[0]
        if value is None or value.type.shape is None:
            return None
        rank = len(value.type.shape)
        if step.kind not in OVER_IMAGES:
            return self._reduction(step, step.kind, reduced_axes(step, rank))
        kind = OVER_IMAGES[step.kind](step)
        if kind is None:
            return None
        if (images := mean_over_images(step)) is not None:
            return self._long_step(step, images)
        return self._reduction(step, kind, frozenset(range(2, rank)))

    def _long_step(self, step: Op, found: LongStep | None) -> Array | None:
        """Return the result of another operator that adds up many numbers."""
        if found is None or (isinstance(found.terms, int) and not is_long(found.terms, in_rows=False)):
            return None

        def plain() -> Array:
            (made,) = emit(step.kind, step.inputs, step.attributes)
            return Array(made)

        return self._chosen(found.terms, MANY, plain, found.in_parts, step.outputs[0].type)

    def _reduction(self, step: Op, kind: str, axes: frozenset[int] | None) -> Array | None:
        """Return the reduction in stages; None if it is of few numbers, or its axes are not known."""
        value, result = step.inputs[0], step.outputs[0].type
        if value is None or value.type.shape is None or not axes:
            return None
        shape = value.type.shape
        if any(isinstance(size, int) and size == 0 for size in shape):
            return None
        kept_behind = [size for size in shape[max(axes) + 1 :] if not dims.is_one(size)]
        count = dims.product(shape[axis] for axis in axes)
        if isinstance(count, int) and not is_long(count, in_rows=bool(kept_behind)):
            return None
        x = cast_to(Array(value), np.float32) if result.dtype in HALVES else Array(value)

        rows = summed_rows(x, axes) if kind == "ReduceSum" else None
        if rows is not None and isinstance(size := rows.shape[0], Size):
            ones = self._outside(size, "ones", lambda: ones_of(size))
            return cast_to(reshape_to(op.Gemm(ones, rows, transA=1), result.shape or ()), result.dtype)

        def plain() -> Array:
            (made,) = emit(step.kind, [x.value, *step.inputs[1:]], step.attributes)
            return Array(made)

        def staged() -> Array:
            return reshape_to(reduced_in_stages(x, kind, axes), result.shape or ())

        least = MANY_ROWS if kept_behind else FROM
        return cast_to(self._chosen(count, least, plain, staged, Type(x.dtype, result.shape)), result.dtype)

    def _product(self, step: Op) -> Array | None:
        """Return the product with a vector in parts; None for one of few terms, or of matrices."""
        product = vector_product(step, self.turned)
        if product is None or (isinstance(product.terms, int) and not is_long(product.terms, in_rows=False)):
            return None
        return self._chosen(product.terms, MANY, product.plain, product.in_parts, step.outputs[0].type)

    def _chosen(
        self, count: Dim, least: int, plain: Callable[[], Array], staged: Callable[[], Array], result: Type
    ) -> Array:
        """Return the first form for fewer numbers than `least`, the second for as many or more."""
        if isinstance(count, int):
            return staged()
        condition = self._is_less(count, least)
        then, other = record("plain", [], lambda: [plain().value]), record("staged", [], lambda: [staged().value])
        (made,) = emit_if(condition, then, other, [result])
        return Array(made)

    def _is_less(self, size: Size, number: int) -> Value:
        """Whether a size is less than a number, computed before the loops around if its symbols are known there."""
        part = primitive_part(size)
        factor = dims.exact_quotient(size, part)
        if isinstance(factor, int):
            size, number = part, -(-number // factor)
        return self._outside(size, f"is less than {number}", lambda: op.Less(Array(size_of(size)), number)).value

    def _outside(self, size: Size, what: str, make: Callable[[], Array]) -> Array:
        """A value computed from a size, once in the outermost block if its symbols are known there, else here."""
        kept = self.kept if len(self.blocks) == 1 else self.outermost
        with fresh_stack(), recording() as around:
            for param in self.blocks[0].params:
                around.learn(param)
            around.known.update(self.sizes)
            if size.text not in self.sizes and is_readable(size):
                self.sizes[size.text] = size_of(size)
            if size.text in self.sizes and (size.text, what) not in self.made:
                self.made[size.text, what] = make().value
            kept.extend(around.ops)
        current().known.update(self.sizes)
        return Array(self.made[size.text, what]) if size.text in self.sizes else make()


def _is_in_parts(choice: Op) -> bool:
    """Whether an If chooses between a sum and one of parts: the sums of its second branch read what is made there.

    The first one may read the numbers themselves.
    """
    plain, staged = choice.attributes["then_branch"], choice.attributes["else_branch"]
    made = {v for op in walk(staged) for v in op.outputs}
    of_made = [bool(made.intersection(op.inputs)) for op in walk(staged) if op.kind in SUMMING]
    return len(plain.ops) <= MOST_BESIDE and any(of_made) and all(of_made[1:]) and _is_a_sum(plain)


def _is_a_sum(block: Block) -> bool:
    """Whether a block has one result, of a sum and at most a few moves of its elements."""
    kinds = {op.kind for op in block.ops}
    return len(block.results) == 1 and len(kinds & SUMMING) == 1 and kinds <= SUMMING | SIMPLE


def _turns_matrices(transpose: Op) -> bool:
    """Whether a Transpose swaps the last two axes, and no others."""
    order = tuple(transpose.attributes.get("perm", ()))
    rank = len(transpose.outputs[0].type.shape or ())
    return rank >= 2 and order in {(*range(rank - 2), rank - 1, rank - 2), () if rank == 2 else (-1,)}
