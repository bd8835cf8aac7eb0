"""Substitutes for functions of `math`, which take and give Python numbers."""

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.errors import ShapeError
from primsplit.lifting import as_array
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.substitutes.table import ModuleSubstitute, Substitute, holds_array, register, when_traced

Function = Callable[..., Any]


def _number(name: str, x: Any) -> Array:
    """An argument of a function of `math`, as a Python float."""
    array = as_array(x)
    if array.shape != ():
        raise ShapeError(
            f"math.{name} takes one number, not {array.type}", place=tracing.user_place(), cure=f"Write np.{name}."
        )
    return Array(cast_to(array, np.float64).value, weak=True)


def _of_numbers(name: str, traced: Function, dtype: type = float) -> Substitute:
    """Substitutes for a function of numbers. What raises there gives NaN or inf."""

    def call(*args: Any) -> Any:
        found = traced(*(_number(name, a) for a in args))
        return Array((cast_to(found, dtype) if dtype is int else found).value, weak=True)

    return when_traced(getattr(math, name), call)


_UFUNCS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "cbrt": "cbrt", "fabs": "fabs", "pow": "power", "fmod": "fmod", "copysign": "copysign",
    "degrees": "degrees", "radians": "radians", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln",
}  # fmt: skip


def _log(x: Array, base: Any = math.e) -> Array:
    found = ELEMENTWISE["log"](x)
    return found if base is math.e else found / ELEMENTWISE["log"](base)  # type: ignore[no-any-return]


def _hypot(*sides: Any) -> Array:
    total: Array = functools.reduce(ELEMENTWISE["hypot"], sides, _number("hypot", 0.0))
    return total


def _in_sequence(name: str, combine: Function, first: float) -> Substitute:
    """Substitutes for math.fsum and math.prod."""
    original = getattr(math, name)

    def call(values: Iterable[Any], **options: Any) -> Any:
        listed = list(values)
        if not holds_array(listed):
            return original(listed, **options)
        start = options.get("start", first)
        return functools.reduce(combine, [_number(name, v) for v in listed], start)

    return Substitute(original, call)


def _register_all() -> None:
    register(math, ModuleSubstitute(math))
    table = {name: _of_numbers(name, ELEMENTWISE[ufunc]) for name, ufunc in _UFUNCS.items() if hasattr(math, name)}
    table |= {name: _of_numbers(name, ELEMENTWISE[name], int) for name in ("floor", "ceil", "trunc")}
    table |= {"log": _of_numbers("log", _log), "hypot": _of_numbers("hypot", _hypot)}
    table |= {"fsum": _in_sequence("fsum", operator.add, 0.0), "prod": _in_sequence("prod", operator.mul, 1)}
    for name, substitute in table.items():
        register(getattr(math, name), substitute)


_register_all()
