"""The derivatives of scalar functions: for each argument, its cotangent from that of the value.

A row has a formula for each argument, of the cotangent `dz`, the value `z` and the arguments. A formula reads `z`
instead of the arguments where it can, because `z` is often kept already. Conventions are the package's: the derivative
of abs at 0 is 0, equal arguments of maximum and minimum get half each, clip has derivative 1 at its bounds, sqrt at 0
infinity, but 0 for a cotangent of 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from primsplit.frontends.loops.functions import FUNCTIONS, TRUTHS
from primsplit.frontends.loops.terms import Term

Partial = Callable[..., Term]

FLAT = TRUTHS | {"sign", "floor", "ceil", "rint", "floor_divide"}
"""The functions whose derivative is 0 wherever they have one."""


def partial(function: str, argument: int, dz: Term, z: Term, arguments: Sequence[Term]) -> Term | None:
    """The cotangent of an argument; None where it is always 0.

    A function that the table does not have is taken for one of the user's: its derivative is the function
    `derivative_name(function, argument)` of the same arguments.
    """
    if function in FLAT:
        return None
    row = PARTIALS.get(function)
    if row is not None:
        return row[argument](dz, z, *arguments)
    assert function not in FUNCTIONS, f"{function} has no row"
    first, *rest = arguments
    return dz * first.apply(derivative_name(function, argument), *rest)


def derivative_name(function: str, argument: int) -> str:
    """The name of a derivative of a user's function: `softplus'0`; of the second one, `softplus'0'0`."""
    return f"{function}'{argument}"


def _sqrt(dz: Term, z: Term, x: Term) -> Term:
    return 0.5 * dz / z.apply("off_zero")


def _power_base(dz: Term, z: Term, x: Term, p: Term) -> Term:
    """p x**(p - 1), but 0 for 0**0."""
    if p.number is not None:
        return dz * p * _raised(x, p.number - 1)
    constant = p.equal(0.0) & x.equal(0.0)
    return dz * p * constant.where(1.0, x).apply("power", p - 1)


def _raised(x: Term, exponent: float) -> Term:
    """x**exponent, without a power where none is needed."""
    if exponent == 2:
        return x.apply("square")
    return x if exponent == 1 else x.apply("power", exponent)


def _power_exponent(dz: Term, z: Term, x: Term, p: Term) -> Term:
    """x**p log(x), but 0 for x = 0 and p >= 0."""
    constant = x.equal(0.0) & p.apply("greater_equal", 0.0)
    return dz * z * constant.where(1.0, x).apply("log")


def _chosen(dz: Term, x: Term, y: Term, better: str) -> Term:
    """All of the cotangent where x is the better one, half of it where both are."""
    return x.apply(better, y).where(dz, x.equal(y).where(0.5 * dz, 0.0))


def _times_share(dz: Term, z: Term, x: Term, y: Term) -> Term:
    """dz times the share of x in exp(z) = exp(x) + exp(y); NaN for equal infinities unless dz is 0.

    There dz is divided by the smallest number twice: infinity times 0 is NaN, and 0 stays 0.
    """
    difference = x - y
    is_defined = difference.equal(difference)
    divisor = is_defined.where(1.0, x.of(0.0).apply("off_zero"))
    share = is_defined.where(x - z, 0.0).apply("exp")
    return dz / divisor / divisor * is_defined.where(share, 0.0)


def _inside(dz: Term, x: Term, low: Term, high: Term) -> Term:
    return (x.apply("greater_equal", low) & x.apply("less_equal", high)).where(dz, 0.0)


PARTIALS: Mapping[str, tuple[Partial, ...]] = {
    "negative": (lambda dz, z, x: -dz,),
    "absolute": (lambda dz, z, x: dz * x.apply("sign"),),
    "square": (lambda dz, z, x: 2.0 * x * dz,),
    "reciprocal": (lambda dz, z, x: -(dz * z * z),),
    "sqrt": (_sqrt,),
    "cbrt": (lambda dz, z, x: dz / (3.0 * z * z),),
    "off_zero": (lambda dz, z, x: x.above(0.0).where(dz, 0.0),),
    "relu": (lambda dz, z, x: z.above(0.0).where(dz, 0.0),),
    "expit": (lambda dz, z, x: dz * z * (1.0 - z),),
    "exp": (lambda dz, z, x: dz * z,),
    "exp2": (lambda dz, z, x: math.log(2.0) * dz * z,),
    "exp10": (lambda dz, z, x: math.log(10.0) * dz * z,),
    "expm1": (lambda dz, z, x: dz * (z + 1.0),),
    "log": (lambda dz, z, x: dz / x,),
    "log2": (lambda dz, z, x: dz / (math.log(2.0) * x),),
    "log10": (lambda dz, z, x: dz / (math.log(10.0) * x),),
    "log1p": (lambda dz, z, x: dz / (1.0 + x),),
    "sin": (lambda dz, z, x: dz * x.apply("cos"),),
    "cos": (lambda dz, z, x: -(dz * x.apply("sin")),),
    "tan": (lambda dz, z, x: dz * (1.0 + z * z),),
    "cot": (lambda dz, z, x: -(dz * (1.0 + z * z)),),
    "arcsin": (lambda dz, z, x: dz / ((1.0 - x) * (1.0 + x)).apply("sqrt"),),
    "arccos": (lambda dz, z, x: -(dz / ((1.0 - x) * (1.0 + x)).apply("sqrt")),),
    "arctan": (lambda dz, z, x: dz / (1.0 + x * x),),
    "sinh": (lambda dz, z, x: dz * x.apply("cosh"),),
    "cosh": (lambda dz, z, x: dz * x.apply("sinh"),),
    "tanh": (lambda dz, z, x: dz * (1.0 - z * z),),
    "arcsinh": (lambda dz, z, x: dz / (1.0 + x * x).apply("sqrt"),),
    "arccosh": (lambda dz, z, x: dz / ((x - 1.0).apply("sqrt") * (x + 1.0).apply("sqrt")),),
    "arctanh": (lambda dz, z, x: dz / ((1.0 - x) * (1.0 + x)),),
    "erf": (lambda dz, z, x: 2.0 / math.sqrt(math.pi) * dz * (-(x * x)).apply("exp"),),
    "add": (lambda dz, z, x, y: dz, lambda dz, z, x, y: dz),
    "subtract": (lambda dz, z, x, y: dz, lambda dz, z, x, y: -dz),
    "multiply": (lambda dz, z, x, y: dz * y, lambda dz, z, x, y: dz * x),
    "divide": (lambda dz, z, x, y: dz / y, lambda dz, z, x, y: -(dz / y * z)),
    "power": (_power_base, _power_exponent),
    "maximum": (
        lambda dz, z, x, y: _chosen(dz, x, y, "greater"),
        lambda dz, z, x, y: _chosen(dz, y, x, "greater"),
    ),
    "minimum": (
        lambda dz, z, x, y: _chosen(dz, x, y, "less"),
        lambda dz, z, x, y: _chosen(dz, y, x, "less"),
    ),
    "mod": (lambda dz, z, x, y: dz, lambda dz, z, x, y: -(dz * (x / y).apply("floor"))),
    "arctan2": (
        lambda dz, z, y, x: dz * x / (x * x + y * y),
        lambda dz, z, y, x: -(dz * y / (x * x + y * y)),
    ),
    "hypot": (lambda dz, z, x, y: dz * x / z, lambda dz, z, x, y: dz * y / z),
    "logaddexp": (
        _times_share,
        lambda dz, z, x, y: _times_share(dz, z, y, x),
    ),
    "clip": (
        lambda dz, z, x, low, high: _inside(dz, x, low, high),
        lambda dz, z, x, low, high: x.below(low).where(dz, 0.0),
        lambda dz, z, x, low, high: x.above(high).where(dz, 0.0),
    ),
}
"""Each function's row; see `partial` for what is in none. The sides of `where` get theirs in `chosen.py`."""
