"""Find how the results of ops scale with an argument: by t**n where that is scaled by t.

A pullback that is linear scales its cotangent's results by t. One that ignores the cotangent, adds something to it, or
multiplies it with itself, is no derivative of anything:

    dx = Mul(dy, x)       1
    dx = Mul(dy, dy)      2
    dx = Add(dy, x)       PARTLY: a term of it is not scaled
    dx = Sin(dy)          None: unknown
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call, reads
from primsplit.ir.analysis.carries import lead_and_carries, settled
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ops.traits import Terms, moved_inputs, terms_of, traits

Power = float | None
"""The n of a result that is scaled by t**n when the argument is scaled by t: 1 for the argument itself, 0 for what does
not depend on it, infinity for zero; None if unknown."""
PARTLY = -1.0
"""The power of a result of which some elements, some steps of a loop or a term do not depend on the argument."""
TEST = -2.0
"""The power of a test of whether something that depends on the argument is 0, and of what only such tests decide."""
FIXED = frozenset({0.0, math.inf})
Check = Callable[[Op, Sequence[Power], Sequence[Power]], None]
"""Is called with each op, the powers of its inputs and those of its outputs."""


def powers(
    ops: Iterable[Op],
    given: Iterable[Var],
    results: Iterable[Value],
    *,
    check: Check | None = None,
    tests_are_fixed: bool = False,
    choices_are_fixed: bool = False,
) -> list[Power]:
    """Return the powers of results of ops in what is given. Terms of equal power are taken not to cancel.

    A function that is not 0 where the argument is counts as what does not depend on it: exp(t) near 1. With `check` it
    does not, and unknown functions of zeros do: that tells whether results are linear, not only how small they get.
    With `tests_are_fixed` a test of whether something that depends on the argument is 0 counts as what does not depend
    on it: all arguments for which no such value is 0 by chance give the same answers. With `choices_are_fixed` every
    comparison and every integer counts as that: the powers hold for all arguments for which these come out alike.
    """
    known: dict[Var, Power] = dict.fromkeys(given, 1.0)
    walk = _Walk(check, 0.0 if tests_are_fixed or choices_are_fixed else TEST, choices_are_fixed)
    walk.ops(ops, known)
    found = [walk.power(r, known) for r in results]
    return found if check is not None else [None if p == TEST else p for p in found]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The walk over ops and the blocks inside of them."""

    check: Check | None
    test: Power = TEST
    choices_are_fixed: bool = False

    def ops(self, ops: Iterable[Op], known: dict[Var, Power]) -> None:
        """Note the powers of what the ops make."""
        for op in ops:
            inputs = [self.power(v, known) for v in op.inputs]
            found = self.of_op(op, inputs, known)
            if self.check is not None:
                self.check(op, inputs, found)
            known.update(zip(op.outputs, found, strict=True))

    def of_op(self, op: Op, inputs: Sequence[Power], known: dict[Var, Power]) -> list[Power]:
        """Return the powers of an op's outputs."""
        if is_call(op):
            body: Block = op.attributes["body"]
            return self.inside(body, dict(zip(body.params, inputs, strict=True)))
        if op.kind in {"Loop", "Scan"}:
            return self.turns(op, inputs, known)
        if op.kind == "If" and inputs[0] in FIXED | {TEST}:
            return list(map(_either, *(self.inside(block, known) for block in op.blocks())))
        found = self.of_first(op, inputs, known)
        others = found if moved_inputs(op) or not op.outputs[0].type.is_float or found is None else 0.0
        return [found, *[others] * (len(op.outputs) - 1)]

    def turns(self, op: Op, inputs: Sequence[Power], known: dict[Var, Power]) -> list[Power]:
        """Return the powers of a loop's outputs; None for all where they tell when it ends."""
        (body,) = op.blocks()

        def step(params: Sequence[Power]) -> list[Power]:
            return self.inside(body, {**known, **dict(zip(body.params, params, strict=True))})

        ends, found = settled(op, list(inputs), 0.0, step, _either)
        lead, _ = lead_and_carries(op)
        return found if {*inputs[:lead], *ends} <= FIXED | {TEST} else [None] * len(found)

    def inside(self, block: Block, known: dict[Var, Power]) -> list[Power]:
        """Return the powers of a block's results."""
        here = dict(known)
        self.ops(block.ops, here)
        return [self.power(r, here) for r in block.results]

    def power(self, value: Value | None, known: dict[Var, Power]) -> Power:
        """Return the power of a value. Whether a large constant is zero is looked up with `check` alone."""
        if isinstance(value, Const):
            if value.is_weight:
                return None if self.check is None else 0.0
            return self.of_number(value.numpy()) if value.is_small or self.check is not None else None
        return math.inf if value is None else known.get(value, 0.0)

    def of_first(self, op: Op, inputs: Sequence[Power], known: dict[Var, Power]) -> Power:
        """Return the power of the first output of an op without blocks to look into."""
        if op.kind in SHAPES or (self.choices_are_fixed and not op.outputs[0].type.is_float):
            return 0.0
        if op.kind == "ConstantOfShape":
            return self.of_number(op.attributes.get("value", 0.0))
        if op.kind == "Sub" and op.inputs[0] is op.inputs[1]:
            return math.inf
        if op.kind == "Equal" and math.inf in inputs and any(p is not None and 0.0 < p < math.inf for p in inputs):
            return self.test
        if TEST in inputs and {*inputs} <= FIXED | {TEST}:
            return math.inf if op.kind == "Where" and {*inputs[1:]} == {math.inf} else TEST
        sums, at_zero = terms_of(op), traits(op.kind).at_zero
        if op.outputs[0].type.is_float and sums:
            return _of_terms(op, sums, inputs)
        if op.outputs[0].type.is_float and at_zero is not None:
            return self.of_function(at_zero, inputs[0])
        read = {known.get(v, 0.0) for v in reads(op)}
        if self.check is not None:
            return 0.0 if read <= FIXED else None
        return 0.0 if read <= {0.0} and 0.0 in inputs else None

    def of_number(self, number: object) -> Power:
        """Return the power of a constant. NaN is no zero, but a pullback that gives NaN may still be linear."""
        array = np.asarray(number)
        is_float = array.dtype.kind == "f" and self.check is not None
        return 0.0 if np.any(array[~np.isnan(array)] if is_float else array) else math.inf

    def of_function(self, at_zero: float, power: Power) -> Power:
        """Return the power of a function of one number with this value at 0."""
        if power == math.inf:
            return math.inf if at_zero == 0.0 else 0.0
        if power == 0.0:
            return 0.0
        is_near = self.check is None and power is not None and power > 0.0 and at_zero != 0.0
        return 0.0 if is_near else None


def _of_terms(op: Op, sums: Terms, inputs: Sequence[Power]) -> Power:
    """Return the power of a sum of products of inputs; what chooses between terms may test the argument."""
    row, there = traits(op.kind), [v is not None for v in op.inputs]
    factors = {i for term in sums for i in term}
    fixed = FIXED | {TEST} if row.elementwise and row.moves else FIXED
    if not all(p in fixed for i, p in enumerate(inputs) if i not in factors):
        return None
    if sums == ((0,),):
        has_all = row.elementwise or row.keeps or row.reduces
        return inputs[0] if has_all or inputs[0] != PARTLY else None
    products = [
        _product([inputs[i] for i in term if i < len(inputs) and there[i]])
        for term in sums
        if any(i < len(inputs) and there[i] for i in term)
    ]
    if row.moves == "all" or not moved_inputs(op):
        return _sum(products)
    return functools.reduce(_either, products)


def _sum(inputs: Sequence[Power]) -> Power:
    terms = {p for p in inputs if p != math.inf}
    if len(terms) < 2:
        return terms.pop() if terms else math.inf
    return None if None in terms or terms.isdisjoint({0.0, PARTLY}) else PARTLY


def _product(inputs: Sequence[Power]) -> Power:
    if len(inputs) == 1:
        return inputs[0]
    if math.inf in inputs:
        return math.inf
    return None if {None, PARTLY, TEST} & {*inputs} else sum(p for p in inputs if p is not None)


def _either(one: Power, other: Power) -> Power:
    """Return the power of a value that is one of two: a 0 fits any power of the other."""
    powers = {one, other} - {math.inf}
    if len(powers) < 2:
        return powers.pop() if powers else math.inf
    return PARTLY if PARTLY in powers and None not in powers else None
