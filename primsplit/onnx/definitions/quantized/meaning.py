"""The meaning of integers: the numbers that were quantized, or were computed with integers in their place."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Const, Value, same_data
from primsplit.ops import op
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class Meaning:
    """The numbers that integers stand for: `numbers` is `(integers - zero) scale` bit by bit, and has a derivative.

    `along` is the axis of the scales and the size of their blocks, None for one scale.
    """

    numbers: Array
    scale: Value
    zero: Value | None
    along: tuple[int, int] | None = None

    def levels(self, zero: Value | None) -> Any:
        """Return the integers minus a zero point, with a derivative."""
        found = op.Div(self.numbers, Array(self.scale))
        if is_same(zero, self.zero):
            return found
        found = found if self.zero is None else op.Add(found, number(self.zero))
        return found if zero is None else op.Sub(found, number(zero))


def number(value: Value) -> Any:
    """Return integers as numbers."""
    return op.Cast(Array(value), to="float32")


def is_same(a: Value | None, b: Value | None) -> bool:
    """Whether these are one value, or equal constants. An absent zero point is 0."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return same_data(a, b)
    return (a is None and _is_zero(b)) or (b is None and _is_zero(a))


def _is_zero(value: Value | None) -> bool:
    return isinstance(value, Const) and value.is_small and not np.any(value.numpy())


def is_single(value: Value) -> bool:
    """Whether a scale or zero point is for all elements."""
    return value.type.shape in {(), (1,)}
