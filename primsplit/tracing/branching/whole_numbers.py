"""Whole numbers asked of traced values: those of the arrays that a recording is made for, each a condition of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.dims import Dim, Size
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import checked


@contextmanager
def numbers_told(examples: tracing.Examples | None) -> Iterator[None]:
    """Let examples, where there are any, answer what asks a traced value for a whole number."""
    if examples is None or examples.tells_numbers:
        yield
        return
    examples.tells_numbers = True
    try:
        yield
    finally:
        examples.tells_numbers = False


@implements("whole number")
def told_number(asked: Array, *, is_cut: bool = False) -> npt.NDArray[Any] | None:
    """The number that the arrays of a guard tell; None where there are none, or it is no integer.

    With `is_cut` the whole part of a floating-point number too, which has no derivative. A recording of it asks whether
    the value is this one, and fails where it is another.
    """
    path = tracing.current().path if tracing.is_recording() else None
    if path is None or asked.shape != () or asked.dtype.kind not in ("iubf" if is_cut else "iub"):
        return None
    while (found := tracing.number_for_examples(asked.value)) is not None:
        if asked.dtype.kind == "f" and not abs(found) < 1 / np.finfo(found.dtype).eps:
            return None
        number = found if asked.dtype.kind != "f" else np.trunc(found)
        if path.decide(_is(asked, number).value, tracing.user_place()):
            return number
    return None


def _is(asked: Array, number: npt.NDArray[Any]) -> Array:
    """Whether this is the value, or its whole part: it is cut towards 0."""
    if asked.dtype.kind != "f":
        return op.Equal(asked, number)
    least = op.GreaterOrEqual(asked, number) if number > 0 else op.Greater(asked, number - 1)
    most = op.LessOrEqual(asked, number) if number < 0 else op.Less(asked, number + 1)
    return op.And(least, most)


@implements("integer")
def integer(number: Array, rounding: Callable[..., Array]) -> Array:
    """What `int`, `round`, `math.floor` and `math.ceil` give: a Python integer, of a traced number without axes.

    A run whose number is NaN, infinite or beyond int64 fails, as Python raises for the first two.
    """
    if number.dtype.kind == "f":
        number = checked(number, op.IsNaN(number), ValueError("cannot convert float NaN to integer"))
        is_inside = op.Less(op.Abs(number), np.asarray(2.0**63, number.dtype))
        endless = OverflowError("cannot convert float infinity, or a number beyond int64, to integer")
        number = checked(rounding(number), op.Not(is_inside), endless)
    return Array(op.Cast(number, to=np.int64).value, weak=True)


def told_size(size: Dim) -> int | None:
    """The number of a size that depends on data, which the arrays of a guard tell; None where there are none."""
    if not tracing.is_recording() or tracing.current().examples is None:
        return None
    found = told_number(as_array(size))
    return None if found is None else int(found)


Size.told = staticmethod(told_size)
