"""Turns errors of `math` functions for some numbers into branches, if the user's code handles the error.

If it does not, the result is NaN or infinite, as in NumPy, and there is no branch. The conditions are those of
CPython's mathmodule.c. They test the arguments and not the result, which has no finite derivative there.

    try:                            the condition x <= 0.0, and a branch that raises ValueError
        y = math.log(x)
    except ValueError:
        y = 0.0
"""

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.numpy.ufuncs import ELEMENTWISE

_Condition = Callable[..., Any]
_LOG_LARGEST = math.log(sys.float_info.max)
_ENDS_OF_GAMMA = 171.62437695630272
"""The largest number whose gamma is within float64; `_ENDS_OF_LGAMMA` is that for the logarithm of gamma."""
_ENDS_OF_LGAMMA = 2.5563481638716906e305
_LEAST_OF_GAMMA = 5.56268464626801e-309
"""The least number above 0 whose gamma, 1 / x, is within float64."""


def _is_whole(x: Any) -> Any:
    return ELEMENTWISE["floor"](x) == x


def _is_pole(x: Any) -> Any:
    return ((x <= 0.0) & _is_whole(x)) | (x == -math.inf)


def _is_not_finite(x: Any, *_: Any) -> Any:
    return abs(x) == math.inf


def _has_no_remainder(x: Any, y: Any) -> Any:
    is_number = ~ELEMENTWISE["isnan"](x) & ~ELEMENTWISE["isnan"](y)
    return is_number & (_is_not_finite(x) | (y == 0.0))


def _has_no_power(x: Any, y: Any) -> Any:
    finite = ELEMENTWISE["isfinite"](x) & ELEMENTWISE["isfinite"](y)
    return finite & (((x < 0.0) & ~_is_whole(y)) | ((x == 0.0) & (y < 0.0)))


def _has_large_power(x: Any, y: Any) -> Any:
    size = ELEMENTWISE["isfinite"](x) & ELEMENTWISE["isfinite"](y) & (x != 0.0)
    return size & (y * ELEMENTWISE["log"](np.where(size, abs(x), 1.0)) > _LOG_LARGEST)


def _above(largest: float) -> _Condition:
    return lambda x: (x > largest) & (x < math.inf)


def _beyond(largest: float) -> _Condition:
    return lambda x: (abs(x) > largest) & (abs(x) < math.inf)


_DOMAIN: Mapping[str, _Condition] = {
    "log": lambda x, *base: (x <= 0.0) if not base else (x <= 0.0) | (base[0] <= 0.0),
    "log2": lambda x: x <= 0.0,
    "log10": lambda x: x <= 0.0,
    "log1p": lambda x: x <= -1.0,
    "sqrt": lambda x: x < 0.0,
    "asin": lambda x: abs(x) > 1.0,
    "acos": lambda x: abs(x) > 1.0,
    "acosh": lambda x: x < 1.0,
    "atanh": lambda x: abs(x) >= 1.0,
    "sin": _is_not_finite,
    "cos": _is_not_finite,
    "tan": _is_not_finite,
    "fmod": _has_no_remainder,
    "remainder": _has_no_remainder,
    "pow": _has_no_power,
    "gamma": _is_pole,
    "lgamma": lambda x: (x <= 0.0) & _is_whole(x) & (x != -math.inf),
}
"""The arguments for which a function raises ValueError."""
_RANGE: Mapping[str, _Condition] = {
    "exp": _above(_LOG_LARGEST),
    "expm1": _above(_LOG_LARGEST),
    "exp2": lambda x: (x >= 1024.0) & (x < math.inf),
    "sinh": _beyond(_LOG_LARGEST + math.log(2.0)),
    "cosh": _beyond(_LOG_LARGEST + math.log(2.0)),
    "pow": _has_large_power,
    "gamma": lambda x: ((x > _ENDS_OF_GAMMA) & (x < math.inf)) | ((x != 0.0) & (abs(x) < _LEAST_OF_GAMMA)),
    "lgamma": _beyond(_ENDS_OF_LGAMMA),
}
"""The arguments for which a function raises OverflowError."""
_DIVISION: Mapping[str, _Condition] = {"log": lambda x, *base: np.False_ if not base else (x > 0.0) & (base[0] == 1.0)}
"""The arguments for which a function raises ZeroDivisionError."""
_ERRORS: tuple[tuple[type[Exception], Mapping[str, _Condition], str], ...] = (
    (ZeroDivisionError, _DIVISION, "division by zero"),
    (ValueError, _DOMAIN, "math domain error"),
    (OverflowError, _RANGE, "math range error"),
)


def raise_as_python(name: str, *args: Any) -> None:
    """Raise the error of `math.name` for these numbers on a separate path, if the user's code catches it."""
    for error, conditions, message in _ERRORS:
        if name in conditions and tracing.is_caught(error) and conditions[name](*args):
            raise error(message)
