"""Find the ranges of comparisons, of logic, and of choices by a condition.

```
x in [0, 1], y in [2, 3]                 x < y: true
x in [-1, 2], Where(x > 0, x, 1)         more than 0
y in [-1, 1], Where(y == 0, 1, y)        not 0
```
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import At
from primsplit.audit.intervals.ranges import Level, Range, limits
from primsplit.ir import AnyArray, Const, Op, Value


def truth(at: At, always: AnyArray, never: AnyArray) -> Range:
    """Return the range of bools that are true, or false, for certain."""
    is_nan = any(r is not None and r.nan for r in at.inputs)
    sure = always & (not is_nan) if at.op.kind != "Not" else always
    return Range(np.where(sure, 1.0, 0.0), np.where(never, 0.0, 1.0), at.dtype, at.shape)


def less(at: At) -> Range:
    """Return the range of x < y."""
    x, y = at.take(0), at.take(1)
    return truth(at, x.high < y.low, x.low >= y.high)


def less_or_equal(at: At) -> Range:
    """Return the range of x <= y."""
    x, y = at.take(0), at.take(1)
    return truth(at, x.high <= y.low, x.low > y.high)


def greater(at: At) -> Range:
    """Return the range of x > y."""
    x, y = at.take(0), at.take(1)
    return truth(at, x.low > y.high, x.high <= y.low)


def greater_or_equal(at: At) -> Range:
    """Return the range of x >= y."""
    x, y = at.take(0), at.take(1)
    return truth(at, x.low >= y.high, x.high < y.low)


def equal(at: At) -> Range:
    """Return the range of x == y."""
    x, y = at.take(0), at.take(1)
    if x.dtype.kind not in "iubf" or y.dtype.kind not in "iubf":
        return Range(np.zeros(()), np.ones(()), at.dtype, at.shape)
    alike = (x.low == x.high) & (y.low == y.high) & (x.low == y.low) & np.isfinite(x.low)
    apart = (x.high < y.low) | (y.high < x.low) | (is_zero(y) & x.nonzero) | (is_zero(x) & y.nonzero)
    return truth(at, alike, apart)


def is_zero(x: Range) -> AnyArray:
    """Whether each element is 0 for certain."""
    return np.asarray((x.low == 0) & (x.high == 0))


def negation(at: At) -> Range:
    """Return the range of a negated bool."""
    x = at.take(0)
    return Range(1 - x.high, 1 - x.low, at.dtype, at.shape)


def both(at: At) -> Range:
    """Return the range of x and y."""
    x, y = at.take(0), at.take(1)
    return Range(np.minimum(x.low, y.low), np.minimum(x.high, y.high), at.dtype, at.shape)


def one_of(at: At) -> Range:
    """Return the range of x or y."""
    x, y = at.take(0), at.take(1)
    return Range(np.maximum(x.low, y.low), np.maximum(x.high, y.high), at.dtype, at.shape)


def bitwise_and(at: At) -> Range:
    """Return the range of the common bits of two integers: of one that is not negative at most that one."""
    x, y = at.take(0), at.take(1)
    mosts = [np.where(r.low >= 0, r.high, np.inf) for r in (x, y)]
    most = np.minimum(*mosts)
    least, largest = limits(at.dtype)
    low = np.where(np.isfinite(most), 0.0, least)
    return Range(low, np.where(np.isfinite(most), most, largest), at.dtype, at.shape)


def any_bool(at: At) -> Range:
    """Return the range of a bool."""
    return Range(np.zeros(()), np.ones(()), at.dtype, at.shape)


def is_nan(at: At) -> Range:
    """Return the range of IsNaN: false if NaN cannot be."""
    return Range(np.zeros(()), np.asarray(float(at.take(0).nan > 0)), at.dtype, at.shape)


def is_inf(at: At) -> Range:
    """Return the range of IsInf: false if infinity cannot be."""
    return Range(np.zeros(()), np.asarray(float(at.take(0).inf > 0)), at.dtype, at.shape)


def where(at: At) -> Range:
    """Return the range of a choice; a value that a comparison of itself chooses is narrower."""
    condition, value = at.take(0), at.op.inputs[0]
    one = chosen(at, at.take(1), at.op.inputs[1], value, is_true=True)
    other = chosen(at, at.take(2), at.op.inputs[2], value, is_true=False)
    sure, never = condition.low > 0, condition.high < 1
    if bool(np.all(sure)) or bool(np.all(never)):
        return replace(one if bool(np.all(sure)) else other, dtype=at.dtype, shape=at.shape, value=None, attains=None)
    low = np.where(sure, one.low, np.where(never, other.low, np.minimum(one.low, other.low)))
    high = np.where(sure, one.high, np.where(never, other.high, np.maximum(one.high, other.high)))
    nonzero = one.nonzero and other.nonzero
    return one.like(low, high, other, dtype=at.dtype, shape=at.shape, nonzero=nonzero)


def chosen(at: At, side: Range, value: Value | None, condition: Value | None, *, is_true: bool) -> Range:
    """Return the range of a value where a condition is true, or false, if the condition compares that value."""
    maker = at.maker(condition)
    while maker is not None and maker.kind == "Not":
        maker, is_true = at.maker(maker.inputs[0]), not is_true
    if maker is None or value is None or len(maker.inputs) != 2 or value not in maker.inputs:
        return side
    position = maker.inputs.index(value)
    other = maker.inputs[1 - position]
    number = other.number if isinstance(other, Const) else None
    if number is None or np.isnan(number):
        return side
    return _narrowed(side, maker, float(number), is_first=position == 0, is_true=is_true)


def _narrowed(side: Range, maker: Op, number: float, *, is_first: bool, is_true: bool) -> Range:
    """Return a range cut at a number that a value was compared with."""
    if maker.kind == "Equal":
        return replace(side, nonzero=True, value=None) if number == 0 and not is_true else side
    above = _ABOVE.get(maker.kind)
    if above is None or (side.nan and not is_true):
        return side
    is_above, is_strict = above
    is_above, is_strict = (is_above == is_first) == is_true, is_strict == is_true
    nonzero = side.nonzero or (is_strict and number == 0)
    facts: dict[str, Any] = {"nonzero": nonzero, "nan": Level.NEVER if is_true else side.nan, "value": None}
    if is_above:
        low = np.maximum(side.low, _next(number, side.dtype, np.inf) if is_strict else number)
        return replace(side, low=low, high=np.maximum(side.high, low), **facts)
    high = np.minimum(side.high, _next(number, side.dtype, -np.inf) if is_strict else number)
    return replace(side, high=high, low=np.minimum(side.low, high), **facts)


_ABOVE: Mapping[str, tuple[bool, bool]] = {
    "Greater": (True, True), "GreaterOrEqual": (True, False), "Less": (False, True), "LessOrEqual": (False, False)
}  # fmt: skip
"""No trait: whether the first input is above the second where the comparison is true, and whether it differs."""


def _next(number: float, dtype: np.dtype[Any], towards: float) -> float:
    if dtype.kind in "iu":
        return number + (1 if towards > 0 else -1)
    return float(np.nextafter(np.asarray(number, dtype), np.asarray(towards, dtype)))


CHOICES: Mapping[str, Callable[[At], Range]] = {
    "And": both, "BitwiseAnd": bitwise_and, "Equal": equal, "Greater": greater, "GreaterOrEqual": greater_or_equal,
    "IsInf": is_inf, "IsNaN": is_nan, "Less": less, "LessOrEqual": less_or_equal, "Not": negation, "Or": one_of,
    "Where": where, "Xor": any_bool,
}  # fmt: skip
"""The range of the result of each comparison, logical operator and choice."""
