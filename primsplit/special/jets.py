"""Truncated Taylor polynomials in some parameters, whose coefficients are arrays of one shape.

An iteration that is written with them carries the derivatives of what it converges to; Taylor's coefficients are the
derivatives over the factorials of their orders. A. Griewank and A. Walther, Evaluating Derivatives (2008), chapter 13.

The highest orders are static arguments of the primitives that use them, so that each derivative is a primitive again.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from primsplit.ops import op
from primsplit.special.incomplete import EPS
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import ones_like

Orders = tuple[int, ...]
"""How often each parameter is derived by."""
SLACK = 0.125
"""Derivatives of a factor are rounded more than it is itself."""


class Jet:
    """The coefficients by their orders, none above `most` in any parameter; one that is missing is 0."""

    def __init__(self, terms: dict[Orders, Array], most: Orders) -> None:
        self.terms = terms
        self.most = most

    def mapped(self, function: Callable[[Array], Array]) -> "Jet":
        """What a linear function makes of the coefficients."""
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
        """The numerator over this, coefficient by coefficient, so that the first is a quotient of the first ones."""
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
        """What it is without the parameters' change."""
        return self.terms[zero(self.most)]

    def with_first(self, value: Array) -> "Jet":
        """The same derivatives of another value."""
        return Jet({**self.terms, zero(self.most): value}, self.most)


def zero(most: Orders) -> Orders:
    """No derivative."""
    return (0,) * len(most)


def every(most: Orders) -> list[Orders]:
    """All orders up to these, each after those that it is more than."""
    return list(itertools.product(*(range(n + 1) for n in most)))


def parameters(values: Sequence[Array], most: Orders) -> list[Jet]:
    """Each parameter as what its own change adds 1 to."""
    found = []
    for place, value in enumerate(values):
        once = tuple(int(i == place) for i in range(len(most)))
        one = {once: ones_like(value)} if most[place] else {}
        found.append(Jet({zero(most): value, **one}, most))
    return found


def carries(jet: Jet) -> list[Array]:
    """All its coefficients, what is missing as zeros."""
    return [jet.terms.get(o, jet.first() * 0.0) for o in every(jet.most)]


def carried(values: Sequence[Array], most: Orders) -> list[Jet]:
    """The jets whose coefficients follow each other."""
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


def settled_jet(factor: Jet) -> tuple[Jet, Array]:
    """A factor of Lentz's method, and how far it is from 1 and its derivatives from 0, at most.

    One that is 1 but for rounding is 1: elements that have converged do not drift while others go on.
    """
    none = zero(factor.most)
    parts = [op.Abs(t - 1.0) if o == none else op.Abs(t) * SLACK for o, t in factor.terms.items()]
    change = op.Max(*parts) if len(parts) > 1 else parts[0]
    settled = change <= 2 * EPS
    frozen = {o: op.Where(settled, 1.0 if o == none else 0.0, t) for o, t in factor.terms.items()}
    return Jet(frozen, factor.most), op.Where(settled, 0.0, change)


def derivative(jet: Jet) -> Array:
    """The derivative of the highest orders, 0 where there is none."""
    scale = math.prod(math.factorial(n) for n in jet.most)
    found = jet.terms.get(jet.most)
    return jet.first() * 0.0 if found is None else found * float(scale)
