"""Makes a run fail, or take its own path, for numbers for which NumPy, SciPy or Python raises an error."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import TraceError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.undo_log import is_in_side

ENDLESS = "Array must not contain infs or NaNs"
"""NumPy's error for a matrix whose eigenvalues it does not begin to look for."""

NO_SINGULAR = "SVD did not converge"
"""NumPy's error for a matrix with NaN, of which LAPACK has no singular values."""


def refusing(x: Any, wrong: Any, error: Exception) -> Any:
    """Return `x`; a run in which an element of `wrong` is True fails with this error, as in NumPy or SciPy.

    It is raised at once if the elements are known.
    """
    if not holds_traced(wrong):
        if np.any(wrong):
            raise error
        return x
    if isinstance(x, ComplexArray):
        return ComplexArray(checked(x.real, wrong, error), x.imag)
    return checked(array_like(x), wrong, error)


def of_numbers(a: Array) -> Array:
    """Return real matrices; a run with NaN among their numbers fails, as where NumPy asks for singular values."""
    found: Array = refusing(a, op.IsNaN(a), np.linalg.LinAlgError(NO_SINGULAR))
    return found


def raise_if_caught(condition: Callable[[], Array | None], error: Exception) -> None:
    """Raise an error on a path of its own, for runs in which a condition is True, if the function catches the error.

    Only then the condition is recorded; it returns None if it is never True. Raises TraceError in a side of a joined
    branch, which has no paths.
    """
    if not tracing.is_caught(type(error), in_sides=True):
        return
    wrong = condition()
    if wrong is None:
        return
    if is_in_side():
        raise TraceError(f"it may raise a {type(error).__name__} that is caught", place=tracing.user_place())
    if wrong:
        raise error
