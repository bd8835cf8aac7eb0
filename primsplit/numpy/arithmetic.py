"""NumPy's arithmetic ufuncs: sums, products, powers, signs."""

import math
from collections.abc import Callable

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import DtypeError
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.approximations.signs import is_negative
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.numpy.units import is_bool, is_signed, is_whole, number, same, unit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import Array, implements
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.broadcasting import ones_like, sum_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule

LARGEST_CHAIN = 16
"""The largest exponent that is multiplied out: the error of a chain for x**n is at most (n - 1) / 2 ulp."""


@elementwise("add")
def add(x: Array, y: Array) -> Array:
    """Of bools, their disjunction."""
    return op.Or(x, y) if is_bool(x) else op.Add(x, y)


@elementwise("multiply")
def multiply(x: Array, y: Array) -> Array:
    """Of bools, their conjunction."""
    return op.And(x, y) if is_bool(x) else op.Mul(x, y)


@elementwise("subtract")
def subtract(x: Array, y: Array) -> Array:
    """The difference."""
    return op.Sub(x, y)


@elementwise("divide")
def divide(x: Array, y: Array) -> Array:
    """Return the quotient of floats; NumPy's true division has no integer form."""
    return op.Div(x, y)


@elementwise("negative")
def negative(x: Array) -> Array:
    """Of unsigned integers, the complement to 2**bits."""
    return op.Sub(np.zeros((), x.dtype), x) if x.dtype.kind == "u" else op.Neg(x)


@elementwise("positive", "conjugate")
def positive(x: Array) -> Array:
    """The value itself."""
    return same(x)


@implements(np.conjugate)
def conjugate(x: Array) -> Array:
    """The method `conj` of a real array: the array itself, where the function makes a copy."""
    return x


@elementwise("absolute", "fabs")
def absolute(x: Array) -> Array:
    """The distance from 0."""
    return same(x) if x.dtype.kind in "bu" else op.Abs(x)


@elementwise("sign")
def sign(x: Array) -> Array:
    """-1, 0 or 1; NaN for NaN, which onnxruntime's float16 Sign forgets."""
    return op.Where(op.IsNaN(x), x, op.Sign(x)) if x.dtype == np.float16 else op.Sign(x)


@elementwise("copysign")
def copysign(x: Array, y: Array) -> Array:
    """|x| with the sign bit of y, of -0.0 too; the sign of a NaN counts as positive."""
    return op.Abs(x) * op.Where(is_negative(y), np.asarray(-1.0, x.dtype), 1.0)


@elementwise("signbit")
def signbit(x: Array) -> Array:
    """Return whether x is negative or -0.0; False for NaN."""
    return is_negative(x)


square_of_float = unit("square", lambda x: op.Mul(x, x), lambda dz, x, z: dz * 2.0 * x)


def _reciprocal_root(x: Array) -> Array:
    """1 / sqrt(x) as NumPy's power has it: infinite at -0.0, and 0 at both infinities."""
    return op.Where(op.IsInf(x), np.zeros((), x.dtype), op.Reciprocal(op.Abs(op.Sqrt(x))))


reciprocal_root = unit("reciprocal_root", _reciprocal_root, lambda dz, x, z: dz * -0.5 * z / x)


@elementwise("square")
def square(x: Array) -> Array:
    """x * x."""
    return op.Mul(x, x) if is_whole(x) else square_of_float(x)


@elementwise("reciprocal")
def reciprocal(x: Array) -> Array:
    """1 / x; of integers rounded towards 0, and 0 for 0."""
    if not is_whole(x):
        return op.Reciprocal(x)
    one, zero = np.ones((), x.dtype), np.zeros((), x.dtype)
    is_zero = op.Equal(x, zero)
    return op.Where(is_zero, zero, op.Div(one, op.Where(is_zero, one, x)))


@elementwise("power", "float_power")
def power(x: Array, y: Array) -> Array:
    """x**y. A literal exponent is multiplied out; see `literal_power`.

    A run that gives integers a negative exponent fails.
    """
    exponent = number(y, len(x.shape))
    if exponent is None:
        if is_whole(x) and is_signed(y):
            y = _not_negative(y)
        return op.Pow(x, y) if x.dtype.name in POWERS else cast_to(op.Pow(cast_to(x, np.int64), y), x.dtype)
    if is_whole(x):
        return _integer_power(x, exponent)
    return literal_power(x, exponent)


POWERS = frozenset({"float16", "bfloat16", "float32", "float64", "int32", "int64"})


def _not_negative(exponents: Array) -> Array:
    known = exponents.known()
    if known is None:
        negative = ValueError("Integers to negative integer powers are not allowed.")
        return checked(exponents, op.Less(exponents, 0), negative)
    if (known < 0).any():
        raise _negative_exponent()
    return exponents


def _negative_exponent() -> DtypeError:
    error = DtypeError(
        "integers to negative integer powers are not allowed",
        place=tracing.user_place(),
        cure="Make the base floating point.",
    )
    error.numpys = ValueError("Integers to negative integer powers are not allowed.")
    return error


def _integer_power(x: Array, exponent: int) -> Array:
    if exponent < 0:
        raise _negative_exponent()
    return ones_like(x) if exponent == 0 else _chain(x, exponent)


def literal_power(x: Array, exponent: float) -> Array:
    """x**exponent for floats: by products for small whole exponents, by Sqrt for halves, else by Pow.

    x**0 is 1 for every x, NaN too.
    """
    if exponent in SPECIAL_POWERS:
        return SPECIAL_POWERS[exponent](x)
    if float(exponent).is_integer() and abs(exponent) <= LARGEST_CHAIN:
        found: Array = integer_power(x, int(exponent))
        return found
    return op.Pow(x, np.asarray(exponent, x.dtype))


SPECIAL_POWERS: dict[float, Callable[[Array], Array]] = {
    0: ones_like,
    1: same,
    2: square_of_float,
    -1: later.Reciprocal,
    0.5: later.Sqrt,
    -0.5: reciprocal_root,
}


@primitive
def integer_power(x: Array, exponent: int) -> Array:
    """x**exponent by repeated squaring; for a negative exponent the reciprocal of that."""
    return _chain(x, exponent) if exponent > 0 else op.Reciprocal(_chain(x, -exponent))


@rrule(integer_power)
def _integer_power_rule(x: Array, exponent: int) -> tuple[Array, Function]:
    """n x**(n-1), computed from x, so that it overflows only where it must.

    The factor n goes to the cotangent, which often is a number or smaller than x.
    """
    z = integer_power(x, exponent)

    def pullback(dz: Array) -> tuple[Array, None]:
        return sum_to(dz * float(exponent) * literal_power(x, exponent - 1), x.shape), None

    return z, pullback


def _chain(x: Array, exponent: int) -> Array:
    result: Array | None = None
    while True:
        if exponent & 1:
            result = x if result is None else op.Mul(result, x)
        exponent >>= 1
        if not exponent:
            return same(x) if result is None else result
        x = op.Mul(x, x)


@elementwise("ldexp")
def ldexp(x: Array, exponent: Array) -> Array:
    """x * 2**exponent, the power in thirds, so that none overflows before the product does."""
    limits = float_limits(x)
    enough = float(limits.maxexp - limits.minexp + limits.nmant + 2)
    whole = op.Clip(cast_to(exponent, np.float64), -enough, enough)
    third = op.Floor(whole * (1.0 / 3.0))
    half = op.Floor((whole - third) * 0.5)
    for part in (third, half, whole - third - half):
        x = x * cast_to(op.Pow(2.0, part), x.dtype)
    return x


@elementwise("frexp")
def frexp(x: Array) -> tuple[Array, Array]:
    """Mantissa in [1/2, 1) and exponent, from a rounded log2 that is put right by one step each way."""
    ordinary = op.And(op.Abs(x) < math.inf, op.Not(op.Equal(x, 0.0)))
    size = op.Where(ordinary, op.Abs(x), 1.0)
    guess = op.Floor(op.Log(size) * (1.0 / math.log(2.0))) + 1.0
    scaled = ldexp(size, -guess)
    step = cast_to(scaled >= 1.0, x.dtype) - cast_to(scaled < 0.5, x.dtype)
    exponent = op.Where(ordinary, guess + step, 0.0)
    return ldexp(x, -exponent), cast_to(exponent, np.int32)
