"""np.emath: functions that go over to complex numbers where real ones have no value there, which is a branch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.tracing.array import FUNCTIONS, Array, implements

NARROW = frozenset(map(np.dtype, ("float32", "int8", "int16", "uint8", "uint16")))
"""The dtypes that become complex64; all others become complex128."""


def _where_needed(is_outside: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The array, complex where any of its elements is outside of the real function's domain."""

    def widened(x: Any) -> Any:
        array = operand(x)
        if holds_complex(array) or not FUNCTIONS[np.any](is_outside(array)):
            return array
        strong = Array(array.value)
        return strong.astype(np.complex64 if array.dtype in NARROW else np.complex128)

    return widened


_below_zero = _where_needed(lambda x: x < 0)
_beyond_one = _where_needed(lambda x: np.abs(x) > 1)


def _of_one(name: str, widened: Callable[[Any], Any]) -> None:
    function: Callable[[Any], Any] = getattr(np, name)

    @implements(getattr(np.emath, name))
    def call(x: Any) -> Any:
        return function(widened(x))


for _name in ("sqrt", "log", "log2", "log10"):
    _of_one(_name, _below_zero)
for _name in ("arccos", "arcsin", "arctanh"):
    _of_one(_name, _beyond_one)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    """The logarithm of x to the base n."""
    return np.log(_below_zero(x)) / np.log(_below_zero(n))


@implements(np.emath.power)
def power(x: Any, p: Any) -> Any:
    """x to the power of p; whole exponents below 0 are floats."""
    exponent = operand(p)
    if exponent.dtype.kind in "iu" and FUNCTIONS[np.any](exponent < 0):
        exponent = exponent * 1.0
    return np.power(_below_zero(x), exponent)
