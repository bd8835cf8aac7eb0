"""Sums of many `log1p(x)` of numbers that are never negative, with a sixteenth of the logarithms.

`log1p(a) + log1p(b)` is `log1p(a + b (1 + a))`, of which all terms have one sign, so that it is as accurate as the sum:
four halvings of an array leave a sixteenth of it. A logarithm takes onnxruntime as long as ten products. Where the
products overflow, an If takes each logarithm by itself. Log densities of Student's or Cauchy's errors are such sums.
"""

import math

import numpy as np

from primsplit.analysis.signs import is_nonnegative
from primsplit.array import Array
from primsplit.ir import Block, Op, Value
from primsplit.nested import emit_if, record
from primsplit.ops import op
from primsplit.passes.compositions.exponential import log1p
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.lookup import LookingUp, Ops, is_number
from primsplit.passes.rewriting import integers, literal_shape, recorded_beside

MANY = 2**14
"""Numbers from which on the logarithms that are saved take longer than the ops that are added."""
HALVINGS = 4
"""How often two halves become one."""
REDUCTIONS = frozenset({"ReduceSum", "ReduceMean"})


def join_logarithms(block: Block) -> Block:
    """The block with such sums and means over all of an array, of a literal shape; itself if there are none.

    They may differ in the last digits.
    """
    found = _Joining().run(block)
    return block if found is block else drop_dead_code(found)


class _Joining(LookingUp):
    """The walk."""

    kinds = REDUCTIONS

    def visit(self, op: Op) -> Op | None:
        """The sum, or none where what stands for it has been written."""
        x = _argument(op, self.ops) if op.kind in REDUCTIONS else None
        if x is None:
            return super().visit(op)
        with recorded_beside(op) as around:
            total = _summed(Array(x), math.prod(literal_shape(x.type) or ()), op).value
        self.kept.extend(around.ops)
        self.replaced[op.outputs[0]] = total
        return None


def _argument(reduction: Op, seen: Ops) -> Value | None:
    """The x of a sum of log1p(x) over all axes, where it is one of many numbers at least 0; else None."""
    source = reduction.inputs[0]
    shape = None if source is None else literal_shape(source.type)
    if source is None or shape is None or math.prod(shape) < MANY or not _is_over_all(reduction, len(shape)):
        return None
    if source.type.dtype not in (np.float32, np.float64):
        return None  # others have no kernel for all of this
    x = _log1p_of(source, seen)
    return x if x is not None and literal_shape(x.type) == shape and is_nonnegative(x, seen.made_by) else None


def _is_over_all(reduction: Op, rank: int) -> bool:
    told = integers(reduction.inputs[1]) if len(reduction.inputs) > 1 and reduction.inputs[1] is not None else ()
    if told is None or (not told and reduction.attributes.get("noop_with_empty_axes", 0)):
        return False
    return not told or {axis % rank for axis in told} == set(range(rank))


def _log1p_of(value: Value | None, seen: Ops) -> Value | None:
    """The x of `compositions.exponential.log1p` written out, where nothing else reads the logarithms."""
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


def _summed(x: Array, count: int, reduction: Op) -> Array:
    """What a sum or mean of log1p(x) gives."""
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
    """Numbers a sixteenth as many whose log1p has the same sum, if they are finite."""
    left = []
    for _ in range(HALVINGS):
        half, odd = divmod(count, 2)
        one, other, *rest = op.Split(x, [half, half, *[1] * odd], axis=0)
        x, count = one + other * (one + 1.0), half
        left += rest
    return op.Concat(x, *left, axis=0) if left else x
