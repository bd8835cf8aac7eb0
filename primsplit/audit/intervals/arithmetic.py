"""Find the ranges of sums, products, quotients, powers and roots, and where they are no finite numbers.

```
x in [0, 1], y in [-1, 2]     x / y: [-inf, inf], and 0 / 0 can happen
x in [-3, 2]                  x * x: [0, 9]
x, m = ReduceMax(x)           x - m: at most 0
```

The four operations and the root are rounded correctly, so that the rounded ends are bounds.
"""

import functools
from collections.abc import Callable, Mapping

import numpy as np

from primsplit.audit.intervals.at import FAITHFUL, At
from primsplit.audit.intervals.ranges import Level, Range, smallest
from primsplit.ir import AnyArray, Const, Op, Value, Var

Transfer = Callable[[At], Range]


def _settled(ends: AnyArray, otherwise: float) -> AnyArray:
    """Return ends of which those that are no number, inf - inf, are the farthest ones."""
    return np.where(np.isnan(ends), otherwise, ends)


def _of_infinities(at: At, one: Range, other: Range, *, is_sum: bool) -> Level:
    """Return whether two infinities can meet that cancel."""
    level = min(one.inf, other.inf)
    first, second = one.ends, other.ends
    if is_sum:
        meet = (first[1] == np.inf and second[0] == -np.inf) or (first[0] == -np.inf and second[1] == np.inf)
    else:
        meet = np.inf in np.abs(first) and np.inf in np.abs(second)
    if not meet:
        return Level.NEVER
    if level is Level.CAN:
        at.note("inf - inf" if is_sum else "inf / inf", one, other)
    return level


def plus(at: At, one: Range, other: Range) -> Range:
    """Return the range of a sum of two."""
    low, high = _settled(one.low + other.low, -np.inf), _settled(one.high + other.high, np.inf)
    return at.result(low, high, one, other, nan=_of_infinities(at, one, other, is_sum=True))


def minus(one: Range) -> Range:
    """Return the range of the negated elements."""
    return Range(
        -one.high, -one.low, one.dtype, one.shape, nan=one.nan, inf=one.inf, nonzero=one.nonzero, error=one.error
    )


def negative(at: At) -> Range:
    """Return the range of the negated elements."""
    x = at.take(0)
    return minus(x) if at.is_float else at.whole_number(-x.high, -x.low, x)


def add(at: At) -> Range:
    """Return the range of a sum."""
    return functools.reduce(lambda one, other: plus(at, one, other), [at.take(i) for i in range(len(at.inputs))])


def sub(at: At) -> Range:
    """Return the range of a difference; of x - x it is 0, and x - max(x) is at most 0."""
    x, y = at.take(0), at.take(1)
    if at.op.inputs[0] is at.op.inputs[1]:
        nan = x.inf
        return Range(np.zeros(()), np.zeros(()), at.dtype, at.shape, nan=max(nan, x.nan))
    found = plus(at, x, minus(y))
    maker = _unless_nan(at, at.op.inputs[1])
    side = None if maker is None or maker.inputs[0] is not at.op.inputs[0] else _SIDES.get(maker.kind)
    axes = None if maker is None or side is None else _axes(at, maker)
    if maker is None or axes is None or not _lies_beside(maker, axes):
        return found
    is_above = side == "above"
    low, high = (found.low, np.minimum(found.high, 0.0)) if is_above else (np.maximum(found.low, 0.0), found.high)
    return Range(low, high, found.dtype, found.shape, nan=found.nan, inf=found.inf, attains=(axes, 0.0))


def _unless_nan(at: At, value: Value | None) -> Op | None:
    """Return the op that made a value, or made it where it is not NaN: np.max chooses NaN if there is one."""
    maker = at.maker(value)
    while maker is not None and maker.kind == "Where":
        numbers = [v.number if isinstance(v, Const) else None for v in maker.inputs[1:]]
        nans = [n is not None and bool(np.isnan(n)) for n in numbers]
        if any(nans) is all(nans):
            return maker
        maker = at.maker(maker.inputs[1 + nans.index(False)])
    return maker


def _lies_beside(maker: Op, axes: tuple[int, ...]) -> bool:
    """Whether each element of a reduction meets the elements that it was made of: it keeps the axes, or has none."""
    rank = None if maker.inputs[0] is None else maker.inputs[0].type.rank
    return bool(maker.attributes.get("keepdims", 1)) or len(axes) == rank


_SIDES: Mapping[str, str] = {"ReduceMax": "above", "ReduceMin": "below"}


def _axes(at: At, op: Op) -> tuple[int, ...] | None:
    """Return the axes of a reduction, from the first one; None if they are not known."""
    axes = op.inputs[1] if len(op.inputs) > 1 else None
    rank = None if op.inputs[0] is None else op.inputs[0].type.rank
    if rank is None or (axes is not None and not isinstance(axes, Const)):
        return None
    told = range(rank) if axes is None else axes.numpy().reshape(-1)
    return tuple(sorted(int(a) % rank for a in told))


def _products(one: Range, other: Range) -> tuple[AnyArray, AnyArray]:
    """Return the least and the greatest product; of 0 and a number without a bound it is 0."""
    corners = [np.where(np.isnan(p), 0.0, p) for p in (
        one.low * other.low, one.low * other.high, one.high * other.low, one.high * other.high)]  # fmt: skip
    return functools.reduce(np.minimum, corners), functools.reduce(np.maximum, corners)


def times(at: At, one: Range, other: Range) -> Range:
    """Return the range of a product of two."""
    low, high = _products(one, other)
    nan = max(_zero_times_infinity(at, one, other), _zero_times_infinity(at, other, one))
    return at.result(low, high, one, other, nan=nan)


def _zero_times_infinity(at: At, zero: Range, other: Range) -> Level:
    if not bool(np.any(zero.has_zero)) or other.inf is Level.NEVER:
        return Level.NEVER
    if other.inf is Level.CAN:
        at.note("0 * inf", zero, other)
    return other.inf


def square(at: At, x: Range) -> Range:
    """Return the range of the squares."""
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(x.low**2, x.high**2))
    return at.result(least, x.largest**2, x)


def mul(at: At) -> Range:
    """Return the range of a product; of x * x it is not negative."""
    if at.op.inputs[0] is at.op.inputs[1]:
        return square(at, at.take(0))
    return times(at, at.take(0), at.take(1))


def div(at: At) -> Range:
    """Return the range of a quotient."""
    return quotient(at, at.take(0), at.take(1)) if at.is_float else _whole_quotient(at)


def _whole_quotient(at: At) -> Range:
    x, y = at.take(0), at.take(1)
    if bool(np.any(y.has_zero)):
        always = bool(np.any((y.low == 0) & (y.high == 0)))
        at.note("integer division by 0", x, y, always=always)
    largest = x.largest
    low = np.where(x.low < 0, -largest, np.where(y.low < 0, -largest, 0.0))
    high = np.where(x.high > 0, largest, np.where(y.low < 0, largest, 0.0))
    return Range(low, high, at.dtype, at.shape)


def quotient(at: At, x: Range, y: Range) -> Range:
    """Return the range of x / y, and report 0 / 0 and division by 0."""
    nan, inf = _of_infinities(at, x, y, is_sum=False), Level.NEVER
    if bool(np.any(y.has_zero)):
        nan, inf = _by_zero(at, x, y, nan)
    elif _is_kept_from_zero(at, y):
        at.note("division by 0", x, y)
        inf = Level.CAN
    ends = _inverse_ends(y)
    inverse = Range(*ends, y.dtype, y.shape)
    low, high = _products(x, inverse)
    exact = bool(np.all(y.low > 0) or np.all(y.high < 0))
    if exact and bool(np.all(y.is_bounded)):
        low, high = _quotients(x, y)
        return at.result(low, high, x, _regular(y, at), nan=max(nan, y.nan), inf=max(inf, x.inf))
    return at.result(low, high, x, inverse, ulps=1, nan=max(nan, y.nan), inf=inf)


def _regular(y: Range, at: At) -> Range:
    """Return a divisor without a bound if it may be denormal: that a quotient is then infinite is not reported."""
    near = np.min(np.minimum(np.abs(y.low), np.abs(y.high)), initial=np.inf) < smallest(at.dtype)
    return Range(np.asarray(-np.inf), np.asarray(np.inf), y.dtype, y.shape) if near else Range(
        y.low, y.high, y.dtype, y.shape)  # fmt: skip


def _is_kept_from_zero(at: At, y: Range) -> bool:
    """Whether a divisor can be the least positive number that stands for 0, as in the slope of a root at 0."""
    maker = at.maker(at.op.inputs[-1])
    if maker is None or maker.kind != "Max":
        return False
    numbers = [float(v.number) for v in maker.inputs if isinstance(v, Const) and v.number is not None]
    return any(0 < n < smallest(at.dtype) and bool(np.any(y.low <= n)) for n in numbers)


def _quotients(x: Range, y: Range) -> tuple[AnyArray, AnyArray]:
    corners = [_settled(q, 0.0) for q in (x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high)]
    return functools.reduce(np.minimum, corners), functools.reduce(np.maximum, corners)


def _inverse_ends(y: Range) -> tuple[AnyArray, AnyArray]:
    """Return the bounds of 1 / y; infinite where y may be 0, of either sign, or lies on both sides of it."""
    is_open = ((y.low < 0) & (y.high > 0)) | y.has_zero
    low = np.where(is_open | (y.high == 0), -np.inf, 1 / y.high)
    high = np.where(is_open | (y.low == 0), np.inf, 1 / y.low)
    return low, high


def _by_zero(at: At, x: Range, y: Range, nan: Level) -> tuple[Level, Level]:
    """Report a divisor that can be 0."""
    is_zero = (y.low == 0) & (y.high == 0)
    both = bool(np.any(np.broadcast_arrays(x.has_zero & y.has_zero)[0]))
    if both:
        always = bool(np.any(is_zero & (x.low == 0) & (x.high == 0)))
        at.note("0 / 0", x, y, always=always)
        nan = Level.CAN
    if bool(np.any(y.has_zero & ((x.low < 0) | (x.high > 0)))):
        at.note("division by 0", x, y, always=bool(np.any(is_zero & ~x.has_zero)))
        return nan, Level.CAN
    return nan, Level.NEVER


def reciprocal(at: At) -> Range:
    """Return the range of 1 / x."""
    x = at.take(0)
    return quotient(at, Range(np.ones(()), np.ones(()), x.dtype, (), nonzero=True), x)


def sqrt(at: At) -> Range:
    """Return the range of a square root."""
    x = at.take(0)
    nan = Level.NEVER
    if bool(np.any(x.low < 0)):
        nan = Level.CAN
        at.note("square root of a negative number", x, always=bool(np.any(x.high < 0)))
    low, high = (np.sqrt(np.maximum(end, 0.0)) for end in (x.low, x.high))
    return at.result(low, high, x, nan=nan, nonzero=x.nonzero)


def power(at: At) -> Range:
    """Return the range of x ** y."""
    x, y = at.take(0), at.take(1)
    exponent = None if y.value is None or y.value.size != 1 else float(y.value.reshape(-1)[0])
    if exponent == 2.0:
        return square(at, x)
    is_whole = exponent is not None and exponent.is_integer()
    nan = inf = Level.NEVER
    if not is_whole and bool(np.any(x.low < 0)) and y.dtype.kind not in "iu":
        at.note("power of a negative number", x, y, always=bool(np.any(x.high < 0)) and exponent is not None)
        nan = Level.CAN
    if bool(np.any(x.has_zero & (y.low < 0))):
        at.note("0 to a negative power", x, y, always=bool(np.any((x.low == 0) & (x.high == 0) & (y.high < 0))))
        inf = Level.CAN
    is_even = exponent is not None and exponent % 2 == 0
    low, high = _powers(x, y, is_whole=is_whole, exponent=exponent)
    if inf:  # 0 may be -0
        low, high = np.full_like(low, 0.0 if is_even else -np.inf), np.full_like(high, np.inf)
    keep = (0.0 if is_even else -np.inf, np.inf)
    return at.result(low, high, x, y, ulps=0 if exponent == 1.0 else FAITHFUL, nan=nan, inf=inf, keep=keep)


def _powers(x: Range, y: Range, *, is_whole: bool, exponent: float | None) -> tuple[AnyArray, AnyArray]:
    """Return the least and the greatest power: of a base that is not negative at the corners."""
    base = Range(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0), x.dtype)
    corners = [np.power(b, e) for b in (base.low, base.high) for e in (y.low, y.high)]
    low = functools.reduce(np.minimum, (_settled(c, 0.0) for c in corners))
    high = functools.reduce(np.maximum, (_settled(c, np.inf) for c in corners))
    inside = (x.low <= 1) & (x.high >= 1)
    low, high = np.where(inside, np.minimum(low, 1.0), low), np.where(inside, np.maximum(high, 1.0), high)
    if not np.any(x.low < 0) or (exponent is not None and not is_whole):
        return low, high
    if not is_whole or exponent is None:
        sizes = [_settled(np.power(x.largest, e), np.inf) for e in (y.low, y.high)]
        largest = functools.reduce(np.maximum, [high, *sizes])
        near = np.any((y.low < 0) & (x.low < 0))
        return (-largest, largest) if not near else (np.full_like(largest, -np.inf), np.full_like(largest, np.inf))
    return _whole_powers(x, exponent)


def _whole_powers(x: Range, exponent: float) -> tuple[AnyArray, AnyArray]:
    """Return the bounds of a whole power of numbers of both signs."""
    ends = np.power(x.low, exponent), np.power(x.high, exponent)
    straddles = (x.low <= 0) & (x.high >= 0)
    if exponent < 0:
        bounds = np.minimum(*ends), np.maximum(*ends)
        lowest = 0.0 if exponent % 2 == 0 else -np.inf
        return np.where(straddles, lowest, bounds[0]), np.where(straddles, np.inf, bounds[1])
    if exponent % 2:
        return ends
    return np.where(straddles, 0.0, np.minimum(*ends)), np.maximum(*ends)


def mean(at: At) -> Range:
    """Return the range of a mean of several values."""
    total = add(at)
    return at.result(total.low / len(at.inputs), total.high / len(at.inputs), total, ulps=len(at.inputs))


def is_same(at: At, one: int, other: int) -> bool:
    """Whether two inputs are one value."""
    return isinstance(at.op.inputs[one], Var) and at.op.inputs[one] is at.op.inputs[other]


ARITHMETIC: Mapping[str, Transfer] = {
    "Add": add, "Sub": sub, "Mul": mul, "Div": div, "Neg": negative, "Reciprocal": reciprocal,
    "Sqrt": sqrt, "Pow": power, "Sum": add, "Mean": mean,
}  # fmt: skip
"""The range of the result of each operator of arithmetic."""
