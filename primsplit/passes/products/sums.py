"""What a derivative adds up is added where that costs least.

A product of matrices takes what is added to it as its third operand, without a pass over memory. A sum along axes of
such a sum, as of a bias over the rows of a step and then over the steps, is one along all of them. And of little, two
sums along axes that are added cost more than one of what they are sums of. All of these round otherwise, so that values
are left alone.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, reads, same_types
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.products.derivatives import OfDerivatives
from primsplit.passes.rewriting import integers

DTYPES = frozenset({"float32", "float64"})
SMALL = 2**14
"""Bytes up to which arrays are added before they are summed, and a product is put off until it is added."""
NEAR = 3
"""How many ops behind a large product what adds to it may stand: its operands stay in memory until then."""


def sums_of_derivatives(block: Block, gradients: Sequence[int]) -> Block:
    """The block with sums rewritten in what only the results in `gradients`, by position, need."""
    found = _Adding(block, gradients).run(block)
    return block if found is block else drop_dead_code(found)


class _Adding(OfDerivatives):
    """The walk. `made` is what the current block has made so far, in order; `uses` how often each Var is read."""

    def __init__(self, block: Block, gradients: Sequence[int]) -> None:
        super().__init__(block, gradients)
        self.uses: Counter[Value | None] = Counter()
        self.made: dict[Value | None, tuple[int, Op]] = {}
        self.around: list[dict[Value | None, tuple[int, Op]]] = []

    def enter(self, block: Block) -> None:
        """What is made around a block stays there: a loop would do it at each step."""
        self.uses.update(v for op in block.ops for v in reads(op))
        self.uses.update(r for r in block.results if isinstance(r, Var))
        self.around.append(self.made)
        self.made = {}

    def leave(self, block: Block) -> None:
        """Back to the block around."""
        self.made = self.around.pop()

    def visit(self, op: Op) -> Op | None:
        """A sum in a cheaper form, or the op."""
        if op.outputs[0] not in self.early and op.outputs[0].type.key[0] in DTYPES:
            if op.kind == "Add":
                op = self.added_before(op) or self.in_product(op) or op
            elif op.kind == "ReduceSum":
                op = self.at_once(op) or op
        return self.noted(op)

    def noted(self, op: Op) -> Op:
        """The op, remembered as the one that makes its results."""
        for var in op.outputs:
            self.made[var] = len(self.made), op
        return op

    def maker(self, value: Value | None, *kinds: str) -> Op | None:
        """The op of these kinds that made a value for this one reader, in this block, if any."""
        _, op = self.made.get(value, (0, None))
        return op if op is not None and op.kind in kinds and self.uses[value] == 1 else None

    def at_once(self, op: Op) -> Op | None:
        """A sum of sums as one along the axes of both."""
        inner = self.maker(op.inputs[0], "ReduceSum")
        if inner is None or inner.inputs[0] is None or inner.inputs[0].type.rank is None:
            return None
        keeping = [each.attributes.get("keepdims", 1) for each in (inner, op)]
        first, second = _axes_of(inner), _axes_of(op)
        if not first or not second or keeping[0] != keeping[1]:
            return None
        left = [i for i in range(inner.inputs[0].type.rank) if keeping[0] or i not in first]
        axes = Const(np.array(sorted({*first, *(left[i] for i in second)})))
        return op.beside("ReduceSum", (inner.inputs[0], axes), op.outputs, {"keepdims": keeping[0]})

    def in_product(self, op: Op) -> Op | None:
        """`a @ b + c` as a Gemm of three, where c is there before the product."""
        first, second = op.inputs
        if self.made.get(first, (-1,))[0] > self.made.get(second, (-1,))[0]:
            first, second = second, first
        product = self.maker(second, "Gemm", "MatMul")
        if product is None or first is None or second is None or not _is_product_of_two(product):
            return None
        if not same_types(first.type, op.outputs[0].type) or not same_types(second.type, op.outputs[0].type):
            return None
        if not _is_small(second) and len(self.made) - self.made[second][0] > NEAR:
            return None
        left, right = product.inputs[:2]
        transposes = {k: product.attributes.get(k, 0) for k in ("transA", "transB")}
        return product.beside("Gemm", (left, right, first), op.outputs, transposes)

    def added_before(self, op: Op) -> Op | None:
        """`sum(a) + sum(b)` as `sum(a + b)`, and `(c + sum(a)) + sum(b)` as `c + sum(a + b)`."""
        for total, last in (op.inputs, op.inputs[::-1]):
            right = self.maker(last, "ReduceSum")
            if right is None or not _is_small(right.inputs[0]):
                continue
            left = self.maker(total, "ReduceSum")
            if left is not None and _are_alike(left, right):
                return right.beside(
                    "ReduceSum", (self.sum_of(left, right, op), *right.inputs[1:]), op.outputs, right.attributes
                )
            before = self.maker(total, "Add")
            for rest, summed in () if before is None else (before.inputs, before.inputs[::-1]):
                left = self.maker(summed, "ReduceSum")
                if left is not None and _are_alike(left, right) and rest is not None:
                    part = Var(right.outputs[0].type)
                    terms = (self.sum_of(left, right, op), *right.inputs[1:])
                    self.keep(right.beside("ReduceSum", terms, (part,), right.attributes))
                    return op.beside("Add", (rest, part), op.outputs)
        return None

    def sum_of(self, left: Op, right: Op, op: Op) -> Var:
        """What two ReduceSums sum, added."""
        source = right.inputs[0]
        assert source is not None
        total = Var(source.type)
        self.keep(op.beside("Add", (left.inputs[0], source), (total,)))
        return total

    def keep(self, op: Op) -> None:
        """Put an op, whose results are read once, before the one that is visited."""
        self.uses.update(op.outputs)
        self.kept.append(self.noted(op))


def _is_product_of_two(product: Op) -> bool:
    """True for two matrices that share an axis of a known size, and a Gemm that neither scales nor adds."""
    left, right, *added = product.inputs
    if added and added[0] is not None:
        return False
    if any(product.attributes.get(name, 1.0) != 1.0 for name in ("alpha", "beta")):
        return False
    if left is None or right is None or left.type.rank != 2 or right.type.rank != 2:
        return False
    assert left.type.shape is not None
    terms = left.type.shape[0 if product.attributes.get("transA") else 1]
    return isinstance(terms, int) and terms > 0


def _are_alike(left: Op, right: Op) -> bool:
    """True for sums along the same axes of arrays of the same type."""
    a, b = left.inputs[0], right.inputs[0]
    if a is None or b is None or not same_types(a.type, b.type) or left.attributes != right.attributes:
        return False
    return bool(_axes_of(left)) and _axes_of(left) == _axes_of(right)


def _axes_of(op: Op) -> set[int]:
    """The axes that a ReduceSum of an array of known rank sums along, where they are known; none where they are not."""
    rank = None if op.inputs[0] is None else op.inputs[0].type.rank
    axes = integers(op.inputs[1]) if len(op.inputs) > 1 else None
    return {a % rank for a in axes} if rank and axes else set()


def _is_small(value: Value | None) -> bool:
    size = None if value is None else value.type.literal_nbytes()
    return size is not None and size <= SMALL
