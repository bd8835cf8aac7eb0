"""Checks that a pullback is linear in its cotangents, by reading its ops.

    Mul(dy, x)       linear in the cotangent dy
    Mul(dy, dy)      not linear: named in the error

Every value is zero or NaN, linear in the cotangents, independent of them, or a test of whether something linear is 0. A
test may only choose between values that are zero or linear. The first op that makes anything else from a linear value
is named.
"""

import math
from collections.abc import Mapping, Sequence

from primsplit.ir import Block, Op, Var
from primsplit.tracing.calls.homogeneity import TEST, Power, powers

_NAMES: Mapping[Power, str] = {0.0: "free", 1.0: "linear", math.inf: "zero", TEST: "test"}
"""The dependence of a value on the cotangents, by the power with which it scales."""


class NotLinear(Exception):
    """An op that is not linear in the cotangents."""


def explain_nonlinearity(block: Block, cotangents: Sequence[Var]) -> str:
    """Return a text on the first op of a pullback that is not known to be linear in the cotangents; "" if all are."""
    try:
        found = powers(block.ops, cotangents, block.results, check=_check)
    except NotLinear as error:
        return str(error)
    for position, power in enumerate(found):
        if power in {0.0, TEST}:
            return f"cotangent {position} does not depend on the incoming cotangents, and is no zero"
    return ""


def _check(op: Op, inputs: Sequence[Power], outputs: Sequence[Power]) -> None:
    """Raise NotLinear for an op whose results are none of the four kinds."""
    if not _NAMES.keys() >= {*outputs}:
        known = ", ".join(_NAMES[p] for p in inputs)
        raise NotLinear(f"{op.kind} is not linear in the cotangent, or not known to be: inputs are {known}")
