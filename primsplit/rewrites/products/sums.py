"""Merge sums along axes in derivatives, and drop terms that are multiplied by 0.

```
ReduceSum(ReduceSum(x, [1]), [0])            ->   ReduceSum(x, [0, 1])
Add(ReduceSum(a, [0]), ReduceSum(b, [0]))    ->   ReduceSum(Add(a, b), [0])     # of small arrays
Add(x, Mul(y, 0))                            ->   x
```

A sum of sums is, say, that of a bias over the rows of a step and then over the steps. All of these round differently,
so that ops of values (not of derivatives) are left alone.
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Var, same_types
from primsplit.rewrites.products.derivatives import OfReadOnce
from primsplit.rewrites.rewrites.table import is_zero
from primsplit.rewrites.rewriting import integers

DTYPES = frozenset({"float32", "float64"})
SMALL = 2**14
"""Up to so many bytes arrays are added before they are summed."""


def sums_of_derivatives(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with fewer ReduceSums among the ops that only the results in `gradients`, by position, need."""
    if block.kinds.isdisjoint(_Summing.kinds):
        return block
    return _Summing(block, gradients).run_and_drop(block)


class _Summing(OfReadOnce):
    """The walk over blocks with sums."""

    kinds = frozenset({"Add", "ReduceSum"})

    def visit(self, op: Op) -> Op | None:
        """Return a sum in a cheaper form, or the op."""
        if op.outputs[0] not in self.early and op.outputs[0].type.key[0] in DTYPES:
            if op.kind == "Add":
                if self.is_left_out(op):
                    return None
                op = self.added_before(op) or op
            elif op.kind == "ReduceSum":
                op = self.at_once(op) or op
        return super().visit(op)

    def is_left_out(self, op: Op) -> bool:
        """Whether one term, a value times 0, has been dropped: the other one replaces the sum."""
        for term, other in (op.inputs, op.inputs[::-1]):
            _, product = self.made.get(term, (0, op))
            if product.kind == "Mul" and other is not None and any(map(is_zero, product.inputs)):
                return self.replace(op.outputs[0], other)
        return False

    def at_once(self, op: Op) -> Op | None:
        """Return a sum of sums as one along the axes of both."""
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

    def added_before(self, op: Op) -> Op | None:
        """Return `sum(a) + sum(b)` as `sum(a + b)`, and `(c + sum(a)) + sum(b)` as `c + sum(a + b)`."""
        for total, last in (op.inputs, op.inputs[::-1]):
            right = self.maker(last, "ReduceSum")
            summed = None if right is None else right.inputs[0]
            if right is None or summed is None or not summed.type.takes_at_most(SMALL):
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
        """Return the sum of the operands of two ReduceSums."""
        source = right.inputs[0]
        assert source is not None
        total = Var(source.type)
        self.keep(op.beside("Add", (left.inputs[0], source), (total,)))
        return total


def _are_alike(left: Op, right: Op) -> bool:
    """Whether they are sums along the same axes of arrays of the same type."""
    a, b = left.inputs[0], right.inputs[0]
    if a is None or b is None or not same_types(a.type, b.type) or left.attributes != right.attributes:
        return False
    return bool(_axes_of(left)) and _axes_of(left) == _axes_of(right)


def _axes_of(op: Op) -> set[int]:
    """Return the axes of a ReduceSum, if they and the array's rank are known; none if not."""
    rank = None if op.inputs[0] is None else op.inputs[0].type.rank
    axes = integers(op.inputs[1]) if len(op.inputs) > 1 else None
    return {a % rank for a in axes} if rank and axes else set()
