"""Truncated Taylor polynomials in some parameters, whose coefficients are arrays of one shape.

    a, = parameters([value], (1,))      # value + 1 da
    b = a * a                           # value**2 + 2 value da
    derivative(b)                       # 2 value

An iteration written with them carries the derivatives of its limit along. Taylor coefficients are the derivatives over
the factorials of their orders. A. Griewank and A. Walther, Evaluating Derivatives (2008), chapter 13.

The highest orders are static arguments of the primitives that use them, so each derivative is a primitive again.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from primsplit.ops import op
from primsplit.special.incomplete import EPS
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like

Orders = tuple[int, ...]
"""The order of the derivative in each parameter."""
SLACK = 0.125
"""Derivatives of a factor have larger rounding errors than the factor itself."""


class Jet:
    """Coefficients by their orders, none above `most` in any parameter; a missing one is 0."""

    def __init__(self, terms: dict[Orders, Array], most: Orders) -> None:
        self.terms = terms
        self.most = most

    def mapped(self, function: Callable[[Array], Array]) -> "Jet":
        """Apply a linear function to each coefficient."""
        return Jet({o: function(t) for o, t in self.terms.items()}, self.most)

    def __add__(self, other: "Jet | Array | float") -> "Jet":
        if not isinstance(other, Jet):
            return self.with_first(self.first() + other)
        terms = dict(self.terms)
        for orders, term in other.terms.items():
            terms[orders] = terms[orders] + term if orders in terms else term
        return Jet(terms, self.most)

    def __neg__(self) -> "Jet":
        return self.mapped(lambda term: -term)

    def __mul__(self, other: "Jet | Array | float") -> "Jet":
        if not isinstance(other, Jet):
            return self.mapped(lambda term: term * other)
        terms: dict[Orders, Array] = {}
        for (first, x), (second, y) in itertools.product(self.terms.items(), other.terms.items()):
            orders = tuple(i + j for i, j in zip(first, second, strict=True))
            if all(i <= j for i, j in zip(orders, self.most, strict=True)):
                terms[orders] = terms[orders] + x * y if orders in terms else x * y
        return Jet(terms, self.most)

    def divides(self, numerator: "Jet | Array") -> "Jet":
        """Return numerator / self, coefficient by coefficient; the first is the quotient of the first coefficients."""
        start = zero(self.most)
        above = numerator.terms if isinstance(numerator, Jet) else {start: numerator}
        terms: dict[Orders, Array] = {}
        for orders in every(self.most):
            rest = above.get(orders)
            for known, value in terms.items():
                factor = self.terms.get(tuple(i - j for i, j in zip(orders, known, strict=True)))
                if factor is not None:
                    rest = -(factor * value) if rest is None else rest - factor * value
            if rest is not None:
                terms[orders] = rest / self.terms[start]
        return Jet(terms, self.most)

    def first(self) -> Array:
        """The value at unchanged parameters."""
        return self.terms[zero(self.most)]

    def with_first(self, value: Array) -> "Jet":
        """A jet with another value and the same derivatives."""
        return Jet({**self.terms, zero(self.most): value}, self.most)


def zero(most: Orders) -> Orders:
    """The orders of no derivative."""
    return (0,) * len(most)


def every(most: Orders) -> list[Orders]:
    """All orders up to these, lower orders first."""
    return list(itertools.product(*(range(n + 1) for n in most)))


def parameters(values: Sequence[Array], most: Orders) -> list[Jet]:
    """Each parameter as a jet: its value, and the coefficient 1 for its own change."""
    found = []
    for place, value in enumerate(values):
        once = tuple(int(i == place) for i in range(len(most)))
        one = {once: ones_like(value)} if most[place] else {}
        found.append(Jet({zero(most): value, **one}, most))
    return found


def carries(jet: Jet) -> list[Array]:
    """All coefficients of a jet, with zeros for missing ones."""
    return [jet.terms.get(o, jet.first() * 0.0) for o in every(jet.most)]


def carried(values: Sequence[Array], most: Orders) -> list[Jet]:
    """The jets of these coefficients, which `carries` listed one jet after the other."""
    orders = every(most)
    count = len(orders)
    return [Jet(dict(zip(orders, values[i : i + count], strict=True)), most) for i in range(0, len(values), count)]


def exponential(exponent: Jet) -> Jet:
    """The exponential of a jet whose first coefficient is 0, by its powers."""
    none = zero(exponent.most)
    change = Jet({o: t for o, t in exponent.terms.items() if o != none}, exponent.most)
    total = power = Jet({none: ones_like(exponent.first())}, exponent.most)
    for n in range(1, sum(exponent.most) + 1):
        power = power * change * (1 / n)
        total = total + power
    return total


def settled_jet(factor: Jet, is_ended: Array) -> tuple[Jet, Array]:
    """A factor of Lentz's method, and its largest distance from 1 and of its derivatives from 0.

    A factor that is 1 up to rounding becomes 1, so elements that have converged do not drift while others continue.
    Where `is_ended`, the fraction has ended at a whole number, but not its derivative in that number: there the factor
    stays as it is, and counts as not settled.
    """
    none = zero(factor.most)
    parts = [op.Abs(t - 1.0) if o == none else op.Abs(t) * SLACK for o, t in factor.terms.items()]
    change = op.Max(*parts) if len(parts) > 1 else parts[0]
    settled = op.And(change <= 2 * EPS, op.Not(is_ended))
    frozen = {o: op.Where(settled, 1.0 if o == none else 0.0, t) for o, t in factor.terms.items()}
    return Jet(frozen, factor.most), op.Where(settled, 0.0, change + EPS)


def end_of_fraction(x: Array, steps: Array) -> tuple[Array, Array]:
    """The first and the last step between which a fraction has ended at a whole x, but not its derivative in x.

    The last is -1 if x is not whole. `steps` is the number in which the fraction of another x converges.
    """
    is_whole = op.And(x > 0.0, op.Equal(op.Floor(x), x))
    return op.Where(is_whole, x, 0.0), op.Where(is_whole, x + steps, -1.0)


def derivative(jet: Jet) -> Array:
    """The derivative of the highest orders; 0 if there is none."""
    scale = math.prod(math.factorial(n) for n in jet.most)
    found = jet.terms.get(jet.most)
    return jet.first() * 0.0 if found is None else found * float(scale)
