"""Check that a rule's inner function is linear: scaling its argument by t scales its result by t, not by t**0 or t**2.

A pullback may clip its cotangent; reverse mode then does what it says. But one that ignores the cotangent, adds
something to it, or multiplies it with itself, is no derivative of anything.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call, reads
from primsplit.ir.analysis.carries import lead_and_carries, settled
from primsplit.ir.analysis.dependence import SHAPES

Power = float | None
"""The n of a result that is scaled by t**n when the argument is scaled by t: 1 for the argument itself, 0 for what does

not depend on it, infinity for zero; None if unknown.
"""
PARTLY = -1.0
"""Marks a result that does not depend on the argument in some of its elements or loop steps, or has such a term."""

ALL_ELEMENTS = frozenset({
    "Cast", "CastLike", "Expand", "Flatten", "Identity", "Neg", "ReduceMean", "ReduceSum", "Reshape", "Squeeze", "Tile",
    "Transpose", "Unsqueeze",
})  # fmt: skip
"""Linear in their first input, all of whose elements reach the result."""
SOME_ELEMENTS = frozenset({
    "AveragePool", "CenterCropPad", "Col2Im", "Compress", "CumSum", "DFT", "DepthToSpace", "Gather", "GatherElements",
    "GatherND", "GlobalAveragePool", "GridSample", "ReverseSequence", "STFT", "Slice", "SpaceToDepth", "Split", "Trilu",
})  # fmt: skip
"""Linear in their first input, of which some elements may not reach the result."""
SUMS = frozenset({"Add", "Sub", "Sum", "Concat", "Mean"})
PRODUCTS = frozenset({"Mul", "MatMul", "Einsum"})
ZERO_AT_ZERO = frozenset({
    "Abs", "Asin", "Atan", "Ceil", "Erf", "Floor", "Relu", "Round", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh",
})  # fmt: skip
ONE_AT_ZERO = frozenset({"Cos", "Cosh", "Exp"})


def powers(ops: Iterable[Op], given: Iterable[Var], results: Iterable[Value]) -> list[Power]:
    """Return the powers of results of ops in the given Vars; None for terms that may cancel."""
    known: dict[Var, Power] = dict.fromkeys(given, 1.0)
    _walk(ops, known)
    return [_power(r, known) for r in results]


def _walk(ops: Iterable[Op], known: dict[Var, Power]) -> None:
    for op in ops:
        if is_call(op):
            here = {p: _power(v, known) for p, v in zip(op.attributes["body"].params, op.inputs, strict=True)}
            found = _inside(op.attributes["body"], here)
        elif op.kind in {"Loop", "Scan"}:
            found = _turns(op, known)
        elif op.kind == "If" and _power(op.inputs[0], known) == 0:
            found = list(map(_either, *(_inside(block, known) for block in op.blocks())))
        else:
            found = [_of_op(op, known)] * len(op.outputs)
        known.update(zip(op.outputs, found, strict=True))


def _turns(op: Op, known: dict[Var, Power]) -> list[Power]:
    """Return the powers of a loop's outputs; None for all if the argument decides when it ends."""
    (body,) = op.blocks()
    given = [_power(v, known) for v in op.inputs]

    def step(params: Sequence[Power]) -> list[Power]:
        return _inside(body, {**known, **dict(zip(body.params, params, strict=True))})

    ends, outputs = settled(op, given, 0.0, step, _either)
    lead, _ = lead_and_carries(op)
    return outputs if {*given[:lead], *ends} <= {0.0, math.inf} else [None] * len(outputs)


def _inside(block: Block, known: dict[Var, Power]) -> list[Power]:
    here = dict(known)
    _walk(block.ops, here)
    return [_power(r, here) for r in block.results]


def _power(value: Value | None, known: dict[Var, Power]) -> Power:
    if isinstance(value, Const):
        return _of_number(value.numpy()) if value.is_small else None
    return math.inf if value is None else known.get(value, 0.0)


def _of_number(number: object) -> Power:
    return 0.0 if np.any(np.asarray(number)) else math.inf


def _of_op(op: Op, known: dict[Var, Power]) -> Power:
    if op.kind in SHAPES:
        return 0.0
    if op.kind == "ConstantOfShape":
        return _of_number(op.attributes.get("value", 0.0))
    if op.kind == "Sub" and op.inputs[0] is op.inputs[1]:
        return math.inf
    inputs = [_power(v, known) for v in op.inputs]
    rule = _RULES.get(op.kind)
    if not op.outputs[0].type.is_float or rule is None:
        is_free = all(known.get(v, 0.0) == 0 for v in reads(op))
        return 0.0 if is_free and 0.0 in inputs else None
    return rule(inputs)


def _all(inputs: Sequence[Power]) -> Power:
    return inputs[0] if all(p in {0.0, math.inf} for p in inputs[1:]) else None


def _some(inputs: Sequence[Power]) -> Power:
    return None if inputs[0] == PARTLY else _all(inputs)


def _sum(inputs: Sequence[Power]) -> Power:
    terms = {p for p in inputs if p != math.inf}
    if len(terms) < 2:
        return terms.pop() if terms else math.inf
    return None if None in terms or terms.isdisjoint({0.0, PARTLY}) else PARTLY


def _product(inputs: Sequence[Power]) -> Power:
    if math.inf in inputs:
        return math.inf
    return None if None in inputs or PARTLY in inputs else sum(p for p in inputs if p is not None)


def _gemm(inputs: Sequence[Power]) -> Power:
    return _sum([_product(inputs[:2]), *inputs[2:]])


def _quotient(inputs: Sequence[Power]) -> Power:
    return inputs[0] if inputs[1] == 0 else None


def _zero_at_zero(inputs: Sequence[Power]) -> Power:
    return inputs[0] if inputs[0] in {0.0, math.inf} else None


def _one_at_zero(inputs: Sequence[Power]) -> Power:
    return None if inputs[0] in {None, PARTLY} else 0.0


def _either(one: Power, other: Power) -> Power:
    """Return the power of what is one value or the other; zero on one side does not contradict the other."""
    powers = {one, other} - {math.inf}
    if len(powers) < 2:
        return powers.pop() if powers else math.inf
    return PARTLY if PARTLY in powers and None not in powers else None


def _where(inputs: Sequence[Power]) -> Power:
    return _either(inputs[1], inputs[2]) if inputs[0] == 0 else None


def _scattered(inputs: Sequence[Power]) -> Power:
    return _either(inputs[0], inputs[2])


def _padded(inputs: Sequence[Power]) -> Power:
    return _either(inputs[0], inputs[2] if len(inputs) > 2 else math.inf)


_RULES: dict[str, Callable[[Sequence[Power]], Power]] = {
    **dict.fromkeys(ALL_ELEMENTS, _all),
    **dict.fromkeys(SOME_ELEMENTS, _some),
    **dict.fromkeys(SUMS, _sum),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys(ZERO_AT_ZERO, _zero_at_zero),
    **dict.fromkeys(ONE_AT_ZERO, _one_at_zero),
    "Div": _quotient,
    "Gemm": _gemm,
    "Pad": _padded,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "Where": _where,
}
