"""Find slopes that a sign makes 0 by chance: that of `sign(x) * sqrt(x * x)`, which is x, is 1 at 0.

A root, a norm and a size have the slope 0 at 0 by convention. The sign of the same value is 0 there too, or jumps, so
that the product may be smooth. Where the division by the root does not cancel (`transforms/even_slopes.py`), the slope
of the product is unknown, and NaN:

    dr = sign(x) dy                              dr = sign(x) dy
    du = bounded_quotient(dr, r)     becomes     du = bounded_quotient(dr, r) + unknown_slope(dr' - dr, r)

dr' is dr with another sign at 0. Where both are 0, as by the mask of `sign(x) * maximum(abs(x) - 1, 0)`, the slope is
0. The sign and the root may each be inside of a branch, a loop or a call, or behind it.
"""

import functools
import operator
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Op, Var, reads
from primsplit.numpy.quotients import unknown_slope
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op as operators
from primsplit.ops.traits import terms_of
from primsplit.rewrites.signs import sign_argument
from primsplit.tracing import append, current, emit, fresh_stack, recording
from primsplit.tracing.array import Array
from primsplit.transforms.marked_factors import Factors, is_closed
from primsplit.transforms.supports import Support

CONVENTIONS = frozenset({
    *("call::bounded_quotient", "call::length_quotient", "call::open_length_quotient"),
    *("call::signed", "call::tangent_signed"),
})  # fmt: skip
"""Slopes n / y, or n times the sign of y, that are 0 by convention where y is 0."""
SIGNS = frozenset({"Sign", "Where"})
"""Operators that may give a sign: `sign_argument` tells."""


class _Signs:
    """The signs, and 2 where they jump."""

    kinds = SIGNS

    def bits(self, factors: Factors, op: Op) -> int | None:
        argument = sign_argument(op, factors.made)
        return None if argument is None else factors.bits(argument)

    def other(self, factors: Factors, op: Op, bits: int) -> Array | None:
        argument = sign_argument(op, factors.made)
        if not isinstance(argument, Var) or not factors.bits(argument) & bits:
            return None
        current().learn(argument)
        made = op.outputs[0]
        return operators.Where(operators.Equal(Array(argument), 0.0), np.asarray(2, made.type.dtype), Array(made))


class _Slopes:
    """The slopes that are 0 by convention, and 1 there, in a tangent list, in which a factor follows a slope."""

    kinds = CONVENTIONS

    def bits(self, factors: Factors, op: Op) -> int | None:
        return factors.bits(op.inputs[1]) if op.kind in CONVENTIONS else None

    def other(self, factors: Factors, op: Op, bits: int) -> Array | None:
        if op.kind not in CONVENTIONS:
            return None
        n, y = op.inputs
        made = op.outputs[0]
        if n is None or not isinstance(y, Var) or not factors.bits(y) & bits:
            return None
        zero = operators.Equal(Array(y), 0.0)
        moves = Support(factors.made, factors.varies, factors.bits(y), factors.supports).of(n)
        if moves is not None:
            zero = operators.And(zero, operators.Not(operators.Equal(moves, 0.0)))
        return operators.Where(zero, np.asarray(1, made.type.dtype), Array(made))


SIGN, SLOPE = 0, 1
"""The marks, by their places."""


def may_meet(primal: Sequence[Op], linear: Block) -> bool:
    """Whether a program has signs, and slopes in its linear list that they may meet."""
    return not CONVENTIONS.isdisjoint(linear.kinds) and any(map(_may_have_sign, (*primal, *linear.ops)))


def _may_have_sign(op: Op) -> bool:
    return op.kind in SIGNS or (is_closed(op) and any(not SIGNS.isdisjoint(block.kinds) for block in op.blocks()))


def with_unknown_slopes(
    primal: Sequence[Op], linear: Block, varies: Mapping[Var, int], parts: Mapping[Var, int], forward: bool
) -> Block:
    """Return a linear list, tangent (`forward`) or pullback, NaN where a sign makes a slope 0 by chance.

    `primal` are the ops before it. `varies` are the bits of its parameters, and `parts` those of their elements.
    """
    meeting = _Meeting(forward)
    marks = (_Signs(), _Slopes()) if forward else (_Signs(),)
    factors = Factors(marks, ChainMap({}, dict(varies)), parts)
    read = {v for op in primal for v in reads(op)}
    for op in primal:
        factors.note_primal(op, read)
    kept: list[Op] = []
    for op in linear.ops:
        bits = meeting.bits(factors, op)
        with fresh_stack():
            found = meeting.opened(factors, op, bits) if bits else [op]
        for one in found:
            factors.note(one)
        kept.extend(found)
    return replace(linear, ops=tuple(kept))


class _Meeting:
    """Finds the ops of a linear list in which a sign meets a slope, and adds NaN to their results."""

    def __init__(self, forward: bool) -> None:
        self.forward = forward
        self.marks = (SIGN, SLOPE) if forward else (SIGN,)

    def bits(self, factors: Factors, op: Op) -> int:
        """Return the parameters, as bits, of a sign and a slope that meet in an op or in its blocks."""
        if is_closed(op):
            return self._bits_inside(factors, op)
        if self.forward:
            pairs = self._pairs(op)
            return _union(factors.marked(SLOPE, op.inputs[i]) & factors.marked(SIGN, op.inputs[j]) for i, j in pairs)
        return factors.marked(SIGN, op.inputs[0]) & factors.bits(op.inputs[1]) if op.kind in CONVENTIONS else 0

    def _bits_inside(self, factors: Factors, op: Op) -> int:
        if not factors.concerns(op) or (not self.forward and all(CONVENTIONS.isdisjoint(b.kinds) for b in op.blocks())):
            return 0
        found, params = 0, factors.entering(op)
        for block in op.blocks():
            inside = factors.inside(block, params)
            for inner in block.ops:
                found |= self.bits(inside, inner)
                inside.note(inner)
        return found

    def _pairs(self, op: Op) -> list[tuple[int, int]]:
        """Return the inputs of an op that are multiplied, each with each."""
        pairs = [(i, j) for term in terms_of(op) if len(term) == 2 for i, j in (term, term[::-1])]
        return [(i, j) for i, j in pairs if isinstance(op.inputs[i], Var) and isinstance(op.inputs[j], Var)]

    def opened(self, factors: Factors, op: Op, bits: int) -> Sequence[Op]:
        """Return the ops that stand for one in which signs and slopes of some parameters meet."""
        with recording(place=op.place, remark=op.remark) as around:
            for var in reads(op):
                around.learn(var)
            if is_closed(op):
                factors.doubled(op, bits, self.marks, lambda inside, inner: self._visited(inside, inner, bits))
            else:
                self._with_unknown(factors, op, bits)
        return around.ops

    def _visited(self, factors: Factors, op: Op, bits: int) -> Sequence[Op]:
        return self.opened(factors, op, bits) if self.bits(factors, op) & bits else [op]

    def _with_unknown(self, factors: Factors, op: Op, bits: int) -> None:
        (out,) = op.outputs
        known = Var(out.type)
        append(replace(op, outputs=(known,)))
        unknown = self._after_slope(factors, op, bits) if self.forward else self._before_slope(factors, op, bits)
        emit("Add", [known, unknown.value], types=[out.type])
        ops = current().ops
        ops[-1] = replace(ops[-1], outputs=(out,))

    def _before_slope(self, factors: Factors, op: Op, bits: int) -> Array:
        """Return NaN where a sign makes the slope 0 by chance, in a pullback: it multiplies the root's cotangent."""
        n, y = reads(op)
        found: Array = unknown_slope(factors.other(SIGN, n, bits) - Array(n), Array(y))
        return found

    def _after_slope(self, factors: Factors, op: Op, bits: int) -> Array:
        """Return NaN where a sign makes the slope 0 by chance, in tangents: it multiplies the tangent of the root."""
        dtype = op.outputs[0].type.dtype
        for i, j in self._pairs(op):
            tangent, factor = op.inputs[i], op.inputs[j]
            if not isinstance(tangent, Var) or not isinstance(factor, Var):
                continue
            if not factors.marked(SLOPE, tangent) & factors.marked(SIGN, factor) & bits:
                continue
            inputs = list(op.inputs)
            inputs[i] = cast_to(factors.differs(SLOPE, tangent, bits), tangent.type.dtype).value
            inputs[j] = cast_to(factors.differs(SIGN, factor, bits), factor.type.dtype).value
            (product,) = emit(op.kind, inputs, op.attributes, types=[op.outputs[0].type])
            return operators.Where(operators.Equal(Array(product), 0.0), np.zeros((), dtype), np.asarray(np.nan, dtype))
        raise AssertionError("no factor meets a slope")


def _union(found: Iterable[int]) -> int:
    return functools.reduce(operator.or_, found, 0)
