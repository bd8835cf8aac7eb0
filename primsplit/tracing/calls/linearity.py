"""Prove that results are linear in cotangents, by reading the ops between them.

    Mul(dy, x)       linear in the cotangent dy
    Mul(dy, dy)      not linear: the op is named

Every value is zero or NaN, linear in the cotangents, independent of them, or a test of whether something linear is 0. A
test may only choose between values that are zero or linear. The first op that makes anything else from a linear value
is named.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from primsplit.ir import Block, Op, Value, Var
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ops.traits import traits
from primsplit.tracing.calls.homogeneity import FIXED, TEST, Power, powers

_NAMES: Mapping[Power, str] = {0.0: "free", 1.0: "linear", math.inf: "zero", TEST: "test"}
"""The dependence of a value on the cotangents, by the power with which it scales."""

Verdict = Literal["linear", "zero", "independent", "not linear", "not proven"]
"""Not proven is what an op makes that may be linear all the same: a choice between two ways to compute one thing."""


@dataclass(frozen=True, slots=True)
class Linearity:
    """The dependence of one result on the cotangents, and the ops that were checked for it.

    Of a result that is not linear, `broken` is the first op that is not known to be linear, and `why` a sentence. Where
    ops that read the cotangents choose between ways that are linear, `broken` is the first of these ops.
    """

    verdict: Verdict
    checked: tuple[Op, ...]
    tests: tuple[Op, ...] = ()
    broken: Op | None = None
    why: str = ""


class NotLinear(Exception):
    """An op that is not linear in the cotangents, or of which that is not known."""

    def __init__(self, op: Op, why: str, *, is_known: bool) -> None:
        super().__init__(why)
        self.op = op
        self.verdict: Verdict = "not linear" if is_known else "not proven"


class _Noted:
    """Notes the ops that read or make something that depends on the cotangents."""

    def __init__(self) -> None:
        self.ops: dict[Op, None] = {}

    def __call__(self, op: Op, inputs: Sequence[Power], outputs: Sequence[Power]) -> None:
        """Note an op."""
        if not {*inputs, *outputs} <= FIXED:
            self.ops[op] = None


class _Checked(_Noted):
    """Notes the ops that test for 0 what depends on the cotangents, too."""

    def __init__(self) -> None:
        super().__init__()
        self.tests: dict[Op, None] = {}

    def __call__(self, op: Op, inputs: Sequence[Power], outputs: Sequence[Power]) -> None:
        """Note an op. Raises NotLinear for one whose results are none of the four kinds."""
        super().__call__(op, inputs, outputs)
        if traits(op.kind).compares and not {*inputs} <= FIXED:
            self.tests[op] = None
        if not _NAMES.keys() >= {*outputs}:
            known = ", ".join(_NAMES[p] for p in inputs)
            told = f"{op.kind} is not linear in the cotangent, or not known to be: inputs are {known}"
            raise NotLinear(op, told, is_known=None not in outputs)


def _is_choice(op: Op) -> bool:
    """Whether an op makes integers or a condition, by which other ops may choose, and no sizes."""
    return not op.outputs[0].type.is_float and not op.blocks() and op.kind not in SHAPES


def linearity(ops: Sequence[Op], cotangents: Sequence[Var], result: Value) -> Linearity:
    """Return the dependence of a result of ops on all the cotangents together.

    If a proof for all cotangents fails at a quotient whose divisor is chosen by tests of zeros, `tests` are the ops
    that test: the result is then linear in all cotangents for which no tested value is 0 by chance.
    """
    found = _linearity(ops, cotangents, result, tests_are_fixed=False)
    if found.verdict not in {"not linear", "not proven"}:
        return found
    apart = _linearity(ops, cotangents, result, tests_are_fixed=True)
    return apart if apart.verdict == "linear" else _in_each_way(ops, cotangents, result) or found


def _in_each_way(ops: Sequence[Op], cotangents: Sequence[Var], result: Value) -> Linearity | None:
    """Return the verdict on a result that is linear while its comparisons and integers stay as they are; else None."""
    check = _Noted()
    (power,) = powers(ops, cotangents, [result], check=check, choices_are_fixed=True)
    first = next(filter(_is_choice, check.ops), None)
    if power != 1.0 or first is None:
        return None
    why = (
        f"{first.kind} reads the cotangent and chooses between ways to compute this. Each way is linear; that all give "
        "the same is not proven"
    )
    return Linearity("not proven", tuple(check.ops), (), first, why)


def _linearity(ops: Sequence[Op], cotangents: Sequence[Var], result: Value, *, tests_are_fixed: bool) -> Linearity:
    check = _Checked()
    try:
        (power,) = powers(ops, cotangents, [result], check=check, tests_are_fixed=tests_are_fixed)
    except NotLinear as error:
        return Linearity(error.verdict, tuple(check.ops), (), error.op, str(error))
    tests = tuple(check.tests) if tests_are_fixed else ()
    if power in {0.0, TEST}:
        return Linearity("independent", tuple(check.ops), tests, None, "does not depend on the incoming cotangents")
    return Linearity("zero" if power == math.inf else "linear", tuple(check.ops), tests)


def explain_nonlinearity(block: Block, cotangents: Sequence[Var]) -> str:
    """Return a text on the first op of a pullback that is not known to be linear in the cotangents; "" if all are."""
    try:
        found = powers(block.ops, cotangents, block.results, check=_Checked())
    except NotLinear as error:
        return str(error)
    for position, power in enumerate(found):
        if power in {0.0, TEST}:
            return f"cotangent {position} does not depend on the incoming cotangents, and is no zero"
    return ""
