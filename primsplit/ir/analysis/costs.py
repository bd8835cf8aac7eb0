"""What it costs to compute an element, beside what it costs to keep it: one table for every decision between the two.

The costs are relative ones of an element, as loop vectorizers tell them: an addition is as long as a load. An operator
that the table does not have is never cheap: products, reductions, convolutions, calls with a body of their own, loops.
"""

import math
from collections.abc import Mapping

LOAD = 0.5
STORE = 1.0
THRESHOLD = 3 * (LOAD + STORE)
"""What costs less than this is computed again rather than kept: the store, the load, and memory that others want."""

_ARITHMETIC = 0.5
_COMPARISON = 1.0
_EXP = 13.0
_LOG = 15.0
_DIVISION = 4.0

_KINDS: tuple[tuple[float, str], ...] = (
    (0.0, "Identity Reshape Squeeze Unsqueeze Flatten Shape Size"),
    (LOAD, "Cast CastLike Transpose Slice Split Concat Expand Tile Pad Gather ConstantOfShape Range EyeLike Trilu"),
    (_ARITHMETIC, "Add Sub Mul Neg Abs Max Min Sum Mean Relu Where Floor Ceil Round And Or Xor Not"),
    (_ARITHMETIC, "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift"),
    (_COMPARISON, "Equal Less LessOrEqual Greater GreaterOrEqual Sign IsNaN IsInf Clip"),
    (_COMPARISON + _ARITHMETIC, "LeakyRelu PRelu ThresholdedRelu"),
    (_DIVISION, "Div Reciprocal Sqrt"),
    (_EXP, "Exp"),
    (_LOG, "Log call::log1p"),
    (_EXP + _DIVISION, "Sigmoid"),
    (30.0, "Sin Cos call::expm1"),
    (80.0, "Tanh"),
    (200.0, "Pow"),
)

COSTS: Mapping[str, float] = {kind: number for number, kinds in _KINDS for kind in kinds.split()}
"""The cost of one element of an operator's result, by the operator's kind."""


def cost(kind: str, costs: Mapping[str, float] = COSTS) -> float:
    """The cost of one element of what this kind of op makes; infinite where the table does not have it."""
    return costs.get(kind, math.inf)
