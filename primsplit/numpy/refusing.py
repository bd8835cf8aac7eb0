"""Makes a run fail, or take its own path, for numbers for which NumPy, SciPy or Python raises an error."""

from collections.abc import Callable, Iterable
from functools import reduce
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


NOT_FINITE = ValueError("array must not contain infs or NaNs")


def finite(x: Any, error: Exception = NOT_FINITE) -> Any:
    """Return `x`; a run with NaN or infinity among its numbers fails, as where SciPy has `check_finite`."""
    if not holds_traced(x):
        array = np.asarray(x)
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise error
        return x
    x = x if isinstance(x, ComplexArray) else array_like(x)
    return refusing(x, op.Not(are_finite([x])), error) if x.dtype.kind in "fc" else x


def are_finite(arrays: Iterable[Any]) -> Array:
    """Return whether all numbers of float and complex arrays are finite: 0 times infinity is NaN."""
    parts = [p for x in arrays for p in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    return reduce(op.And, map(_is_finite, parts))


def _is_finite(x: Array) -> Array:
    zero = np.zeros((), x.dtype)
    found: Array = op.Equal(op.ReduceSum(op.Mul(x, zero), keepdims=0), zero)
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
