"""Tell values that jump where a number is 0, and their numbers below 0, at 0 and above it.

The square of a sign is 1 on both sides of 0, and 0 at 0:

    s = Sign(x)                 below -1, at 0: 0, above 1
    z = Mul(s, s)               below 1, at 0: 0, above 1

Numbers that grow with x, as |x| does, have the degree 1. The quotient of x and |x| has the degree 0, and jumps.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from primsplit.ir import AnyArray, Const, Op, Value, Var, is_call
from primsplit.ops.traits import kinds_where, traits
from primsplit.rewrites.evaluation import evaluate
from primsplit.rewrites.same_values import opposite_value, same_value
from primsplit.rewrites.signs import is_nonnegative

LONGEST_BODY = 24
"""The most ops of a call that is looked into."""


class Side(NamedTuple):
    """A value near 0 on one side of it, or at 0: this number times |x| to the power `degree`."""

    number: AnyArray
    degree: int = 0


Sides = tuple[Side, Side, Side]
"""Below 0, at 0 and above it."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A value as a function of the sign of another one, and of its size. `place` is a view of that, or itself."""

    argument: Value
    sides: Sides
    place: Value
    is_local: bool = False
    """Whether these are its numbers near 0 alone: `floor(x)` has others."""
    is_test: bool = False
    """Whether it only tells 0 from other numbers, as `x != 0` does, and numbers computed from such tests."""

    def numbers(self, dtype: np.dtype[Any]) -> list[AnyArray]:
        """Return the three numbers, or slopes, in this dtype."""
        return [np.asarray(side.number, dtype).reshape(()) for side in self.sides]

    @property
    def is_line(self) -> bool:
        """Whether it is a multiple of x, which is 0 at 0: of the degree 1, with one factor below 0 and above."""
        if self.is_test:
            return False
        below, at, above = self.sides
        numbers = [np.all(side.number == n) for side, n in ((below, -above.number), (at, 0))]
        return below.degree == above.degree == above.number.size == 1 and bool(all(numbers))

    @property
    def is_told(self) -> bool:
        """Whether it is one number on each side of 0, between which that at 0 is not, and no test chooses that."""
        if self.is_test or not self.is_number:
            return False
        below, at, above = (side.number for side in self.sides)
        return not np.minimum(below, above) <= at <= np.maximum(below, above)

    def beside(self, dtype: np.dtype[Any]) -> AnyArray:
        """Return the mean of the numbers on both sides of 0."""
        below, _, above = self.numbers(dtype)
        return below / 2 + above / 2

    @property
    def is_number(self) -> bool:
        """Whether the value is one number for all x below 0, and one for all x above."""
        beside = self.sides[0], self.sides[2]
        return all(side.degree == 0 and side.number.size == 1 and side.number == side.number for side in beside)

    @property
    def is_odd(self) -> bool:
        """Whether the value is one number for all x above 0, and its negative below."""
        below, _, above = self.sides
        return self.is_number and bool(below.number == -above.number) and bool(above.number != 0)


class Jumps:
    """The jumps of the ops that were noted."""

    def __init__(self, made: Mapping[Var, Op]) -> None:
        self.made = made
        self.found: MutableMapping[Var, Jump] = {}

    def of(self, value: Value | None) -> Jump | None:
        """Return the value as a function of a sign; None if it is not known to be one."""
        return self.found.get(value) if isinstance(value, Var) else None

    def note(self, op: Op) -> None:
        """Look at an op after those that compute its inputs."""
        place = self._place(op)
        if place is None or len(op.outputs) != 1:
            return
        (out,) = op.outputs
        jump = self.of(op.inputs[0])
        if jump is not None and op.kind in VIEWS:
            if not jump.is_local:
                self.found[out] = replace(jump, place=out)
            return
        inputs = [self.sides(v, place) for v in op.inputs]
        known = [sides for sides in inputs if sides is not None]
        sides = _sides_of(op, known) if len(known) == len(inputs) else None
        if sides is not None:
            jumps = [jump for v in op.inputs if (jump := self.of(v)) is not None]
            is_local = op.kind in {"Ceil", "Floor"} or any(jump.is_local for jump in jumps)
            is_test = _is_test(op, sides) or (bool(jumps) and all(jump.is_test for jump in jumps))
            self.found[out] = Jump(jumps[0].argument if jumps else place, sides, place, is_local, is_test)

    def _place(self, op: Op) -> Value | None:
        for value in op.inputs:
            jump = self.of(value)
            if jump is not None:
                return jump.place
        row = traits(op.kind)
        if op.kind in {"Abs", "Ceil", "Floor", "IsNaN", "Reciprocal", "Sign"}:
            return op.inputs[0] if isinstance(op.inputs[0], Var) and op.inputs[0].type.is_float else None
        if row.compares and all(v is not None and v.type.is_float for v in op.inputs):
            return next((v for v, zero in (op.inputs, op.inputs[::-1]) if isinstance(v, Var) and _is_zero(zero)), None)
        return None

    def sides(self, value: Value | None, place: Value) -> Sides | None:
        """Return the sides of a value as a function of the number that jumps are of."""
        if isinstance(value, Const):
            return _constant(value)
        jump = self.of(value)
        if jump is None:
            sign = 1 if same_value(value, place, self.made) else 0
            sign = sign or (-1 if opposite_value(value, place, self.made) else 0)
            return self._argument_sides(place, sign) if sign else None
        if same_value(jump.place, place, self.made):
            return jump.sides
        return jump.sides[::-1] if opposite_value(jump.place, place, self.made) else None

    def product(self, values: Sequence[Var]) -> Jump | None:
        """Return the jump of a product of values that jump at the same place."""
        jumps = [self.found[value] for value in values]
        known = [sides for value in values if (sides := self.sides(value, jumps[0].place)) is not None]
        is_test = all(jump.is_test for jump in jumps)
        return replace(jumps[0], sides=reduce(times, known), is_test=is_test) if len(known) == len(jumps) else None

    def _argument_sides(self, argument: Value, sign: int) -> Sides:
        below = 1 if is_nonnegative(argument, self.made) else -1
        numbers = (np.asarray(sign * n, argument.type.dtype) for n in (below, 0, 1))
        first, at, last = (Side(number, 1) for number in numbers)
        return first, at, last


VIEWS = kinds_where(lambda t: t.keeps == "order") | {"Expand"}
"""Operators that give the same numbers another shape."""


def _is_zero(value: Value | None) -> bool:
    return isinstance(value, Const) and value.is_small and not value.is_weight and not np.any(value.numpy())


def _constant(value: Const) -> Sides | None:
    if not value.is_small or value.is_weight or value.type.shape != ():
        return None
    side = Side(value.numpy())
    return side, side, side


def _is_test(op: Op, sides: Sides) -> bool:
    """Whether the result of an op is a Boolean that is the same below 0 and above."""
    return op.outputs[0].type.dtype == np.bool_ and bool(np.all(sides[0].number == sides[2].number))


def times(one: Sides, other: Sides) -> Sides:
    """Return the sides of a product."""
    pairs = zip(one, other, strict=True)
    below, at, above = (Side(np.asarray(a.number * b.number), a.degree + b.degree) for a, b in pairs)
    return below, at, above


def _sides_of(op: Op, inputs: Sequence[Sides]) -> Sides | None:
    below, at, above = (_side_of(op, [sides[i] for sides in inputs]) for i in range(3))
    return None if below is None or at is None or above is None else (below, at, above)


def _side_of(op: Op, inputs: Sequence[Side]) -> Side | None:
    """Return the result of an op on one side."""
    if is_call(op):
        return _side_of_body(op, inputs)
    degree = _degree(op, inputs)
    numbers = [side.number for side in inputs]
    if degree is None:
        return None
    if op.kind in {"Ceil", "Floor"} and inputs[0].degree:
        return Side(np.asarray(_rounded(op.kind, inputs[0])))
    if op.kind == "Where":
        return inputs[1 if numbers[0] else 2]
    found = np.sign(numbers[0]) if op.kind == "Sign" else evaluate(op.kind, numbers, op.attributes)
    return None if found is None else Side(np.asarray(found), degree)


def _rounded(kind: str, side: Side) -> AnyArray:
    """Return the rounded value of a small number; of a large one, of a negative degree, there is none."""
    numbers = np.sign(side.number) if side.degree > 0 else np.full_like(side.number, np.nan)
    return np.minimum(numbers, 0) if kind == "Floor" else np.maximum(numbers, 0)


def _degree(op: Op, inputs: Sequence[Side]) -> int | None:
    """Return the degree of the result; None if there is none."""
    degrees = [side.degree for side in inputs]
    if op.kind == "Mul":
        return sum(degrees)
    if op.kind == "Div":
        return degrees[0] - degrees[1]
    if op.kind in {"Abs", "Neg"} or (op.kind == "Cast" and op.outputs[0].type.is_float):
        return degrees[0]
    if op.kind == "Reciprocal":
        return -degrees[0]
    if op.kind in {"Ceil", "Floor", "IsNaN", "Sign"}:
        return 0
    if traits(op.kind).compares:
        return 0 if _are_comparable(inputs) else None
    if op.kind == "Where":
        return 0
    return 0 if traits(op.kind).elementwise and not any(degrees) else None


def _are_comparable(inputs: Iterable[Side]) -> bool:
    """Whether numbers of one degree are compared, or others with 0."""
    return len({side.degree for side in inputs if np.any(side.number)}) < 2


def _side_of_body(call: Op, inputs: Sequence[Side]) -> Side | None:
    body = call.attributes["body"]
    if len(body.ops) > LONGEST_BODY or len(body.params) != len(inputs):
        return None
    known: dict[Value, Side] = dict(zip(body.params, inputs, strict=True))
    for op in body.ops:
        given = [known.get(v) or (_constant(v) or (None,))[0] if v is not None else None for v in op.inputs]
        sides = [side for side in given if side is not None]
        found = _side_of(op, sides) if len(sides) == len(given) and not op.blocks() and len(op.outputs) == 1 else None
        if found is None:
            return None
        known[op.outputs[0]] = found
    return known.get(body.results[0]) if len(body.results) == 1 else None
