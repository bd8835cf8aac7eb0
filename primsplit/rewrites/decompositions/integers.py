"""Decompose integer and bool operators that onnxruntime lacks or computes wrongly, through a wider dtype that is exact.

Casts between integers keep the low bits, as in NumPy, so a result that wraps is the same after a round trip through a
wider dtype. uint64 has no wider one and goes through int64 with the same bits; if order matters, with the sign bit
flipped on the way in and out, which keeps the order.

COMPOSITIONS replace operators that have no kernel. CORRECTED replace kernels of onnxruntime 1.31.1 that return wrong
numbers without an error: int64 Max, Min, Clip, Sign, ReduceMax and ReduceMin of values that differ by more than 2**31
(Eigen's comparison of packed int64), and those that compute in double: integer Pow and int32 ReduceSum, which saturate,
and int64 ReduceSum, which is inexact from 2**53 on. ReduceProd and Einsum of int64 are left as they are, exact below
2**53; products of NumPy's functions are folded (`numpy/scans.py`). CumSum, MatMul, Add and Mul are exact and wrap.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.regions import record

Composition = Callable[..., Any]
LOWEST = np.array(np.iinfo(np.int64).min)
WIDER: dict[str, type[np.generic]] = {
    "bool": np.int32,
    "int8": np.int32,
    "uint8": np.int32,
    "int16": np.int32,
    "uint16": np.int32,
    "int32": np.int64,
    "uint32": np.int64,
    "uint64": np.int64,
}
# float64 holds uint32, and its comparisons are sound.
ORDERED_WIDER: dict[str, type[np.generic]] = {**WIDER, "uint32": np.float64}


def widened(kind: str, *, ordered: bool = False, restored: bool = True) -> Composition:
    """Return an operator that widens its inputs of the first input's dtype; the others stay.

    ordered: the result depends on the order of the values. restored: the first output has the first input's dtype.
    """

    def composition(*inputs: Array | None, **attributes: Any) -> Any:
        dtype = next(value.dtype for value in inputs if value is not None)
        wide = [value if value is None or value.dtype != dtype else widen(value, ordered=ordered) for value in inputs]
        results = getattr(op, kind)(*wide, **attributes)
        if not restored:
            return results
        if isinstance(results, tuple):
            return (narrow(results[0], dtype, ordered=ordered), *results[1:])
        return narrow(results, dtype, ordered=ordered)

    composition.__name__ = kind
    composition.__doc__ = f"{kind} in a wider dtype."
    return composition


def widen(x: Array, *, ordered: bool) -> Array:
    """Return the same values in a wider dtype; uint64 as int64 with the same bits, or with the same order."""
    wide = op.Cast(x, to=(ORDERED_WIDER if ordered else WIDER)[x.dtype.name])
    return op.BitwiseXor(wide, LOWEST) if ordered and x.dtype == np.uint64 else wide


def narrow(x: Array, dtype: np.dtype[Any], *, ordered: bool) -> Array:
    """Convert back from `widen`."""
    return op.Cast(op.BitwiseXor(x, LOWEST) if ordered and dtype == np.uint64 else x, to=dtype)


def where(condition: Array, x: Array, y: Array) -> Array:
    """Return Where for the dtypes without a kernel."""
    chosen = op.Where(condition, widen(x, ordered=False), widen(y, ordered=False))
    return narrow(chosen, x.dtype, ordered=False)


def shift(x: Array, by: Array, *, direction: str) -> Array:
    """BitShift of uint16, through uint32."""
    wide = (op.Cast(value, to=np.uint32) for value in (x, by))
    return op.Cast(op.BitShift(*wide, direction=direction), to=x.dtype)


def divide(x: Array, y: Array) -> Array:
    """Div, truncated. uint64 by half of it, which int64 holds, plus one if the rest is at least y."""
    if x.dtype != np.uint64:
        quotient: Array = widened("Div")(x, y)
        return quotient
    small = op.Cast(y, to=np.int64)
    is_large = op.Less(small, np.int64(0))
    divisor = op.Where(is_large, np.int64(1), small)
    half = op.Cast(op.BitShift(x, np.uint64(1), direction="RIGHT"), to=np.int64)
    twice = op.Mul(op.Div(half, divisor), np.int64(2))
    rest = op.Cast(op.Sub(op.Cast(x, to=np.int64), op.Mul(twice, divisor)), to=np.uint64)
    more = op.Cast(op.GreaterOrEqual(rest, y), to=np.int64)
    found = op.Where(is_large, op.Cast(op.GreaterOrEqual(x, y), to=np.int64), op.Add(twice, more))
    return op.Cast(found, to=np.uint64)


def moved_as_float(kind: str) -> Composition:
    """Return an operator that moves elements, applied to bytes as float32, which holds them."""

    def composition(x: Array, **attributes: Any) -> Any:
        return op.Cast(getattr(op, kind)(op.Cast(x, to=np.float32), **attributes), to=x.dtype)

    composition.__name__ = kind
    return composition


def relu(x: Array) -> Array:
    """max(x, 0) of integers."""
    wide = op.Cast(x, to=np.int64)
    return op.Cast(op.Where(op.Greater(wide, 0), wide, np.int64(0)), to=x.dtype)


def unique(x: Array, **attributes: Any) -> tuple[Array, ...]:
    """Unique with all four outputs, through int64."""
    wide = widen(x, ordered=True) if x.dtype == np.uint64 else op.Cast(x, to=np.int64)
    values, *places = op.Unique(wide, outputs=4, **attributes)
    return narrow(values, x.dtype, ordered=True), *places


@fault(
    "integer_power_in_double",
    kind="wrong",
    operators=("Pow",),
    says="Pow of integers is computed in float64: results beyond 2**53 are inexact, or saturate.",
)
def power(base: Array, exponent: Array) -> Array:
    """base**exponent; of integers exact modulo the range of the base's dtype, by squaring.

    For a negative exponent, base 1 gives 1, base -1 its sign, and any other 0. A floating base or exponent makes it a
    power of doubles, to which onnxruntime's Pow casts an exponent of 32 or 64 bits.
    """
    dtype = base.dtype
    if dtype.kind == "f":
        return op.Pow(base, op.Cast(exponent, to=np.float64 if exponent.dtype == np.uint64 else np.int64))
    if exponent.dtype.kind == "f":
        return op.Cast(op.Pow(*(op.Cast(value, to=np.float64) for value in (base, exponent))), to=dtype)
    base, rest = op.Cast(base, to=np.int64), op.Cast(exponent, to=np.int64)
    result = Array(tracing.constant(np.ones((), np.int64)))
    if exponent.dtype.kind == "i":
        is_unit = op.Equal(op.Mul(base, base), 1)
        result = op.Cast(op.Or(op.GreaterOrEqual(rest, 0), is_unit), to=np.int64)
        rest = op.Abs(rest)
    elif exponent.dtype == np.uint64:
        rest = op.Where(op.Less(rest, 0), op.BitwiseOr(op.BitwiseAnd(rest, PERIOD - 1), PERIOD), rest)
    steps = _bits_of(exponent)
    for _ in range(min(steps, UNROLLED)):
        result, base, rest = _power_step(result, base, rest)
    if steps > UNROLLED:
        result = _long_power(result, base, rest)
    return op.Cast(result, to=dtype)


PERIOD = np.int64(2**62)
"""The powers of an odd number modulo 2**64 repeat after so many; those of an even one are 0 by then."""
UNROLLED = 8
"""The number of bits of an exponent that are processed without a loop."""


def _bits_of(exponent: Array) -> int:
    """Return how many bits the magnitude of an exponent may have."""
    known = exponent.known()
    if known is not None and known.size:
        return max(abs(int(known.min())), abs(int(known.max()))).bit_length()
    return 8 * exponent.dtype.itemsize


def _power_step(result: Array, base: Array, rest: Array) -> tuple[Array, Array, Array]:
    """Return the result, times the base if the lowest bit is set; the base squared; and the other bits."""
    is_odd = op.Equal(op.BitwiseAnd(rest, np.int64(1)), 1)
    return op.Where(is_odd, op.Mul(result, base), result), op.Mul(base, base), op.Div(rest, np.int64(2))


def _long_power(result: Array, base: Array, rest: Array) -> Array:
    """Return the result times base**rest, in a Loop that ends at once if no bits are left."""
    is_some = op.Greater(op.Size(op.NonZero(rest)), 0)
    trips = op.Mul(op.Cast(is_some, to=np.int64), np.int64(64 - UNROLLED))
    carried = [expand_to(base, result.shape), expand_to(rest, result.shape)]

    def step(_: Array, going: Array, *state: Array) -> list[Value]:
        return [going.value, *(x.value for x in _power_step(*state))]

    state = [result, *carried]
    types = [x.type for x in state]
    body = record("power", [Type(np.int64, ()), Type(np.bool_, ()), *types], step)
    inputs = [trips.value, op.Identity(np.array(True)).value, *(x.value for x in state)]
    return Array(tracing.emit("Loop", inputs, {"body": body}, outputs=len(types), types=types)[0])


@fault(
    "int64_compared_in_32_bits",
    kind="wrong",
    operators=("Max", "Min", "Clip", "Sign", "ReduceMax", "ReduceMin"),
    says="int64 numbers that differ by more than 2**31 are compared wrongly, on some processors.",
)
def maximum(*arrays: Array) -> Array:
    """Max of int64, by comparing pairs."""
    largest = arrays[0]
    for array in arrays[1:]:
        largest = op.Where(op.Greater(largest, array), largest, array)
    return largest


def minimum(*arrays: Array) -> Array:
    """Min of int64, by comparing pairs."""
    smallest = arrays[0]
    for array in arrays[1:]:
        smallest = op.Where(op.Less(smallest, array), smallest, array)
    return smallest


def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    """Clip of int64."""
    bounded = x if low is None else maximum(x, low)
    return bounded if high is None else minimum(bounded, high)


def sign(x: Array) -> Array:
    """Sign of int64."""
    return op.Sub(*(op.Cast(compare(x, 0), to=x.dtype) for compare in (op.Greater, op.Less)))


def reduce_max(x: Array, axes: Array | None = None, **attributes: Any) -> Array:
    """ReduceMax of int64 and uint64: of the upper halves, then of the lower halves beside the largest upper one."""
    return _from_bits(_largest_bits(_ordered_bits(x), axes, attributes), x.dtype)


def reduce_min(x: Array, axes: Array | None = None, **attributes: Any) -> Array:
    """ReduceMin of int64 and uint64: the complement reverses the order."""
    largest = _largest_bits(op.BitwiseNot(_ordered_bits(x)), axes, attributes)
    return _from_bits(op.BitwiseNot(largest), x.dtype)


def _largest_bits(bits: Array, axes: Array | None, attributes: dict[str, Any]) -> Array:
    """The maximum of uint64, in halves, which float64 holds exactly."""
    half = np.uint64(32)
    upper = op.Cast(op.BitShift(bits, half, direction="RIGHT"), to=np.float64)
    lower = op.Cast(op.BitwiseAnd(bits, np.uint64(2**32 - 1)), to=np.float64)
    beside = op.Equal(upper, op.ReduceMax(upper, axes, **{**attributes, "keepdims": 1}))
    parts = [op.ReduceMax(part, axes, **attributes) for part in (upper, op.Where(beside, lower, 0.0))]
    high, low = (op.Cast(part, to=np.uint64) for part in parts)
    return op.BitwiseOr(op.BitShift(high, half, direction="LEFT"), low)


def _ordered_bits(x: Array) -> Array:
    """Return int64 or uint64 as uint64 with the same order."""
    return x if x.dtype == np.uint64 else op.Cast(op.BitwiseXor(x, LOWEST), to=np.uint64)


def _from_bits(bits: Array, dtype: np.dtype[Any]) -> Array:
    """Convert back from `_ordered_bits`."""
    return bits if dtype == np.uint64 else op.BitwiseXor(op.Cast(bits, to=np.int64), LOWEST)


def wide_or_halves(kind: str, halves: Composition) -> Composition:
    """Return a reduction: in a wider dtype, but uint64 in halves."""
    wide = widened(kind, ordered=True)

    def composition(x: Array, axes: Array | None = None, **attributes: Any) -> Any:
        return (halves if x.dtype == np.uint64 else wide)(x, axes, **attributes)

    composition.__name__ = kind
    return composition


LIMB = 22
"""The number of bits of a part of an int64: 2**31 such parts add up exactly in double."""


@fault(
    "int64_sum_in_double",
    kind="wrong",
    operators=("ReduceSum",),
    says="ReduceSum of int64 is computed in float64: it is inexact beyond 2**53.",
    since="1.27",
)
@fault(
    "int32_sum_in_double",
    kind="wrong",
    operators=("ReduceSum",),
    says="ReduceSum of int32 is computed in float64, and saturates where the standard wraps.",
    since="1.27",
)
def reduce_sum(x: Array, axes: Array | None = None, **attributes: Any) -> Array:
    """Return the sum of int64 or int32, which wraps: the sums of parts of 22 bits, the highest signed, in double."""
    if x.dtype == np.int32:
        return op.Cast(_sum_of_limbs(op.Cast(x, to=np.int64), 2, axes, attributes), to=np.int32)
    return _sum_of_limbs(x, 3, axes, attributes)


def _sum_of_limbs(x: Array, count: int, axes: Array | None, attributes: dict[str, Any]) -> Array:
    terms = []
    rest, mask, base = x, np.int64(2**LIMB - 1), np.int64(2**LIMB)
    for place in range(count):
        part = rest if place == count - 1 else op.BitwiseAnd(rest, mask)
        added = op.Cast(op.ReduceSum(op.Cast(part, to=np.float64), axes, **attributes), to=np.int64)
        terms.append(op.Mul(added, np.int64(2 ** (LIMB * place))))
        rest = op.Div(op.Sub(rest, part), base)
    return functools.reduce(op.Add, terms)


SUMS = kinds_where(lambda t: t.reduces) - {"ReduceMax", "ReduceMin"}
ORDERS = kinds_where(lambda t: t.compares == "order")
COMPOSITIONS: dict[str, Composition] = {
    "Where": where,
    "BitShift": shift,
    "Relu": relu,
    "Pow": power,
    "Unique": unique,
    "ReduceMax": wide_or_halves("ReduceMax", reduce_max),
    "ReduceMin": wide_or_halves("ReduceMin", reduce_min),
    **{kind: widened(kind) for kind in (*SUMS, "CumSum", "Einsum", "Trilu", "Pad")},
    **{kind: widened(kind) for kind in ("Add", "Sub", "Mul", "Neg")},
    "Div": divide,
    **{kind: moved_as_float(kind) for kind in ("DepthToSpace", "SpaceToDepth")},
    **{kind: widened(kind, ordered=True, restored=False) for kind in ORDERS},
    "Equal": widened("Equal", restored=False),
    **{kind: widened(kind, ordered=True) for kind in ("Clip", "Max", "Min", "TopK")},
    **{kind: widened(kind, ordered=True, restored=False) for kind in ("ArgMax", "ArgMin")},
}

CORRECTED: dict[str, Composition] = {
    "Max": maximum,
    "Min": minimum,
    "Clip": clip,
    "Sign": sign,
    "ReduceMax": reduce_max,
    "ReduceMin": reduce_min,
    "ReduceSum": reduce_sum,
    "Pow": power,
}
