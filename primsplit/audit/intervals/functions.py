"""Find the ranges of elementwise functions and conversions, and where they are no finite numbers.

```
x in [0, 5]       exp(x): [1, 148.4]
x in [-1, 2]      log(x): [-inf, 0.693], and the logarithm of a negative number can happen
```
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx.helper

from primsplit.audit.intervals.arithmetic import ARITHMETIC, Transfer
from primsplit.audit.intervals.at import FAITHFUL, At
from primsplit.audit.intervals.choices import CHOICES, is_zero
from primsplit.audit.intervals.ranges import Level, Range, is_floating, limits, unit
from primsplit.ir import AnyArray, Op

Function = Callable[[AnyArray], AnyArray]
_erf: Function = np.vectorize(math.erf, otypes=[np.float64])
WHOLE = (-np.inf, np.inf)
NEAR_ONE = (-1.5, 1.5)
"""Bounds of functions between -1 and 1 whose kernels go beyond: onnxruntime's tanh of float32 gives 1.0000001."""


def rising(
    function: Function, keep: tuple[float, float] = WHOLE, ulps: float = FAITHFUL, *, steep: bool = False,
    is_near_one: bool = False,
) -> Transfer:  # fmt: skip
    """Return the transfer of a function that never falls; `keep` are bounds that no kernel leaves.

    `is_near_one` is for kernels that compute with numbers near 1: their error is one of 1.
    """

    def transfer(at: At) -> Range:
        x = at.take(0)
        attains = None
        if x.attains is not None and function is np.exp:
            attains = (x.attains[0], float(np.exp(x.attains[1])))
        plain = replace(x, inf=Level.NEVER if all(map(math.isfinite, keep)) else x.inf)
        low, high = function(x.low), function(x.high)
        if is_near_one:
            low, high = low - ulps * 2 * unit(at.dtype), high + ulps * 2 * unit(at.dtype)
        inf = explosion(at, x, low, high) if steep else Level.NEVER
        return at.result(low, high, plain, ulps=ulps, inf=inf, keep=keep, attains=attains)

    return transfer


def explosion(at: At, x: Range, low: AnyArray, high: AnyArray) -> Level:
    """Report a function that is soon too large, such as exp, of a number without a bound."""
    if not bool(np.any((np.isinf(low) | np.isinf(high)) & ~x.is_bounded)):
        return Level.NEVER
    at.note("overflow", x)
    return Level.CAN


def in_domain(function: Function, low: float, high: float, *, falls: bool = False) -> Transfer:
    """Return the transfer of a monotone function that is NaN outside of a domain."""

    def transfer(at: At) -> Range:
        x = at.take(0)
        nan = Level.NEVER
        if bool(np.any((x.low < low) | (x.high > high))):
            nan = Level.CAN
            always = bool(np.any((x.high < low) | (x.low > high)))
            at.note(f"{at.op.kind} outside of its domain", x, always=always)
        first, last = (function(np.clip(end, low, high)) for end in ((x.high, x.low) if falls else (x.low, x.high)))
        return at.result(first, last, x, ulps=FAITHFUL, nan=nan, inf=_poles(at, x, low, high))

    return transfer


def _poles(at: At, x: Range, low: float, high: float) -> Level:
    """Report the ends of Atanh, which is infinite there."""
    if at.op.kind == "Atanh" and bool(np.any((x.low <= low) | (x.high >= high))):
        at.note("Atanh of 1 or -1", x)
        return Level.CAN
    return Level.NEVER


def log(at: At) -> Range:
    """Return the range of a logarithm."""
    x = at.take(0)
    nan = inf = Level.NEVER
    if bool(np.any(x.low < 0)):
        nan = Level.CAN
        at.note("logarithm of a negative number", x, always=bool(np.any(x.high < 0)))
    if bool(np.any(x.has_zero)):
        inf = Level.CAN
        at.note("logarithm of 0", x, always=bool(np.any((x.low == 0) & (x.high == 0))))
    low, high = (np.log(np.maximum(end, 0.0)) for end in (x.low, x.high))
    return at.result(low, high, _positive(x), ulps=FAITHFUL, nan=nan, inf=inf)


def _positive(x: Range) -> Range:
    """Return an operand whose lower bound does not tell whether its logarithm is finite."""
    return replace(x, low=np.where(x.low <= 0, -np.inf, x.low))


def waves(function: Function) -> Transfer:
    """Return the transfer of a sine or cosine: within a short interval its slope is at most 1."""

    def transfer(at: At) -> Range:
        x = at.take(0)
        nan = Level.NEVER
        if x.inf:
            nan = x.inf
            if x.inf is Level.CAN:
                at.note(f"{at.op.kind} of infinity", x)
        middle, half = (x.low + x.high) / 2, (x.high - x.low) / 2
        known = np.isfinite(middle) & (half < 4)
        centre = function(np.where(known, middle, 0.0))
        low, high = np.where(known, centre - half, -1.0), np.where(known, centre + half, 1.0)
        slack = 4 * np.spacing(np.where(known, np.abs(middle), 0.0))
        plain = replace(x, inf=Level.NEVER)
        return at.result(low - slack, high + slack, plain, ulps=FAITHFUL, nan=nan, keep=(-1.0, 1.0))

    return transfer


def tan(at: At) -> Range:
    """Return the range of a tangent: without a bound if a pole is inside."""
    x = at.take(0)
    nan = x.inf
    same = np.floor(x.low / np.pi + 0.5) == np.floor(x.high / np.pi + 0.5)
    known = same & x.is_bounded & (x.largest < 1e6)
    low, high = np.where(known, np.tan(x.low), -np.inf), np.where(known, np.tan(x.high), np.inf)
    return at.result(low, high, replace(x, inf=Level.NEVER), ulps=1e6, nan=nan)


def absolute(at: At) -> Range:
    """Return the range of the magnitudes."""
    x = at.take(0)
    low = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return at.result(low, x.largest, x, nonzero=x.nonzero)


def even(function: Function) -> Transfer:
    """Return the transfer of a function of the magnitude that rises with it."""

    def transfer(at: At) -> Range:
        x = at.take(0)
        low = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
        low, high = function(low), function(x.largest)
        return at.result(low, high, x, ulps=FAITHFUL, inf=explosion(at, x, low, high))

    return transfer


def dipping(least: float) -> Transfer:
    """Return the transfer of x times a rising function between 0 and 1: at least a number, at most x."""

    def transfer(at: At) -> Range:
        x = at.take(0)
        nan = x.inf  # -inf times 0
        return at.result(np.where(x.low < 0, least, 0.0), np.maximum(x.high, 0.0), x, ulps=FAITHFUL, nan=nan)

    return transfer


def steps(function: Function) -> Transfer:
    """Return the transfer of a function that never falls and rounds nothing."""
    return rising(function, ulps=0)


def leaky(at: At) -> Range:
    """Return the range of LeakyRelu."""
    x, slope = at.take(0), float(np.float32(at.op.attributes.get("alpha", 0.01)))
    ends = [np.where(end >= 0, end, slope * end) for end in (x.low, x.high)]
    both = [np.minimum(*ends), np.maximum(*ends)]
    straddles = (x.low < 0) & (x.high > 0)
    return at.result(np.where(straddles, np.minimum(both[0], 0.0), both[0]), both[1], x, ulps=2)


def elu(at: At) -> Range:
    """Return the range of Elu, which never falls if its parameter is not negative."""
    x, scale = at.take(0), float(np.float32(at.op.attributes.get("alpha", 1.0)))
    if scale < 0:
        return at.unknown()[0]
    low, high = (np.where(end >= 0, end, scale * np.expm1(np.minimum(end, 0.0))) for end in (x.low, x.high))
    slack = 2 * FAITHFUL * unit(at.dtype) * scale
    return at.result(low - slack, high + slack, x, ulps=FAITHFUL)


def clip(at: At) -> Range:
    """Return the range of a value between two bounds."""
    x, least, most = at.take(0), at.given(1), at.given(2)
    low, high = x.low, x.high
    if least is not None:
        low, high = np.maximum(low, least.low), np.maximum(high, least.high)
    if most is not None:
        low, high = np.minimum(low, most.low), np.minimum(high, most.high)
    inf = x.inf if not bool(np.all(np.isfinite(low) & np.isfinite(high))) else Level.NEVER
    return Range(low, high, at.dtype, at.shape, nan=x.nan, inf=inf)


def extreme(function: Callable[..., AnyArray]) -> Transfer:
    """Return the transfer of the larger or smaller of several."""

    def transfer(at: At) -> Range:
        low, high = at.take(0).low, at.take(0).high
        for i in range(1, len(at.inputs)):
            low, high = function(low, at.take(i).low), function(high, at.take(i).high)
        found = at.take(0).like(low, high, *at.inputs[1:], dtype=at.dtype, shape=at.shape)
        is_finite = bool(np.all(np.isfinite(low) & np.isfinite(high)))
        return replace(found, inf=Level.NEVER) if is_finite else found

    return transfer


# Conversions.


def _was_float64(at: At) -> bool:
    """Whether a conversion to float64 undoes one from it, as in the pullback of one, or around a float32 kernel."""
    if at.op.remark == "pullback of Cast":
        return True
    found = at.maker(at.op.inputs[0])
    while found is not None and found.kind != "Cast" and len(found.inputs) == 1:
        found = at.maker(found.inputs[0])
    source = None if found is None or found.kind != "Cast" else found.inputs[0]
    return source is not None and source.type.dtype == np.float64


def cast(at: At) -> Range:
    """Return the range of a conversion, and report a promotion to float64 and numbers that the dtype cannot hold."""
    x = at.take(0)
    to = at.dtype
    if is_floating(x.dtype) and x.dtype.itemsize < 8 and to == np.float64 and not _was_float64(at):
        at.note("promotion to float64", x, always=True)
    if to.kind == "b":
        sure = (x.low > 0) | (x.high < 0) | x.nonzero
        return Range(np.where(sure, 1.0, 0.0), np.where(is_zero(x) & (not x.nan), 0.0, 1.0), to, at.shape)
    if to.kind not in "iu" or not (is_floating(x.dtype) or x.dtype.kind in "iub"):
        return at.result(x.low, x.high, x, nonzero=x.nonzero and to.kind == "f" and to.itemsize >= x.dtype.itemsize)
    least, most = limits(to)
    low, high = np.trunc(x.low), np.trunc(x.high)
    out = bool(np.any((low < least) | (high > most))) or bool(x.nan or x.inf)
    if out and (bool(np.all(x.is_bounded)) or Level.CAN in {x.nan, x.inf}) and is_floating(x.dtype):
        at.note(f"conversion to {to} of a number that it cannot hold", x)
    return Range(np.asarray(least), np.asarray(most), to, at.shape) if out else Range(low, high, to, at.shape)


def cast_target(op: Op) -> np.dtype[Any]:
    """Return the dtype that a Cast converts to."""
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(op.attributes["to"]))


def modulo(at: At) -> Range:
    """Return the range of a remainder: between 0 and the divisor, of the divisor's sign, or with fmod of x's."""
    x, y = at.take(0), at.take(1)
    if bool(np.any(y.has_zero)):
        at.note("remainder of a division by 0", x, y, always=bool(np.any(is_zero(y))))
    nan = Level.CAN if bool(np.any(y.has_zero)) else x.inf
    largest = y.largest
    if at.op.attributes.get("fmod", 0):
        low, high = np.where(x.low < 0, -largest, 0.0), np.where(x.high > 0, largest, 0.0)
    else:
        low, high = np.where(y.low < 0, -largest, 0.0), np.where(y.high > 0, largest, 0.0)
    return Range(low, high, at.dtype, at.shape, nan=max(nan, x.nan, y.nan) if at.is_float else Level.NEVER)


def _softplus(x: AnyArray) -> AnyArray:
    return np.asarray(np.logaddexp(0.0, x))


def _sigmoid(x: AnyArray) -> AnyArray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _selu(x: AnyArray) -> AnyArray:
    scale, slope = 1.05070102214813232421875, 1.67326319217681884765625  # of the standard, in float32
    return np.where(x >= 0, scale * x, scale * slope * np.expm1(np.minimum(x, 0.0)))


def _softsign(x: AnyArray) -> AnyArray:
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def _positive_part(x: AnyArray) -> AnyArray:
    return np.maximum(x, 0.0)


FUNCTIONS: Mapping[str, Transfer] = {
    **ARITHMETIC, **CHOICES,
    "Abs": absolute, "Acos": in_domain(np.arccos, -1.0, 1.0, falls=True), "Acosh": in_domain(np.arccosh, 1.0, np.inf),
    "Asin": in_domain(np.arcsin, -1.0, 1.0), "Asinh": rising(np.arcsinh), "Atan": rising(np.arctan, (-2.0, 2.0)),
    "Atanh": in_domain(np.arctanh, -1.0, 1.0), "Cast": cast, "CastLike": cast, "Ceil": steps(np.ceil), "Clip": clip,
    "Cos": waves(np.cos), "Cosh": even(np.cosh), "Elu": elu, "Erf": rising(_erf, NEAR_ONE),
    "Exp": rising(np.exp, (0.0, np.inf), steep=True), "Floor": steps(np.floor), "Gelu": dipping(-0.1701),
    "HardSwish": dipping(-0.3751), "LeakyRelu": leaky, "Log": log, "Max": extreme(np.maximum),
    "Min": extreme(np.minimum), "Mish": dipping(-0.3089), "Mod": modulo, "Relu": steps(_positive_part),
    "Round": steps(np.rint), "Selu": rising(_selu, is_near_one=True),
    "Sigmoid": rising(_sigmoid, (0.0, 1.0), is_near_one=True), "Sign": rising(np.sign, (-1.0, 1.0), ulps=0),
    "Sin": waves(np.sin), "Sinh": rising(np.sinh, steep=True), "Softplus": rising(_softplus, (0.0, np.inf)),
    "Softsign": rising(_softsign, (-1.0, 1.0)), "Tan": tan,
    "Tanh": rising(np.tanh, NEAR_ONE),
}  # fmt: skip
"""The range of the result of each elementwise operator."""
