"""Derivative rules of operators that work element by element."""

from typing import Any

from primsplit.array import Array
from primsplit.broadcasting import sum_to
from primsplit.ops import op
from primsplit.rules.table import Pullback, no_gradient, partials, rrule

partials("Add", 1, 1)
partials("Sub", 1, -1)
partials("Mul", lambda x, y, z: y, lambda x, y, z: x)
partials("Neg", -1)
partials("Exp", lambda x, y: y)
partials("Log", lambda x, y: 1 / x)
partials("Sin", lambda x, y: op.Cos(x))
partials("Cos", lambda x, y: -op.Sin(x))
partials("Tanh", lambda x, y: 1 - y * y)
partials("Sigmoid", lambda x, y: y * (1 - y))
partials("Identity", 1)


@rrule("Div")
def divide(x: Array, y: Array) -> tuple[Array, Pullback]:
    """d(x / y) = dx / y - (x / y) dy / y."""
    z = op.Div(x, y)

    def pullback(dz: Array) -> tuple[Array, Array]:
        scaled = dz / y
        return sum_to(scaled, x.shape), sum_to(-(scaled * z), y.shape)

    return z, pullback


@rrule("Cast")
def cast(x: Array, *, to: int, saturate: int) -> tuple[Array, Pullback]:
    """Casting back; a cast from or to an integer has no tangent."""
    z = op.Cast(x, to=to)

    def pullback(dz: Array) -> tuple[Any]:
        return (op.Cast(dz, to=x.dtype),)

    return z, pullback


@rrule("Where")
def where(condition: Array, x: Array, y: Array) -> tuple[Array, Pullback]:
    """Each side gets the cotangent where it was chosen."""
    z = op.Where(condition, x, y)

    def pullback(dz: Array) -> tuple[None, Array, Array]:
        return None, sum_to(op.Where(condition, dz, 0), x.shape), sum_to(op.Where(condition, 0, dz), y.shape)

    return z, pullback


no_gradient("Shape", "Size", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor")
no_gradient("Sign", "Floor", "Ceil", "Round", "IsNaN", "IsInf")
