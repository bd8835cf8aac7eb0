"""Keep onnxruntime from refusing the branch of an If that is not taken.

    x, ends = If(c, then: (a, []), else: (b, [3]))    # before: the pullback's If slices to `ends` in its own else
    x, ends = If(c, then: (a, [0]), else: (b, [3]))   # after

A value that one branch keeps for its pullback is an empty array in the other. onnxruntime takes a branch at load if it
can compute the condition. Before it takes the same branch of a later If, it infers sizes in both, now of empty arrays:
it refuses a Slice with ends [], and the file does not load. So the sizes of small kept values are the same in both
branches.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ir.dims import Dim, Kinded, SymbolKind, kinds_of
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter, literal_shape

KEPT = Kinded("kept", SymbolKind.KEPT)
"""The stem of the sizes of values that a branch keeps for its pullback; batching recognizes them by its kind."""
BRANCHES = ("then_branch", "else_branch")
FEW = 64
"""The most elements of a constant that replaces the empty array."""


def is_kept_size(size: Dim) -> bool:
    """Whether it is a size of a value that one branch keeps."""
    return SymbolKind.KEPT in kinds_of(size)


@fault(
    "side_of_a_branch_that_is_not_taken",
    kind="refuses",
    operators=("If",),
    says="The side of an If that is not taken is checked against arrays of no elements from an earlier If: the "
    "file does not load.",
)
def fill_untaken_sides(block: Block) -> Block:
    """Return the block, whose branches return arrays of the other branch's sizes; the same block if there are none.

    Results of the block itself stay empty: they go to another file, and take memory between the two.
    """
    return _Filling(block.results).run(block)


class _Filling(Rewriter):
    """The walk, inner branches first: an outer branch then knows the sizes of the values that an inner one keeps."""

    kinds = frozenset({"If"})

    def __init__(self, ends: Sequence[Value]) -> None:
        super().__init__()
        self.ends = frozenset(ends)
        self.sizes: dict[Value, tuple[int, ...]] = {}

    def visit(self, op: Op) -> Op | None:
        """Return an If whose branches' kept results have sizes."""
        step = super().visit(op)
        if step is None or step.kind != "If":
            return step
        then, other = (step.attributes[name] for name in BRANCHES)
        pairs = list(zip(step.outputs, then.results, other.results, strict=True))
        found = [(self.filled(o, a, b), self.filled(o, b, a)) for o, a, b in pairs]
        for output, (first, second) in zip(step.outputs, found, strict=True):
            shape = self.shape(first)
            if shape is not None and shape == self.shape(second):
                self.sizes[output] = shape
        if all(x is a and y is b for (x, y), (_, a, b) in zip(found, pairs, strict=True)):
            return step
        results = zip(*found, strict=True)
        made = {n: replace(s, results=r) for n, s, r in zip(BRANCHES, (then, other), results, strict=True)}
        return Op(step.kind, step.inputs, step.outputs, {**step.attributes, **made}, step.place, step.remark)

    def shape(self, value: Value) -> tuple[int, ...] | None:
        """Return the shape, if it is literal."""
        return self.sizes.get(value) or literal_shape(value.type)

    def filled(self, output: Var, own: Value, other: Value) -> Value:
        """Return a branch's result: zeros instead of an empty array where the other one keeps a small value."""
        shape = self.shape(other)
        is_kept = any(map(is_kept_size, output.type.shape or ()))
        is_kept = is_kept and output not in self.ends
        if shape is None or not is_kept or not isinstance(own, Const) or any(own.type.shape or (1,)):
            return own
        return Const(np.zeros(shape, own.type.dtype)) if 0 < math.prod(shape) <= FEW else own
