"""Refuse NumPy's error modes that raise: a program computes inf or NaN where NumPy would raise FloatingPointError.

    with np.errstate(divide="raise"):       ->      TraceError: np.errstate(divide="raise") depends on the run
        y = np.log(x)

Modes that are set before a function is traced are not heeded, as docs/differences.md says.
"""

from collections.abc import Mapping

import numpy as np

from primsplit.ir.errors import Place, TraceError
from primsplit.ops.traits import traits

_ANSWERING = {"raise", "call"}
"""The modes in which NumPy raises an error or calls a function of the user's."""


def refuse_error_modes(kind: str, before: Mapping[str, str], place: Place | None) -> None:
    """Raise TraceError if NumPy raises errors of floating-point numbers now, and did not before.

    An op of a kind that only moves elements has no such error.
    """
    modes = {error: mode for error, mode in np.geterr().items() if mode in _ANSWERING and mode != before[error]}
    if modes and not traits(kind).moves:
        given = ", ".join(f'{error}="{mode}"' for error, mode in modes.items())
        raise TraceError(
            f"np.errstate({given}) depends on numbers that are known only at run time",
            place=place,
            because=("the exported program computes inf or nan where NumPy would raise",),
            cure="Test the numbers: if np.any(x == 0): raise ZeroDivisionError.",
        )
