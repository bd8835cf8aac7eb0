"""Relative cost of computing one element, against keeping it: one table for all decisions to recompute or to store.

The unit is that of loop vectorizers: an addition costs as much as a load. An operator that the table lacks is never
cheap: products, reductions, convolutions, calls with a body, loops.
"""

import math
from collections.abc import Mapping

LOAD = 0.5
STORE = 1.0
THRESHOLD = 3 * (LOAD + STORE)
"""A value that costs less than this is computed again: keeping it would store and load it, and take up memory."""

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
"""No trait: times of kernels on processors, which the standard does not tell."""

COSTS: Mapping[str, float] = {kind: number for number, kinds in _KINDS for kind in kinds.split()}
"""The cost of one element of an operator's result, by the operator's kind."""


def cost(kind: str, costs: Mapping[str, float] = COSTS) -> float:
    """Return the cost of one element of the result of an op of this kind; infinity where the table lacks the kind."""
    return costs.get(kind, math.inf)
