"""Derivative rules of operators that work element by element.

```
z = Mul(x, y)   ->   dx = sum_to(Mul(dz, y), x.shape), dy = sum_to(Mul(dz, x), y.shape)
```

Conventions, where a derivative does not exist: abs'(0) = 0. Max and Min share the cotangent evenly among the inputs
that attain the result. sqrt'(0) is infinite; see `numpy/quotients.py` for a zero cotangent. x**p has derivative 0 in x
at x = 0 for p = 0, and in p at x = 0 for p >= 0. Mod has the derivatives of the piece that its result is on. A
predicate, a rounding, a sign or an operation on bits has none.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Const
from primsplit.numpy.arithmetic import literal_power
from primsplit.numpy.quotients import root_quotient, signed, tangent_signed
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.units import number
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.rules.halves import compared_wide, wider
from primsplit.rules.table import Pullback, frule, no_gradient, partials, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to

no_gradient("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf")
no_gradient("Sign", "Floor", "Ceil", "Round")
no_gradient("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor")
no_gradient("Shape", "Size")

partials("Identity", 1)
partials("Neg", -1)
partials("Add", 1, 1)
partials("Sub", 1, -1)
partials("Mul", lambda x, y, z: y, lambda x, y, z: x)
partials("Reciprocal", lambda x, y: -(y * y))

partials("Exp", lambda x, y: y)
partials("Sin", lambda x, y: op.Cos(x))
partials("Cos", lambda x, y: -op.Sin(x))
partials("Tan", lambda x, y: 1.0 + y * y)
partials("Sinh", lambda x, y: op.Cosh(x))
partials("Cosh", lambda x, y: op.Sinh(x))
partials("Tanh", lambda x, y: 1.0 - y * y)
partials("Erf", lambda x, y: op.Exp(-(x * x)) * (2.0 / math.sqrt(math.pi)))


@rrule("Abs")
def absolute(x: Array) -> tuple[Array, Pullback]:
    """The cotangent with the sign of x, 0 at 0."""
    return op.Abs(x), lambda dy: signed(dy, x)


@frule("Abs")
def absolute_forward(x: Array) -> tuple[Array, Pullback]:
    """The tangent with the sign of x, 0 at 0."""
    return op.Abs(x), lambda t: tangent_signed(t, x)


def quotient(kind: str, divisor: Callable[[Array, Array], Array]) -> None:
    """Register a unary operator whose derivative is 1 over this function of its input and output."""
    operator = getattr(later, kind)

    def rule(x: Array) -> tuple[Array, Pullback]:
        y = operator(x)
        return y, lambda dy: dy / divisor(x, y)

    rrule(kind)(rule)


quotient("Log", lambda x, y: x)
quotient("Asin", lambda x, y: op.Sqrt((1.0 - x) * (1.0 + x)))
quotient("Acos", lambda x, y: -op.Sqrt((1.0 - x) * (1.0 + x)))
quotient("Atan", lambda x, y: 1.0 + x * x)
quotient("Asinh", lambda x, y: op.Sqrt(1.0 + x * x))
quotient("Acosh", lambda x, y: op.Sqrt(x - 1.0) * op.Sqrt(x + 1.0))
quotient("Atanh", lambda x, y: (1.0 - x) * (1.0 + x))


@rrule("Sqrt")
def sqrt(x: Array) -> tuple[Array, Pullback]:
    """dy / (2 y); infinite at 0, but 0 where dy is 0 there and stays so (see `numpy/quotients.py`)."""
    y = op.Sqrt(x)
    return y, lambda dy: root_quotient(dy * 0.5, y)


@rrule("Div")
def divide(x: Array, y: Array) -> tuple[Array, Pullback]:
    """d(x / y) = dx / y - (x / y) dy / y."""
    z = op.Div(x, y)

    def pullback(dz: Array) -> tuple[Array, Array]:
        scaled = dz / y
        return sum_to(scaled, x.shape), -sum_to(scaled * z, y.shape)

    return z, pullback


@rrule("Mod")
def modulo(x: Array, y: Array, *, fmod: int) -> tuple[Array, Pullback]:
    """Floats have the remainder with the sign of x: d/dx = 1, d/dy = -trunc(x / y), from the exact quotient."""
    z = op.Mod(x, y, fmod=fmod)

    def pullback(dz: Array) -> tuple[Array, Array]:
        return sum_to(dz, x.shape), -sum_to(dz * op.Round((x - z) / y), y.shape)

    return z, pullback


@rrule("Pow")
def power(x: Array, p: Array) -> tuple[Array, Pullback]:
    """p x**(p-1) in x, x**p log(x) in p. A literal exponent is multiplied out, here and in the pullback."""
    exponent = number(p, len(x.shape))
    z = op.Pow(x, p) if exponent is None else literal_power(x, exponent)

    def pullback(dz: Array) -> tuple[Array | None, Array | None]:
        dx = None if exponent == 0 else sum_to(dz * _slope_in_base(x, p, exponent), x.shape)
        if not p.type.is_float:
            return dx, None
        dp = cast_to(dz, wider(x.dtype, p.dtype)) * _slope_in_exponent(x, p, z)
        return dx, cast_to(sum_to(dp, p.shape), p.dtype)

    return z, pullback


def _slope_in_base(x: Array, p: Array, exponent: float | None) -> Array | float:
    """p x**(p-1), but 0 for 0**0."""
    if exponent is not None:
        return 1.0 if exponent == 1 else literal_power(x, exponent - 1) * float(exponent)
    factor = cast_to(p, x.dtype)
    lower = _with_room(p, x) - 1
    known = p.known()
    if known is not None and known.all():
        return op.Pow(x, lower) * factor
    constant = op.And(op.Equal(p, np.zeros((), p.dtype)), op.Equal(x, 0.0))
    return op.Pow(op.Where(constant, 1.0, x), lower) * factor


def _with_room(p: Array, x: Array) -> Array:
    """Return the exponent in a dtype in which 1 less neither wraps around nor is rounded more than the base is."""
    if p.type.is_float:
        return cast_to(p, wider(x.dtype, p.dtype))
    return p if p.dtype == np.int64 else op.Cast(p, to=np.float64 if p.dtype == np.uint64 else np.int64)


def _slope_in_exponent(x: Array, p: Array, z: Array) -> Array:
    """Return x**p log(x), but 0 for x = 0 and p > 0; in the wider dtype of both."""
    dtype = wider(x.dtype, p.dtype)
    power, known = cast_to(z, dtype), x.known()
    if known is not None and (known > 0).all():
        return op.Mul(power, op.Log(cast_to(x, dtype)))
    constant = op.And(op.Equal(x, np.zeros((), x.dtype)), op.Greater(p, 0.0))
    return power * op.Log(op.Where(constant, 1.0, cast_to(x, dtype)))


@rrule("Cast")
def cast(x: Array, *, to: int, saturate: int) -> tuple[Array, Pullback]:
    """Casting back; a cast from or to an integer has no tangent."""
    return op.Cast(x, to=to), lambda dz: op.Cast(dz, to=x.dtype)


@rrule("CastLike")
def cast_like(x: Array, target: Array, *, saturate: int) -> tuple[Array, Pullback]:
    """Casting back."""
    return op.CastLike(x, target), lambda dz: (op.Cast(dz, to=x.dtype), None)


@rrule("Where")
def where(condition: Array, x: Array, y: Array) -> tuple[Array, Pullback]:
    """Each side gets the cotangent where it was chosen, and 0 elsewhere, also of an infinite cotangent."""
    z = op.Where(condition, x, y)

    def pullback(dz: Array) -> tuple[None, Array, Array]:
        return None, sum_to(op.Where(condition, dz, 0), x.shape), sum_to(op.Where(condition, 0, dz), y.shape)

    return z, pullback


@rrule("Sum")
def add_all(*inputs: Array) -> tuple[Array, Pullback]:
    """Every input gets the cotangent."""
    return op.Sum(*inputs), lambda dz: [sum_to(dz, x.shape) for x in inputs]


@rrule("Mean")
def mean(*inputs: Array) -> tuple[Array, Pullback]:
    """Every input gets its share of the cotangent."""

    def pullback(dz: Array) -> list[Array]:
        share = dz * (1.0 / len(inputs))
        return [sum_to(share, x.shape) for x in inputs]

    return op.Mean(*inputs), pullback


def _extreme(kind: str, beats: Callable[[Array, Array], Array]) -> None:
    operator = getattr(later, kind)

    def rule(*inputs: Array) -> tuple[Array, Pullback]:
        z = operator(*inputs)

        def pullback(dz: Array) -> list[Array]:
            if len(inputs) == 2:
                return _shares_of_two(dz, inputs[0], inputs[1], beats)
            return _shares(dz, inputs, z)

        return z, pullback

    rrule(kind)(compared_wide(rule, lambda inputs, _: len(inputs) != 2))


def _shares_of_two(dz: Array, x: Array, y: Array, beats: Callable[[Array, Array], Array]) -> list[Array]:
    """Give all of the cotangent to the winner; half to each of a tie, and if one is NaN.

    If both are variables, the factor of a tie is computed apart from the cotangent: a loop computes it for all steps at
    once.
    """
    first, second = beats(x, y), beats(y, x)
    if isinstance(x.value, Const) or isinstance(y.value, Const):
        half = dz * 0.5
        dx, dy = (op.Where(a, dz, op.Where(b, 0.0, half)) for a, b in ((first, second), (second, first)))
    else:
        share = dz * op.Where(op.Or(first, second), np.ones((), dz.dtype), np.full((), 0.5, dz.dtype))
        dx, dy = op.Where(second, 0.0, share), op.Where(first, 0.0, share)
    return [sum_to(dx, x.shape), sum_to(dy, y.shape)]


def _shares(dz: Array, inputs: Sequence[Array], z: Array) -> list[Array]:
    """Share the cotangent evenly among those that attain the result."""
    attained = [op.Equal(x, z) for x in inputs]
    count: Any = op.Sum(*(cast_to(a, dz.dtype) for a in attained))
    share = dz / count
    return [sum_to(op.Where(a, share, 0.0), x.shape) for a, x in zip(attained, inputs, strict=True)]


_extreme("Max", later.Greater)
_extreme("Min", later.Less)
