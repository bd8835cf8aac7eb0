"""Writes lines as arithmetic: `0.5 * dz / z` is two lines and a constant."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

from primsplit.frontends.loops.building import Lines

Number = Union["Term", float]


@dataclass(frozen=True, eq=False)
class Term:
    """A line of a list. Operators and methods write the lines that depend on it."""

    lines: Lines
    at: int

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops that it depends on."""
        return self.lines.operations[self.at].loops

    @property
    def number(self) -> float | None:
        """The number that it is, where it is a constant."""
        return self.lines.operations[self.at].value

    def apply(self, function: str, *others: Number) -> "Term":
        """A scalar function of this and others."""
        return Term(self.lines, self.lines.compute(function, self.at, *(self.of(other).at for other in others)))

    def of(self, number: Number) -> "Term":
        """The number as a line of the same list."""
        return number if isinstance(number, Term) else Term(self.lines, self.lines.constant(number))

    def sum(self, loops: Iterable[str]) -> "Term":
        """The sum over loops."""
        return self.combined("add", loops)

    def combined(self, function: str, loops: Iterable[str]) -> "Term":
        """The terms of all turns of some loops, combined."""
        return Term(self.lines, self.lines.reduce(function, self.at, loops))

    def where(self, yes: Number, no: Number) -> "Term":
        """`yes` where this is true, else `no`."""
        return self.apply("where", yes, no)

    def __add__(self, other: Number) -> "Term":
        return self.apply("add", other)

    def __sub__(self, other: Number) -> "Term":
        return self.apply("subtract", other)

    def __mul__(self, other: Number) -> "Term":
        return self.apply("multiply", other)

    def __truediv__(self, other: Number) -> "Term":
        return self.apply("divide", other)

    def __neg__(self) -> "Term":
        return self.apply("negative")

    def __radd__(self, other: float) -> "Term":
        return self.of(other) + self

    def __rsub__(self, other: float) -> "Term":
        return self.of(other) - self

    def __rmul__(self, other: float) -> "Term":
        return self.of(other) * self

    def __and__(self, other: "Term") -> "Term":
        return self.apply("logical_and", other)

    def equal(self, other: Number) -> "Term":
        """1 where the term equals the other, else 0."""
        return self.apply("equal", other)

    def above(self, other: Number) -> "Term":
        """1 where the term is greater than the other, else 0."""
        return self.apply("greater", other)

    def below(self, other: Number) -> "Term":
        """1 where the term is less than the other, else 0."""
        return self.apply("less", other)
