"""Find functions that reach code of SciPy which prints the traced results that it cannot convert.

MINPACK's and ODEPACK's wrappers print the error of a conversion to stderr before they raise another. A function that
reaches one of them is converted at once, so that traced results never get there.
"""

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from primsplit.ir.caching.fingerprint import names_read, objects_met

_MODULES = ("scipy.optimize", "scipy.integrate")
_PRINTING = frozenset({"fsolve", "leastsq", "root", "curve_fit", "least_squares", "odeint"})
"""The functions of these modules that call a user's function from such a wrapper."""


def may_print(run: Callable[..., Any]) -> bool:
    """Whether a function may call one that prints."""
    if not any(module in sys.modules for module in _MODULES):
        return False
    return any(
        type(met) is FunctionType and not _PRINTING.isdisjoint(names_read(met.__code__)) for met in objects_met(run)
    )
