"""Write a branch that gives a value or its negative, by the sign of a number, as a product with the sign.

The slope of each side alone says nothing of both where they meet: a root with one of two signs may be smooth at 0.
The rules for signs (`transforms/sign_factors.py`) see a factor:

    y = If(x > 0) { return r } { return -r }      a = If(x > 0) { return r } { return -(-r) }
                                       becomes    y = Mul(a, Where(x > 0, 1, -1))
"""

from collections import ChainMap
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Op, Value, Var
from primsplit.ops import op as operators
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.rewrites.same_values import opposite_value
from primsplit.rewrites.signs import which_sign
from primsplit.rewrites.uses import LookingUp
from primsplit.tracing import append, current
from primsplit.tracing.array import Array


def recognize_opposite_branches(block: Block) -> Block:
    """Return the block with a product for each such branch; itself if there are none."""
    return _Recognizing().run(block)


class _Recognizing(LookingUp):
    """The walk."""

    kinds = frozenset({"If"})

    def visit(self, op: Op) -> Op | None:
        """Return the op; None if products stand for its results."""
        if op.kind != "If":
            return super().visit(op)
        made: ChainMap[Var, Op] = ChainMap(*(ops.made_by for ops in reversed(self.around)))
        asked = which_sign(op.inputs[0], made)
        places = [] if asked is None else _opposite_results(op, made)
        if asked is None or not places:
            return super().visit(op)
        with recorded_beside(op) as around:
            products = _as_products(op, places, asked[1])
        self.kept.extend(around.ops)
        self.replaced.update(products)
        return None


def _opposite_results(op: Op, made: ChainMap[Var, Op]) -> list[int]:
    """Return the positions of results of which one side is the negative of the other."""
    sides = op.blocks()
    inside = made.new_child({v: inner for side in sides for inner in side.ops for v in inner.outputs})
    pairs = zip(op.outputs, *(side.results for side in sides), strict=True)
    return [i for i, (v, a, b) in enumerate(pairs) if v.type.is_float and opposite_value(a, b, inside)]


def _as_products(op: Op, places: list[int], first_is_positive: bool) -> dict[Var, Value]:
    """Record the branch with a side negated, and the products that stand for its results."""
    negated = op.blocks()[1 if first_is_positive else 0]
    sides = (1, -1) if first_is_positive else (-1, 1)
    outputs = tuple(Var(v.type) if i in places else v for i, v in enumerate(op.outputs))
    append(
        replace(op.with_blocks(lambda block: _negated(block, places) if block is negated else block), outputs=outputs)
    )
    condition = op.inputs[0]
    assert condition is not None
    products: dict[Var, Value] = {}
    for i in places:
        known = outputs[i]
        current().learn(known)
        sign = operators.Where(Array(condition), *(np.asarray(side, known.type.dtype) for side in sides))
        products[op.outputs[i]] = operators.Mul(Array(known), sign, types=[known.type]).value
    return products


def _negated(block: Block, places: list[int]) -> Block:
    others = {i: Var(block.results[i].type) for i in places}
    ops = tuple(Op("Neg", (block.results[i],), (var,)) for i, var in others.items())
    return replace(block, ops=(*block.ops, *ops), results=tuple(others.get(i, v) for i, v in enumerate(block.results)))
