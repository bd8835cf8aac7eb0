"""Polynomials and rational functions of a traced array."""

from collections.abc import Sequence
from dataclasses import dataclass

from primsplit.tracing.array import Array


@dataclass(frozen=True)
class Rational:
    """numerator(t) / denominator(t) with t = x - origin; coefficients from the constant upwards."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...] = (1.0,)
    origin: float = 0.0

    def __call__(self, x: Array) -> Array:
        """The value at x, by Horner's scheme."""
        t = x - self.origin if self.origin else x
        if len(self.denominator) == 1:
            return horner(self.numerator, t)
        return horner(self.numerator, t) / horner(self.denominator, t)


def horner(coefficients: Sequence[float], t: Array) -> Array:
    """The polynomial with these coefficients, constant first; it has degree one at least."""
    *rest, last = coefficients
    value = t * last + rest.pop()
    for coefficient in reversed(rest):
        value = value * t + coefficient
    return value
