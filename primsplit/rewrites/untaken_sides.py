"""Keeps onnxruntime from refusing the side of a branch that is not taken.

What one side of an If keeps for its pullback is an empty array after the other. onnxruntime takes a side at load where
it can compute the condition. Before it takes the same side of a later If, it infers sizes in both, now of empty arrays:
a Slice with ends [] refuses, and the file does not load. So a few literal sizes are written as they are:

    x, ends = If(c, then: (a, []), else: (b, [3]))    # before: the pullback's If slices to `ends` in its own else
    x, ends = If(c, then: (a, [0]), else: (b, [3]))   # after
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ir.dims import Dim, symbols
from primsplit.rewrites.rewriting import Rewriter, literal_shape

KEPT = "kept"
"""The stem of the sizes of what a branch keeps for its pullback; batching knows it by them."""
BRANCHES = ("then_branch", "else_branch")
FEW = 64
"""The most elements of a constant that stands for what the other side keeps."""


def is_kept_size(size: Dim) -> bool:
    """True for a size of what one side of a branch keeps."""
    return KEPT in {name.rpartition("_")[0] for name in symbols(size)}


def fill_untaken_sides(block: Block) -> Block:
    """The block, whose branches give what the other side keeps in its sizes; the same block where there is none.

    Results of the block itself stay empty: they go to another file, and take memory between the two.
    """
    return _Filling(block.results).run(block)


class _Filling(Rewriter):
    """The walk, inner branches first: where both sides have the same sizes now, so has what an outer branch keeps."""

    kinds = frozenset({"If"})

    def __init__(self, ends: Sequence[Value]) -> None:
        super().__init__()
        self.ends = frozenset(ends)
        self.sizes: dict[Value, tuple[int, ...]] = {}

    def visit(self, op: Op) -> Op | None:
        """An If, the kept results of whose sides have sizes."""
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
        """The shape, where it is literal."""
        return self.sizes.get(value) or literal_shape(value.type)

    def filled(self, output: Var, own: Value, other: Value) -> Value:
        """What a side gives: zeros for an empty array in place of what the other keeps, where that has few elements."""
        shape = self.shape(other)
        is_kept = any(map(is_kept_size, output.type.shape or ()))
        is_kept = is_kept and output not in self.ends
        if shape is None or not is_kept or not isinstance(own, Const) or any(own.type.shape or (1,)):
            return own
        return Const(np.zeros(shape, own.type.dtype)) if 0 < math.prod(shape) <= FEW else own
