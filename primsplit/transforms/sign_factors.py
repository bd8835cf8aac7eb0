"""Find slopes that a sign makes 0 by chance: that of `sign(x) * sqrt(x * x)`, which is x, is 1 at 0.

A root, a norm and a size have the slope 0 at 0 by convention. The sign of the same value is 0 there too, or jumps, so
that the product may be smooth. Where the division by the root does not cancel (`transforms/even_slopes.py`), the slope
of the product is unknown, and NaN:

    dr = sign(x) dy                              dr = sign(x) dy
    du = bounded_quotient(dr, r)     becomes     du = bounded_quotient(dr, r) + unknown_slope(dr' - dr, r)

dr' is dr with another sign at 0. Where both are 0, as by the mask of `sign(x) * maximum(abs(x) - 1, 0)`, the slope is
0.
"""

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from primsplit.ir import Op, Value, Var, reads
from primsplit.numpy.quotients import unknown_slope
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op as operators
from primsplit.ops.traits import terms_of
from primsplit.rewrites.signs import sign_argument
from primsplit.tracing import append, current, emit
from primsplit.tracing.array import Array
from primsplit.transforms.supports import AS_THE_FIRST

CONVENTIONS = frozenset({
    *("call::bounded_quotient", "call::length_quotient", "call::open_length_quotient"),
    *("call::signed", "call::tangent_signed"),
})  # fmt: skip
"""Slopes n / y, or n times the sign of y, that are 0 by convention where y is 0."""
SIGNS = frozenset({"Sign", "Where"})
"""Operators that may give a sign: `sign_argument` tells."""
SQUARES = frozenset({"call::square", "call::integer_power"})


@dataclass
class SignFactors:
    """The signs of a program, and the slopes in a linear list that they meet.

    `made` maps Vars to the ops that compute them, `bits` tells the parameters that a value varies with, and
    `support(n, y)` is where n is 0 whatever y is. `forward` says that the list is one of tangents, in which a factor
    follows a slope.
    """

    made: Mapping[Var, Op]
    bits: Callable[[Value], int]
    support: Callable[[Value, Var], Array | None]
    forward: bool
    signs: dict[Var, int] = field(default_factory=dict)
    """Values with a sign as a factor, and the parameters that it is a sign of, as bits."""
    slopes: dict[Var, int] = field(default_factory=dict)
    """Tangents with a slope as a factor, and the parameters that its root varies with."""
    _without: dict[tuple[Var, int], Value] = field(default_factory=dict)
    _with: dict[tuple[Var, int], Value] = field(default_factory=dict)

    def inside(
        self, made: Mapping[Var, Op], bits: Callable[[Value], int], support: Callable[[Value, Var], Array | None]
    ) -> "SignFactors":
        """Return the signs and slopes that a branch sees, whose own values are told by its own functions."""
        return SignFactors(made, bits, support, self.forward, dict(self.signs), dict(self.slopes))

    def note(self, op: Op) -> None:
        """Record whether the results of an op have a sign or a slope as a factor."""
        argument = sign_argument(op, self.made)
        found = self._found(self.signs, op) if argument is None else self.bits(argument)
        if found:
            self.signs.update(dict.fromkeys(op.outputs, found))
        if self.forward and self.signs:
            found = self.bits(op.inputs[1]) if op.kind in CONVENTIONS and op.inputs[1] else self._found(self.slopes, op)
            if found:
                self.slopes.update(dict.fromkeys(op.outputs, found))

    def _found(self, known: Mapping[Var, int], op: Op) -> int:
        values = reads(op) if _is_closed(op) else [op.inputs[i] for i in _factors(op)]
        return functools.reduce(operator.or_, (known.get(v, 0) for v in values if isinstance(v, Var)), 0)

    def met(self, op: Op) -> Array | None:
        """Return what the result of a linear op lacks: NaN where it is 0 by chance, else 0; None if nothing."""
        if not self.signs:
            return None
        if op.kind in CONVENTIONS:
            return None if self.forward else self._before_slope(op)
        if _is_closed(op):
            return self._inside(op)
        pairs = [(i, j) for term in terms_of(op) if len(term) == 2 for i, j in (term, term[::-1])]
        found = (self._after_slope(op, i, j) for i, j in pairs if self.slopes)
        return next((one for one in found if one is not None), None)

    def _before_slope(self, op: Op) -> Array | None:
        """In a pullback: the sign multiplies the cotangent of the root."""
        n, y = op.inputs
        bits = self.signs.get(n, 0) & self.bits(y) if isinstance(n, Var) and y is not None else 0
        if not bits or not isinstance(n, Var) or y is None:
            return None
        found: Array = unknown_slope(self._without_signs(n, bits) - Array(n), Array(y))
        return found

    def _after_slope(self, op: Op, i: int, j: int) -> Array | None:
        """In a tangent list: the sign, in input j, multiplies the tangent of the root, input i."""
        tangent, factor = op.inputs[i], op.inputs[j]
        if not isinstance(tangent, Var) or not isinstance(factor, Var):
            return None
        bits = self.slopes.get(tangent, 0) & self.signs.get(factor, 0)
        if not bits:
            return None
        inputs = list(op.inputs)
        for k, value, leaf in ((i, tangent, self._with_slopes), (j, factor, self._without_signs)):
            inputs[k] = cast_to(self._differs(value, leaf, bits), value.type.dtype).value
        (product,) = emit(op.kind, inputs, op.attributes, types=[op.outputs[0].type])
        met = operators.Not(operators.Equal(Array(product), 0.0))
        return operators.Where(met, np.asarray(np.nan, op.outputs[0].type.dtype), 0.0)

    def _inside(self, op: Op) -> Array | None:
        """In a tangent list: a loop or a branch gets a sign and the tangent of a root, and may multiply them."""
        bits = self._found(self.slopes, op) & self._found(self.signs, op)
        if not bits:
            return None
        dtype = op.outputs[0].type.dtype
        slope, sign = (
            self._anywhere(op, marks, bits, replay, dtype)
            for marks, replay in ((self.slopes, self._with_slopes), (self.signs, self._without_signs))
        )
        return operators.Where(operators.Equal(slope * sign, 0.0), np.zeros((), dtype), np.asarray(np.nan, dtype))

    def _anywhere(self, op: Op, marks: Mapping[Var, int], bits: int, replay: "Replay", dtype: Any) -> Array:
        """Return a number above 0 if a marked value that an op reads has an element that differs."""
        found = [self._differs(v, replay, bits) for v in reads(op) if marks.get(v, 0) & bits]
        return functools.reduce(operator.add, (operators.ReduceSum(cast_to(v, dtype), keepdims=0) for v in found))

    def _differs(self, value: Var, replay: "Replay", bits: int) -> Array:
        """Return where a value is another if the signs or slopes in it are."""
        return operators.Not(operators.Equal(Array(value), replay(value, bits)))

    def _without_signs(self, value: Var, bits: int) -> Array:
        """Return the value as if the signs of what varies with some parameters were 2 at 0."""
        return self._replayed(value, bits, self.signs, self._without, self._two_at_zero)

    def _two_at_zero(self, op: Op, bits: int) -> Array | None:
        argument = sign_argument(op, self.made)
        if not isinstance(argument, Var) or not self.bits(argument) & bits:
            return None
        current().learn(argument)
        made = op.outputs[0]
        return operators.Where(operators.Equal(Array(argument), 0.0), np.asarray(2, made.type.dtype), Array(made))

    def _with_slopes(self, value: Var, bits: int) -> Array:
        """Return the tangent as if slopes that are 0 by convention were 1."""
        return self._replayed(value, bits, self.slopes, self._with, self._one_at_zero)

    def _one_at_zero(self, op: Op, bits: int) -> Array | None:
        if op.kind not in CONVENTIONS:
            return None
        n, y = op.inputs
        made = op.outputs[0]
        if n is None or not isinstance(y, Var) or not self.bits(y) & bits:
            return None
        zero, moves = operators.Equal(Array(y), 0.0), self.support(n, y)
        if moves is not None:
            zero = operators.And(zero, operators.Not(operators.Equal(moves, 0.0)))
        return operators.Where(zero, np.asarray(1, made.type.dtype), Array(made))

    def _replayed(
        self,
        value: Var,
        bits: int,
        marks: Mapping[Var, int],
        known: dict[tuple[Var, int], Value],
        leaf: Callable[[Op, int], Array | None],
    ) -> Array:
        """Return a product computed again, its marked factors replaced by what `leaf` gives for them."""
        current().learn(value)
        if not marks.get(value, 0) & bits:
            return Array(value)
        if (value, bits) not in known:
            op = self.made[value]
            for read in reads(op):
                current().learn(read)
            found = leaf(op, bits)
            if found is None and _is_closed(op):
                replay: Replay = lambda v, bits: self._replayed(v, bits, marks, known, leaf)  # noqa: E731
                found = Array(value) + self._anywhere(op, marks, bits, replay, value.type.dtype)
            if found is None:
                inputs = list(op.inputs)
                for i in _factors(op):
                    one = inputs[i]
                    if isinstance(one, Var):
                        inputs[i] = self._replayed(one, bits, marks, known, leaf).value
                again = replace(op, inputs=tuple(inputs), outputs=tuple(Var(v.type) for v in op.outputs))
                append(again)
                found = Array(again.outputs[op.outputs.index(value)])
            known[value, bits] = found.value
        return Array(known[value, bits])


Replay = Callable[[Var, int], Array]


def _is_closed(op: Op) -> bool:
    """Whether an op is a loop or a branch, in which its inputs may be multiplied."""
    return op.kind in {"If", "Loop", "Scan"}


def _factors(op: Op) -> list[int]:
    """Return the positions of the inputs that the results of an op are sums of products with."""
    if op.kind in AS_THE_FIRST or op.kind in SQUARES:
        return [0]
    return [] if op.blocks() else sorted({i for term in terms_of(op) for i in term if i < len(op.inputs)})
