"""Lists NumPy's functions that traced arrays refuse, each with the reason."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.tracing.array import implements

FILES = "a program writes no files"
TEXT = "the elements are known only at run time"
DATES = "primsplit has no dates"

REASONS: dict[str, tuple[Callable[..., Any], ...]] = {
    FILES: (np.save, np.savetxt, np.savez, np.savez_compressed),
    TEXT: (np.array2string, np.array_repr, np.array_str, np.min_scalar_type),
    DATES: (np.busday_count, np.busday_offset, np.is_busday, np.datetime_as_string, np.isnat),
}  # fmt: skip
CURES = {
    FILES: "Return the array from the function, and write the file outside.",
    TEXT: "Return the array from the function, and print it outside.",
    DATES: "Pass numbers: days since a date, say.",
}


BECAUSE: dict[str, str] = {}
"""Why a function is refused, by its name."""


def _refuse(function: Callable[..., Any], because: str) -> None:
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    name = f"{module}.{function.__name__}"

    def refused(*args: Any, **options: Any) -> Any:
        raise UnsupportedFunction(
            f"{name} has no form for traced arrays: {because}", place=tracing.user_place(), cure=CURES[because]
        )

    BECAUSE[name] = because
    if isinstance(function, np.ufunc):
        ELEMENTWISE[function.__name__] = refused
    else:
        implements(function)(refused)


for _because, _functions in REASONS.items():
    for _function in _functions:
        _refuse(_function, _because)
