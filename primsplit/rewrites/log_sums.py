"""Merge logarithms in sums of `log1p(x)` over many numbers that are at least 0: a sixteenth of them remains.

`log1p(a) + log1p(b)` is `log1p(a + b (1 + a))`, whose terms all have one sign, so that it is as accurate as the sum:
four halvings of an array leave a sixteenth of it. A logarithm takes onnxruntime as long as ten products. If the
products overflow, an If takes each logarithm by itself. Log densities of Student's or Cauchy's errors are such sums,
and those of logistic regressions, whose other terms are summed by themselves.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from primsplit.ir import Block, Op, Value
from primsplit.numpy.approximations.exponential import log1p
from primsplit.ops import op
from primsplit.rewrites.rewriting import literal_shape, reduced_axes
from primsplit.rewrites.signs import is_nonnegative
from primsplit.rewrites.uses import LookingUp, Ops, is_number
from primsplit.tracing.array import Array
from primsplit.tracing.regions import emit_if, record

MANY = 2**14
"""The length from which on the saved logarithms take longer than the ops that are added."""
HALVINGS = 4
"""The number of times that two halves are merged."""
DEPTH = 4
"""The greatest depth at which the logarithms may be nested in sums and differences."""
REDUCTIONS = frozenset({"ReduceSum", "ReduceMean"})


def join_logarithms(block: Block) -> Block:
    """Return the block with such sums and means over all of an array of a literal shape; itself if there are none.

    They may differ in the last digits.
    """
    if "Log" not in block.kinds:
        return block
    return _Joining().run_and_drop(block)


class _Joining(LookingUp):
    """The walk."""

    kinds = REDUCTIONS

    def visit(self, op: Op) -> Op | None:
        """Return the sum; None if its replacement has been written."""
        found = _found(op, self.ops) if op.kind in REDUCTIONS else None
        if found is None:
            return super().visit(op)
        self.replace_by(op, lambda: [found.summed(op).value])
        return None


@dataclass(frozen=True, slots=True)
class _Found:
    """The x of logarithms log1p(x) in a sum, and the sums and differences around them, from the sum inwards.

    Each comes with the position of the operand that contains them.
    """

    x: Value
    around: tuple[tuple[Op, int], ...] = ()

    def summed(self, reduction: Op) -> Array:
        """Return the sum or mean of all of it."""
        total, rest, is_positive = _summed(Array(self.x), reduction), None, True
        for step, position in reversed(self.around):
            other = step.inputs[1 - position]
            assert other is not None
            rest = _without(step.kind, position, Array(other), rest)
            is_positive = is_positive != (step.kind == "Sub" and position == 1)
        if rest is None:
            return total
        axes = [Array(v) for v in reduction.inputs[1:] if v is not None]
        others: Array = getattr(op, reduction.kind)(rest, *axes, **reduction.attributes)
        return others + total if is_positive else others - total


def _without(kind: str, position: int, other: Array, rest: Array | None) -> Array:
    """Return a sum or difference whose operand at a position is replaced by `rest`, or removed."""
    if rest is None:
        return op.Neg(other) if kind == "Sub" and position == 0 else other
    one, two = (rest, other) if position == 0 else (other, rest)
    return one - two if kind == "Sub" else one + two


def _found(reduction: Op, seen: Ops) -> _Found | None:
    """Return the logarithms in a sum over all axes, if they are of many numbers that are at least 0; else None."""
    source = reduction.inputs[0]
    shape = None if source is None else literal_shape(source.type)
    if source is None or shape is None or math.prod(shape) < MANY:
        return None
    if reduced_axes(reduction, len(shape)) != frozenset(range(len(shape))):
        return None
    if source.type.dtype not in (np.float32, np.float64):
        return None  # others have no kernel for all of this
    found = _term(source, seen, DEPTH)
    if found is None or not is_nonnegative(found.x, seen.made_by):
        return None
    terms = [found.x, *(v for step, _ in found.around for v in step.inputs if v is not None)]
    return found if all(literal_shape(v.type) == shape for v in terms) else None


def _term(value: Value | None, seen: Ops, depth: int) -> _Found | None:
    """Return the logarithms that a value is, adds or subtracts, if nothing else reads it."""
    x = _log1p_of(value, seen)
    if x is not None:
        return _Found(x)
    step = (seen.op(value, "Add") or seen.op(value, "Sub")) if depth else None
    for position, operand in enumerate(() if step is None else step.inputs):
        found = _term(operand, seen, depth - 1)
        if step is not None and found is not None:
            return replace(found, around=((step, position), *found.around))
    return None


def _log1p_of(value: Value | None, seen: Ops) -> Value | None:
    """Return the x of `numpy.approximations.exponential.log1p`, inlined, if nothing else reads the logarithms."""
    corrected = seen.op(value, "Sub")
    negated = corrected and seen.op(corrected.inputs[1], "Sub")
    log = negated and is_number(negated.inputs[0], 0.0) and seen.op(negated.inputs[1], "Log")
    if not corrected or not log:
        return None
    lost, w = seen.maker(corrected.inputs[0], "Div"), seen.maker(log.inputs[0], "Add")
    missing = lost and seen.maker(lost.inputs[0], "Sub")
    if w is None or not missing or not is_number(w.inputs[1], 1.0) or missing.inputs[0] is not w.inputs[0]:
        return None
    return w.inputs[0]


def _summed(x: Array, reduction: Op) -> Array:
    """Return the sum or mean of log1p(x)."""
    count = math.prod(literal_shape(x.value.type) or ())
    flat = op.Reshape(x, [-1]) if x.ndim != 1 else x
    joined = _joined(flat, count)
    condition = op.Less(op.ReduceMax(joined, keepdims=0), np.asarray(math.inf, x.dtype))
    then = record("joined", [], lambda: [op.ReduceSum(log1p(joined), keepdims=0).value])
    otherwise = record("one_by_one", [], lambda: [op.ReduceSum(log1p(flat), keepdims=0).value])
    total = Array(emit_if(condition.value, then, otherwise)[0])
    if reduction.kind == "ReduceMean":
        total = total / float(count)
    shape = literal_shape(reduction.outputs[0].type)
    return op.Reshape(total, list(shape)) if shape else total


def _joined(x: Array, count: int) -> Array:
    """Return a sixteenth as many numbers, whose log1p has the same sum if they are finite."""
    left = []
    for _ in range(HALVINGS):
        half, odd = divmod(count, 2)
        one, other, *rest = op.Split(x, [half, half, *[1] * odd], axis=0)
        x, count = one + other * (one + 1.0), half
        left += rest
    return op.Concat(x, *left, axis=0) if left else x
