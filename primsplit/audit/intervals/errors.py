"""Bound how far a computed value is from what exact arithmetic gives: running error analysis, an op at a time.

```
z = x * y       |x| ey + |y| ex + ex ey + u |z|
z = exp(x)      exp(x) (exp(ex) - 1) + k u exp(x)
```

`ex` is the error of x, `u` the unit roundoff of the dtype, and magnitudes are the largest within the ranges. Exact
arithmetic is that of the file's own operators and constants on the same inputs. See Higham, Accuracy and Stability of
Numerical Algorithms, 2nd edition, chapters 2 and 3.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from primsplit.audit.intervals.arithmetic import is_same
from primsplit.audit.intervals.at import FAITHFUL, At
from primsplit.audit.intervals.ranges import Range, is_floating, smallest, unit
from primsplit.audit.intervals.structure import STRUCTURE
from primsplit.ir import AnyArray
from primsplit.ops.traits import moved_inputs, traits

Rule = Callable[[At, Range], AnyArray]
Slope = Callable[[AnyArray, AnyArray], AnyArray]
"""The largest slope of a function between two numbers."""
NO_BOUND = np.asarray(np.inf)


def error_of(at: At, found: Range) -> AnyArray:
    """Return a bound of the error of an op's first result; infinite where none is known."""
    if all(r is None or not np.any(_error(r)) for r in at.inputs) and not at.is_float:
        return np.zeros(())
    if at.op.kind in STRUCTURE or (moved_inputs(at.op) and not traits(at.op.kind).elementwise):
        return moved(at, found)
    rule = ERRORS.get(at.op.kind)
    return NO_BOUND if rule is None else rule(at, found)


def moved(at: At, found: Range) -> AnyArray:
    """Return the error of a result that consists of elements of inputs: that of any other, if places may differ."""
    positions = moved_inputs(at.op) or range(len(at.inputs))
    inputs = [(i in positions, r) for i, r in enumerate(at.inputs) if r is not None]
    error = max((float(np.max(_error(r), initial=0.0)) for is_moved, r in inputs if is_moved), default=0.0)
    if any(np.any(_error(r)) for is_moved, r in inputs if not is_moved):
        low, high = found.ends
        error += high - low
    return np.asarray(error + (unit(found.dtype) * found.largest if at.op.kind == "Range" else 0.0))


def _error(r: Range) -> AnyArray:
    return NO_BOUND if r.error is None else r.error


def _rounding(found: Range, roundings: float = 1.0) -> AnyArray:
    """Return the error of rounding a result so often: relative, and of a denormal number absolute."""
    least = smallest(found.dtype) * unit(found.dtype)
    return np.asarray(roundings * (unit(found.dtype) * found.largest + least))


def _errors(at: At) -> list[AnyArray]:
    return [_error(r) for r in at.inputs if r is not None]


def add(at: At, found: Range) -> AnyArray:
    """Return the error of a sum: the errors of the terms, and roundings of partial sums."""
    terms = [r for r in at.inputs if r is not None]
    total = sum((_error(r) for r in terms), np.zeros(()))
    if len(terms) == 2:
        return np.asarray(total + unit(found.dtype) * found.largest)
    partial = sum((r.largest for r in terms), np.zeros(()))
    return np.asarray(total + len(terms) * unit(found.dtype) * partial)


def mul(at: At, found: Range) -> AnyArray:
    """Return the error of a product; a power of 2 as a factor rounds nothing."""
    x, y = at.take(0), at.take(1)
    return _propagated(x, y) + (0.0 if _is_power_of_two(x) or _is_power_of_two(y) else _rounding(found))


def _propagated(x: Range, y: Range) -> AnyArray:
    return np.asarray(_times(x.largest, _error(y)) + _times(y.largest, _error(x)) + _times(_error(x), _error(y)))


def _times(a: AnyArray, b: AnyArray) -> AnyArray:
    """Return a product in which 0 times infinity is 0: an exact value has no error, however large the other is."""
    product = np.asarray(a * b)
    return np.where(np.isnan(product), 0.0, product)


def _is_power_of_two(r: Range) -> bool:
    low, high = r.ends
    return low == high and low != 0 and math.isfinite(low) and math.frexp(abs(low))[0] == 0.5 and not np.any(_error(r))


def div(at: At, found: Range) -> AnyArray:
    """Return the error of a quotient; none is known if the divisor may be 0 but for its error."""
    return _quotient(at.take(0), at.take(1), found)


def _quotient(x: Range, y: Range, found: Range) -> AnyArray:
    nearest = np.where((y.low <= 0) & (y.high >= 0), 0.0, np.minimum(np.abs(y.low), np.abs(y.high)))
    apart = nearest - _error(y)
    size = np.minimum(found.largest, x.largest / nearest)
    error = (_error(x) + _times(size, _error(y))) / apart + _rounding(found)
    return np.where(apart > 0, error, np.inf)


def reciprocal(at: At, found: Range) -> AnyArray:
    """Return the error of 1 / x."""
    one = Range(np.ones(()), np.ones(()), found.dtype, (), error=np.zeros(()))
    return _quotient(one, at.take(0), found)


def sqrt(at: At, found: Range) -> AnyArray:
    """Return the error of a root: near 0 the root of the error."""
    return np.asarray(_root(at.take(0)) + _rounding(found))


def _root(x: Range) -> AnyArray:
    error = _error(x)
    low = np.maximum(x.low, 0.0)
    below = np.sqrt(np.maximum(low - error, 0.0)) + np.sqrt(low)
    return np.where(error == 0, 0.0, np.minimum(error / below, np.sqrt(error)))


def same(at: At, found: Range) -> AnyArray:
    """Return the error of what moves no number farther apart: the largest of the inputs'."""
    error = np.zeros(())
    for each in _errors(at):
        error = np.maximum(error, each)
    return error


def smooth(slope: Slope, ulps: float = FAITHFUL, scale: float = 0.0) -> Rule:
    """Return the rule of a function of one number with this slope; `scale` is the least size that its kernel rounds."""

    def rule(at: At, found: Range) -> AnyArray:
        x = at.take(0)
        error = _error(x)
        steep = slope(x.low - error, x.high + error)
        kernel = 2 * ulps * unit(found.dtype) * np.maximum(found.largest, scale) + smallest(found.dtype)
        return np.asarray(_times(steep, error) + kernel)

    return rule


def at_most(number: float) -> Slope:
    """Return the slope of a function that is nowhere steeper."""
    return lambda low, high: np.full(np.broadcast_shapes(low.shape, high.shape), number)


def exp(at: At, found: Range) -> AnyArray:
    """Return the error of an exponential."""
    x = at.take(0)
    kernel = 2 * FAITHFUL * unit(found.dtype) * found.largest + smallest(found.dtype)
    return np.asarray(_times(np.exp(x.high), np.expm1(_error(x))) + kernel)


def log(at: At, found: Range) -> AnyArray:
    """Return the error of a logarithm; none is known if its argument may be 0 but for its error."""
    x = at.take(0)
    apart = x.low - _error(x)
    error = np.where(_error(x) == 0, 0.0, -np.log1p(-_error(x) / x.low))
    kernel = 2 * FAITHFUL * unit(found.dtype) * found.largest
    return np.where(apart > 0, error + kernel, np.inf)


def waves(at: At, found: Range) -> AnyArray:
    """Return the error of a sine or cosine: its kernel reduces the argument first."""
    x = at.take(0)
    return np.asarray(_error(x) + 2 * FAITHFUL * unit(found.dtype) * np.maximum(1.0, x.largest))


def power(at: At, found: Range) -> AnyArray:
    """Return the error of x ** y, of a base that is more than 0 with its error, or a whole constant exponent."""
    x, y = at.take(0), at.take(1)
    kernel = 2 * FAITHFUL * unit(found.dtype) * found.largest + smallest(found.dtype)
    exponent = None if y.value is None or y.value.size != 1 else float(y.value.reshape(-1)[0])
    if exponent is not None and exponent.is_integer() and exponent > 0:
        size = x.largest + _error(x)
        return np.asarray(_times(exponent * size ** (exponent - 1), _error(x)) + kernel)
    apart = x.low - _error(x)
    far = np.maximum(y.largest, np.abs(y.largest) + _error(y))
    logs = np.maximum(np.abs(np.log(np.maximum(apart, 0.0))), np.abs(np.log(x.high + _error(x))))
    change = _times(far, -np.log1p(-_error(x) / x.low)) + _times(logs, _error(y))
    return np.where(apart > 0, _times(found.largest, np.expm1(change)) + kernel, np.inf)


# Steps, comparisons and choices.


def step(at: At, found: Range) -> AnyArray:
    """Return the error of a function that jumps by 1: none if no jump is within the error."""
    x = at.take(0)
    error = _error(x)
    function = _JUMPS.get(at.op.kind, np.sign)
    stays = function(x.low - error) == function(x.high + error)
    jump = 2.0 if at.op.kind == "Sign" else error + 1.0
    return np.where(stays | (error == 0), 0.0, jump)


_JUMPS: Mapping[str, Callable[[AnyArray], AnyArray]] = {"Floor": np.floor, "Ceil": np.ceil, "Round": np.rint}


def cast(at: At, found: Range) -> AnyArray:
    """Return the error of a conversion: of a rounding, or of cutting the part behind the point."""
    x = at.take(0)
    error = _error(x)
    if is_floating(found.dtype):
        narrows = unit(found.dtype) > unit(x.dtype) or (not is_floating(x.dtype) and np.any(x.largest > 2.0**10))
        return np.asarray(error + (_rounding(found) if narrows else 0.0))
    if found.dtype.kind == "b":
        return np.where((error == 0) | (x.low - error > 0) | (x.high + error < 0), 0.0, 1.0)
    stays = np.trunc(x.low - error) == np.trunc(x.high + error)
    return np.where(stays | (error == 0), 0.0, error + 1.0)


def compare(at: At, found: Range) -> AnyArray:
    """Return the error of a comparison: 1 where exact arithmetic may compare otherwise."""
    x, y = at.take(0), at.take(1)
    error = _error(x) + _error(y)
    apart = (x.high + error < y.low) | (y.high + error < x.low)
    return np.where((error == 0) | apart, 0.0, 1.0)


def choose(at: At, found: Range) -> AnyArray:
    """Return the error of a choice: where exact arithmetic may choose otherwise, the distance of both."""
    condition, x, y = at.take(0), at.take(1), at.take(2)
    sure, never = condition.low > 0, condition.high < 1
    kept = np.where(sure, _error(x), np.where(never, _error(y), np.maximum(_error(x), _error(y))))
    apart = np.maximum(x.high - y.low, y.high - x.low) + np.maximum(_error(x), _error(y))
    return np.where(_error(condition) == 0, kept, np.maximum(kept, apart))


def place(at: At, found: Range) -> AnyArray:
    """Return the error of a place: any other place, if the numbers are not exact."""
    return np.asarray(found.high - found.low)


def mean(at: At, found: Range) -> AnyArray:
    """Return the error of a mean of several values."""
    return np.asarray(add(at, found) / len(at.inputs) + _rounding(found))


def exact(at: At, found: Range) -> AnyArray:
    """Return no error: of a test whether a number is finite, where it is."""
    return np.zeros(())


def clip(at: At, found: Range) -> AnyArray:
    """Return the error of a value between two bounds: no more than the bounds are apart."""
    x, error = at.take(0), _error(at.take(0))
    ends = [at.given(1), at.given(2)]
    if any(r is not None and np.any(_error(r)) for r in ends):
        return same(at, found)
    least = -np.inf if ends[0] is None else ends[0].ends[0]
    most = np.inf if ends[1] is None else ends[1].ends[1]
    low, high = x.low - error, x.high + error
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    apart = np.clip(high, least, most) - np.clip(low, least, most)
    return np.where(error == 0, 0.0, np.minimum(error, apart))


def modulo(at: At, found: Range) -> AnyArray:
    """Return the error of a remainder of exact numbers."""
    return np.where(sum(_errors(at), np.zeros(())) == 0, _rounding(found), np.inf)


def square_again(at: At, found: Range) -> AnyArray:
    """Return the error of a product, of x * x too."""
    if is_same(at, 0, 1):
        x = at.take(0)
        return np.asarray(2 * _times(x.largest, _error(x)) + _times(_error(x), _error(x)) + _rounding(found))
    return mul(at, found)


def subtract(at: At, found: Range) -> AnyArray:
    """Return the error of a difference; x - x has none."""
    return np.zeros(()) if is_same(at, 0, 1) else add(at, found)


def _tanh(low: AnyArray, high: AnyArray) -> AnyArray:
    return np.asarray(1 / np.cosh(_nearest(low, high)) ** 2)


def _sinh(low: AnyArray, high: AnyArray) -> AnyArray:
    return np.asarray(np.sinh(_farthest(low, high)))


def _cosh(low: AnyArray, high: AnyArray) -> AnyArray:
    return np.asarray(np.cosh(_farthest(low, high)))


def _nearest(low: AnyArray, high: AnyArray) -> AnyArray:
    """Return the least magnitude between two numbers."""
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def _farthest(low: AnyArray, high: AnyArray) -> AnyArray:
    return np.maximum(np.abs(low), np.abs(high))


def _of_domain(low: AnyArray, high: AnyArray) -> AnyArray:
    """Return the largest slope of arcsine and arccosine: infinite at the ends of their domain."""
    far = _farthest(low, high)
    return np.where(far < 1, 1 / np.sqrt(np.maximum(1 - far**2, 0.0)), np.inf)


def _atanh(low: AnyArray, high: AnyArray) -> AnyArray:
    far = _farthest(low, high)
    return np.where(far < 1, 1 / (1 - np.minimum(far, 1.0) ** 2), np.inf)


def _acosh(low: AnyArray, high: AnyArray) -> AnyArray:
    return np.where(low > 1, 1 / np.sqrt(np.maximum(low, 1.0) ** 2 - 1), np.inf)


ERRORS: Mapping[str, Rule] = {
    "Abs": same, "Acos": smooth(_of_domain), "Acosh": smooth(_acosh), "Add": add, "And": same, "ArgMax": place,
    "ArgMin": place, "Asin": smooth(_of_domain), "Asinh": smooth(at_most(1.0)), "Atan": smooth(at_most(1.0)),
    "Atanh": smooth(_atanh), "Cast": cast, "CastLike": cast, "Ceil": step, "Clip": clip, "Cos": waves,
    "Cosh": smooth(_sinh), "Div": div, "Elu": smooth(at_most(1.0), scale=1.0), "Equal": compare,
    "Erf": smooth(at_most(2 / math.sqrt(math.pi))), "Exp": exp, "Floor": step,
    "Gelu": smooth(at_most(1.13), scale=1.0), "Greater": compare, "GreaterOrEqual": compare,
    "HardSwish": smooth(at_most(1.5), scale=1.0), "IsInf": exact, "IsNaN": exact, "Less": compare,
    "LessOrEqual": compare, "Log": log, "Max": same, "Mean": mean, "Min": same,
    "Mish": smooth(at_most(1.09), scale=1.0), "Mod": modulo, "Mul": square_again, "Neg": same, "Not": same, "Or": same,
    "Pow": power, "Reciprocal": reciprocal, "Relu": same, "Round": step, "Selu": smooth(at_most(1.7581), scale=1.0),
    "Sigmoid": smooth(at_most(0.25), scale=1.0), "Sign": step, "Sin": waves, "Sinh": smooth(_cosh),
    "Softplus": smooth(at_most(1.0)), "Softsign": smooth(at_most(1.0)), "Sqrt": sqrt, "Sub": subtract, "Sum": add,
    "Tanh": smooth(_tanh), "Where": choose, "Xor": same,
}  # fmt: skip
"""The error of the result of each elementwise operator."""
