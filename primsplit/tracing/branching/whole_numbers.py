"""Answer `int(x)` of a traced value from the arrays that a recording is made for; each answer is a condition of it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.dims import Dim, Size
from primsplit.ir.scoped import as_block
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.hooks import HOOKS


@as_block
def numbers_told(examples: tracing.Examples | None) -> Iterator[None]:
    """Let examples, if there are any, answer requests for the integer value of a traced value."""
    if examples is None or examples.tells_numbers:
        yield
        return
    examples.tells_numbers = True
    try:
        yield
    finally:
        examples.tells_numbers = False


def told_number(asked: Array, *, is_cut: bool = False) -> npt.NDArray[Any] | None:
    """Return the number that the arrays of a guard have; None if there are none, or it is no integer.

    With `is_cut`, return the integer part of a floating-point number too, which has no derivative. The recording tests
    that the value is this one, and fails where it is another.
    """
    path = tracing.current().path if tracing.is_recording() else None
    if path is None or asked.shape != () or asked.dtype.kind not in ("iubf" if is_cut else "iub"):
        return None
    while (value := tracing.number_for_examples(asked.value)) is not None:
        if asked.dtype.kind == "f" and not abs(value) < 1 / np.finfo(value.dtype).eps:
            return None
        number = value if asked.dtype.kind != "f" else np.trunc(value)
        if path.decide(_is(asked, number).value, tracing.user_place()):
            return number
    return None


HOOKS.whole_number = told_number


def _is(asked: Array, number: npt.NDArray[Any]) -> Array:
    """Return whether the number is the value, or its integer part, rounded towards 0."""
    if asked.dtype.kind != "f":
        return op.Equal(asked, number)
    least = op.GreaterOrEqual(asked, number) if number > 0 else op.Greater(asked, number - 1)
    most = op.LessOrEqual(asked, number) if number < 0 else op.Less(asked, number + 1)
    return op.And(least, most)


def integer(number: Array, rounding: Callable[..., Array]) -> Array:
    """Return what `int`, `round`, `math.floor` and `math.ceil` do: a Python integer, for a traced number without axes.

    A run whose number is NaN, infinite or beyond int64 fails, as Python raises for the first two.
    """
    if number.dtype.kind == "f":
        number = checked(number, op.IsNaN(number), ValueError("cannot convert float NaN to integer"))
        endless = OverflowError("cannot convert float infinity to integer")
        if tracing.is_caught(OverflowError):
            number = checked(number, op.IsInf(number), endless)
        is_inside = op.Less(op.Abs(number), np.asarray(2.0**63, number.dtype))
        beyond = OverflowError("cannot convert float infinity, or a number beyond int64, to integer")
        number = checked(rounding(number), op.Not(is_inside), beyond, is_pythons=False)
    whole = Array(op.Cast(number, to=np.int64).value, weak=True)
    if number.dtype.kind == "f":
        integer_ranges.note_range(whole.value, -(2**63) + 1024, 2**63 - 1024)
    return whole


HOOKS.rounded_integer = integer


def told_size(size: Dim) -> int | None:
    """Return the number of a data-dependent size that the arrays of a guard have; None if there are none."""
    if not tracing.is_recording() or tracing.current().examples is None:
        return None
    number = told_number(as_array(size))
    return None if number is None else int(number)


Size.told = staticmethod(told_size)
