"""Substitutes for functions of `math`, which take and return Python numbers."""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.overrides.chosen import is_number
from primsplit.frontends.python.overrides.exact_sums import exact_sum
from primsplit.frontends.python.overrides.number_errors import raise_as_python
from primsplit.frontends.python.overrides.table import ModuleSubstitute, Substitute, holds_array, register, when_traced
from primsplit.ir.errors import ShapeError
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array

Function = Callable[..., Any]


def _number(name: str, x: Any) -> Array:
    """Return an argument of a `math` function as a traced Python float."""
    array = as_array(x)
    if array.shape != ():
        raise ShapeError(
            f"math.{name} takes one number, not {array.type}", place=tracing.user_place(), cure=f"Write np.{name}."
        )
    return Array(cast_to(array, np.float64).value, weak=True)


def _of_numbers(name: str, traced: Function) -> Substitute:
    """Return a substitute for a function of numbers: its errors become NaN or inf, unless user code catches them."""

    def call(*args: Any) -> Any:
        numbers = [_number(name, a) for a in args]
        raise_as_python(name, *numbers)
        return Array(traced(*numbers).value, weak=True)

    return when_traced(getattr(math, name), call)


def _whole_part(name: str) -> Substitute:
    return when_traced(getattr(math, name), lambda x: _number(name, x).integer(ELEMENTWISE[name]))


_UFUNCS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "cbrt": "cbrt", "fabs": "fabs", "pow": "power", "fmod": "fmod", "copysign": "copysign",
    "degrees": "degrees", "radians": "radians", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "_lgamma",
}  # fmt: skip


def _log(x: Array, base: Any = math.e) -> Array:
    result: Array = ELEMENTWISE["log"](x)
    return result if base is math.e else result / ELEMENTWISE["log"](base)


def _elementwise(ufunc: str) -> Function:
    """Return the function of a ufunc, which is looked up when it is called: the special functions are imported then."""

    def call(*operands: Array) -> Array:
        result: Array = ELEMENTWISE[ufunc](*operands)
        return result

    return call


def _hypot(*sides: Any) -> Array:
    total: Array = functools.reduce(ELEMENTWISE["hypot"], sides, _number("hypot", 0.0))
    return total


def _remainder(x: Array, y: Array) -> Array:
    """Return x minus the nearest multiple of y, the even multiple of two that are equally near."""
    size = ELEMENTWISE["fabs"](y)
    left = ELEMENTWISE["fabs"](ELEMENTWISE["fmod"](x, 2.0 * y))
    multiple = np.where(left <= 0.5 * size, 0.0, np.where(left < 1.5 * size, 1.0, 2.0))
    result: Array = np.copysign(1.0, x) * (left - multiple * size)
    return result


def _dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    """Return `math.dist(p, q)`."""
    pairs = list(zip(p, q, strict=True))
    return Array(_hypot(*(_number("dist", a) - _number("dist", b) for a, b in pairs)).value, weak=True)


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> Any:
    """Return `math.isclose(a, b)`."""
    a, b = _number("isclose", a), _number("isclose", b)
    far = ELEMENTWISE["maximum"](abs(a), abs(b))
    near = abs(a - b) <= ELEMENTWISE["maximum"](far * rel_tol, abs_tol)
    return Array(((a == b) | (near & ELEMENTWISE["isfinite"](far))).value, weak=True)


def _modf(x: Any) -> tuple[Any, Any]:
    """Return `math.modf(x)`: the fraction and the integer part, each with the sign of `x`."""
    number = _number("modf", x)
    whole = ELEMENTWISE["trunc"](number)
    return Array((number - whole).value, weak=True), Array(whole.value, weak=True)


def _in_sequence(name: str, combine: Callable[..., Any]) -> Substitute:
    """Return a substitute for math.fsum or math.prod, which combines a list."""
    original = getattr(math, name)

    def call(values: Iterable[Any], **options: Any) -> Any:
        listed = list(values)
        return combine(listed, **options) if holds_array(listed) else original(listed, **options)

    return Substitute(original, call)


def _sum(listed: Sequence[Any]) -> Any:
    numbers = np.stack([_number("fsum", v) for v in listed])
    return Array(exact_sum(numbers).value, weak=True)


def _product(listed: Sequence[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, (v if is_number(v) else _number("prod", v) for v in listed), start)


def _register_all() -> None:
    register(math, ModuleSubstitute(math))
    table = {name: _of_numbers(name, _elementwise(ufunc)) for name, ufunc in _UFUNCS.items() if hasattr(math, name)}
    table |= {name: _whole_part(name) for name in ("floor", "ceil", "trunc")}
    table |= {"log": _of_numbers("log", _log), "hypot": _of_numbers("hypot", _hypot)}
    table |= {
        "remainder": _of_numbers("remainder", _remainder),
        "ldexp": _of_numbers("ldexp", lambda x, i: x * ELEMENTWISE["exp2"](i)),
        **{f.__name__[1:]: when_traced(getattr(math, f.__name__[1:]), f) for f in (_dist, _isclose, _modf)},
    }
    table |= {"fsum": _in_sequence("fsum", _sum), "prod": _in_sequence("prod", _product)}
    for name, substitute in table.items():
        register(getattr(math, name), substitute)


_register_all()
