"""Hold an op while its results' ranges are found: its inputs' ranges, and the hazards that are met.

A hazard is a place where NaN or infinity can begin, an integer can overflow, or float32 becomes float64.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primsplit.audit.intervals.ranges import Level, Range, Shape, limits, rounded, smallest, unbounded, unit
from primsplit.ir import AnyArray, Op, Value, Var

FAITHFUL = 16
"""The most units in the last place by which a kernel's exp, log, tanh and the like are taken to be wrong."""

Compute = Callable[[Op, Sequence[AnyArray | None]], AnyArray | None]
"""Computes the only output of an op from arrays; None where it cannot."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """One hazard: its kind, the ranges that allow it, and whether it happens for all inputs in their ranges."""

    kind: str
    ranges: str
    always: bool


@dataclass(slots=True)
class At:
    """An op with the ranges of its inputs; `made` tells which op made a value, `types` what its outputs are.

    `found` are the ranges of values that were met before.
    """

    op: Op
    inputs: Sequence[Range | None]
    types: Sequence[tuple[np.dtype[Any], Shape | None]]
    made: Mapping[Var, Op]
    compute: Compute
    found: Mapping[Var, Range] = field(default_factory=dict)
    hazards: list[Hazard] = field(default_factory=list)
    is_open: bool = False
    """Whether a result may be infinite only because an input's range is not known."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the first output."""
        return self.types[0][0]

    @property
    def shape(self) -> Shape | None:
        """The sizes of the first output."""
        return self.types[0][1]

    @property
    def is_float(self) -> bool:
        """Whether the first output holds floating-point numbers."""
        return self.dtype.kind not in "iub"

    def given(self, position: int) -> Range | None:
        """The range of an input; None for one that is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def take(self, position: int) -> Range:
        """The range of an input that is there."""
        found = self.given(position)
        assert found is not None, f"{self.op.kind} lacks input {position}"
        return found

    def known(self, position: int) -> AnyArray | None:
        """The elements of an input if they are known."""
        found = self.given(position)
        return None if found is None else found.value

    def maker(self, value: Value | None) -> Op | None:
        """The op that made a value."""
        return self.made.get(value) if isinstance(value, Var) else None

    def note(self, kind: str, *ranges: Range, always: bool = False) -> None:
        """Report a hazard, with the ranges of the operands that allow it."""
        self.hazards.append(Hazard(kind, ", ".join(r.text for r in ranges), always))

    def unknown(self) -> list[Range]:
        """Ranges of outputs of which nothing is known."""
        return [unbounded(dtype, shape, Level.UNBOUNDED) for dtype, shape in self.types]

    def result(
        self,
        low: AnyArray,
        high: AnyArray,
        *operands: Range,
        ulps: float = 0.0,
        nan: Level = Level.NEVER,
        inf: Level = Level.NEVER,
        keep: tuple[float, float] = (-np.inf, np.inf),
        **facts: Any,
    ) -> Range:
        """Return the range of a result: its bounds rounded to its dtype, NaN and infinity as in the operands.

        `ulps` is the error of the kernel beside that of rounding; `keep` are bounds that no kernel leaves.
        """
        if not self.is_float:
            return self.whole_number(low, high, *operands, **facts)
        if ulps:
            low, high = widened(low, high, self.dtype, ulps)
        low, high = (rounded(np.clip(end, *keep), self.dtype) for end in (low, high))
        level = max([inf, self.overflow(low, high, operands), *(r.inf for r in operands)])
        nan = max([nan, *(r.nan for r in operands)])
        return Range(np.asarray(low), np.asarray(high), self.dtype, self.shape, nan=nan, inf=level, **facts)

    def overflow(self, low: AnyArray, high: AnyArray, operands: Sequence[Range]) -> Level:
        """Return whether a result can be infinite, and report it if its operands are bounded."""
        out = np.isinf(low) | np.isinf(high)
        if not bool(out.any()):
            return Level.NEVER
        is_open = np.zeros(())
        for r in operands:
            is_open = is_open + ~r.is_bounded if _fits(is_open, r) else np.asarray(float(not r.is_bounded.all()))
        if bool(np.any(np.broadcast_arrays(out, is_open == 0)[0] & (is_open == 0))):
            largest = limits(self.dtype)[1]
            self.note("overflow", *operands, always=bool(np.any((low > largest) | (high < -largest))))
            return Level.CAN
        self.is_open = True
        return Level.UNBOUNDED

    def whole_number(self, low: AnyArray, high: AnyArray, *operands: Range, **facts: Any) -> Range:
        """Return the range of a result of integers, which wraps around."""
        least, most = limits(self.dtype)
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        if bool(np.any((low < least) | (high > most))):
            if all(_is_told(r) for r in operands):
                self.note("integer overflow", *operands, always=bool(np.any((low > most) | (high < least))))
            else:
                self.is_open = True
            return Range(np.asarray(least), np.asarray(most), self.dtype, self.shape)
        facts.pop("attains", None)
        return Range(low, high, self.dtype, self.shape, **facts)


def _fits(one: AnyArray, r: Range) -> bool:
    try:
        np.broadcast_shapes(one.shape, r.low.shape, r.high.shape)
    except ValueError:
        return False
    return True


def _is_told(r: Range) -> bool:
    """Whether both bounds of integers are narrower than their dtype."""
    least, most = limits(r.dtype)
    low, high = r.ends
    return least < low and high < most


def widened(low: AnyArray, high: AnyArray, dtype: np.dtype[Any], ulps: float) -> tuple[AnyArray, AnyArray]:
    """Return bounds for a kernel that is wrong by so many units in the last place, and keeps the sign."""
    factor, least = 2 * ulps * unit(dtype), smallest(dtype)
    wide_low = np.where(np.isinf(low), low, low - np.abs(low) * factor - least)
    wide_high = np.where(np.isinf(high), high, high + np.abs(high) * factor + least)
    wide_low = np.where(low >= 0, np.maximum(wide_low, 0.0), wide_low)
    return wide_low, np.where(high <= 0, np.minimum(wide_high, 0.0), wide_high)
