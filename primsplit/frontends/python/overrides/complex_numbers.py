"""Substitutes for functions of `cmath`, which take and return Python numbers."""

import cmath
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.overrides.table import ModuleSubstitute, register, when_traced
from primsplit.ir.errors import ShapeError
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.operands import operand
from primsplit.tracing.array import FUNCTIONS, Array

UFUNCS = {
    name: getattr(np, name)
    for name in ("exp", "log", "log10", "sqrt", "sin", "cos", "sinh", "cosh", "isnan", "isinf", "isfinite")
}


def _number(name: str, x: Any) -> Array:
    """Return an argument of a `cmath` function as a complex number. Raises ShapeError for an array."""
    number = operand(x)
    if number.shape != ():
        raise ShapeError(
            f"cmath.{name} takes one number, not {number.type}", place=tracing.user_place(), cure=f"Write np.{name}."
        )
    return astype(number, np.complex128)


def _register(name: str, function: Any) -> None:
    def call(x: Any) -> Any:
        return function(_number(name, x))

    register(getattr(cmath, name), when_traced(getattr(cmath, name), call))


def _polar(z: Array) -> tuple[Any, Any]:
    return abs(z), FUNCTIONS[np.angle](z)


def _rectangle(r: Any, phi: Any) -> Any:
    return r * np.exp(1j * phi)


def _register_all() -> None:
    register(cmath, ModuleSubstitute(cmath))
    for name, ufunc in UFUNCS.items():
        _register(name, ufunc)
    _register("phase", FUNCTIONS[np.angle])
    _register("polar", _polar)
    register(cmath.rect, when_traced(cmath.rect, _rectangle))


_register_all()
