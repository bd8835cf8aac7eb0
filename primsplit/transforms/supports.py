"""Where a value is 0 whatever some parameters are: another element's cotangent, or one that a mask leaves out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from primsplit.ir import Const, Op, Value, Var
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op as operators
from primsplit.ops.traits import kinds_where, terms_of, traits
from primsplit.rewrites.rewrites.table import is_zero
from primsplit.tracing import current, emit
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to

SUMS = kinds_where(lambda t: t.keeps_sign and t.terms and not t.elementwise and (t.moves or t.reduces))
"""Operators that sum or move elements, none with a negative weight: they map supports as they map values.

Running sums and windows are left out: the support of one costs as much as the derivative that it would mend.
"""
AS_THE_FIRST = kinds_where(lambda t: t.elementwise and t.terms == ((0,),)) | {
    *("call::bounded_quotient", "call::exact_quotient", "call::integer_power", "call::length_quotient"),
    *("call::open_length_quotient", "call::root_quotient", "call::signed", "call::square", "call::tangent_signed"),
}
DEPTH = 40
Supports = dict[tuple[Var, int], Value | None]


class Entrance(Protocol):
    """Gives a support of the value that a parameter of a sub-block has."""

    def support(self, param: Var, bits: int) -> Array | None:
        """Return the support as a parameter of its own; None if none is known."""


@dataclass
class Support:
    """Arrays that are 0 where values are 0 whatever the parameters `bits` are; None if no such place is known."""

    made: Mapping[Var, Op]
    varies: Mapping[Var, int]
    bits: int
    known: Supports
    entrance: Entrance | None = None

    def of(self, value: Value | None, depth: int = DEPTH) -> Array | None:
        """Return the support of a value, broadcastable to its shape."""
        if not isinstance(value, Var):
            return None if value is None or not value.type.is_float else self.of_fixed(value)
        key = value, self.bits
        if key not in self.known:
            made = self._found(value, depth) if value.type.is_float and depth else None
            self.known[key] = None if made is None else made.value
        found = self.known[key]
        return None if found is None else Array(found)

    def _found(self, value: Var, depth: int) -> Array | None:
        op = self.made.get(value)
        if op is not None and op.kind == "Sign":
            return None
        if not self.varies.get(value, 0) & self.bits:
            return self.of_fixed(value)
        if op is None:
            return None if self.entrance is None else self.entrance.support(value, self.bits)
        current().learn(value)
        if op.kind in AS_THE_FIRST:
            return self._like(self.of(op.inputs[0], depth - 1), value)
        if op.kind == "Mul":
            one, other = (self.of(v, depth - 1) for v in op.inputs)
            return one * other if one is not None and other is not None else one if other is None else other
        if op.kind in {"Add", "Sub", "Sum"}:
            return self._sum([self.of(v, depth - 1) for v in op.inputs])
        if op.kind == "Where":
            return self._choice(op, depth - 1)
        return self._moved(op, depth - 1) if op.kind in SUMS and len(op.outputs) == 1 else None

    def of_fixed(self, value: Value) -> Array | None:
        """Return, for a value that does not vary, where it is not 0. A sign is 0 where x is, by chance too."""
        if isinstance(value, Const) and not value.type.shape:
            return Array(value) if is_zero(value) else None
        return cast_to(operators.Not(operators.Equal(Array(value), 0.0)), value.type.dtype)

    def _like(self, support: Array | None, value: Value) -> Array | None:
        return None if support is None else cast_to(support, value.type.dtype)

    def _sum(self, terms: Sequence[Array | None]) -> Array | None:
        total = terms[0]
        for term in terms[1:]:
            total = None if total is None or term is None else total + term
        return total

    def _choice(self, op: Op, depth: int) -> Array | None:
        sides = [self.of(v, depth) for v in op.inputs[1:]]
        if op.inputs[0] is None or all(s is None for s in sides):
            return None
        one = np.ones((), op.outputs[0].type.dtype)
        found: Array = operators.Where(Array(op.inputs[0]), *(one if s is None else s for s in sides))
        return found

    def _moved(self, op: Op, depth: int) -> Array | None:
        """Return the result of a linear op on the supports of the values that it moves."""
        terms = [i for (i,) in terms_of(op) if i < len(op.inputs) and op.inputs[i] is not None]
        found = {i: self.of(op.inputs[i], depth) for i in terms}
        if not traits(op.kind).fills and all(support is None for support in found.values()):
            return None
        inputs = list(op.inputs)
        for i, support in found.items():
            inputs[i] = self._whole(support, op.inputs[i]).value
        (made,) = emit(op.kind, inputs, op.attributes, types=[op.outputs[0].type])
        return Array(made)

    def _whole(self, support: Array | None, value: Value | None) -> Array:
        assert value is not None
        shape = Array(value).shape
        if support is None:
            return expand_to(Array(Const(np.ones((), value.type.dtype))), shape)
        return expand_to(support, shape)
