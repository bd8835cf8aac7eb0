"""Divide a sum by y where only the sum of its terms has the factor y: the slopes of Matern kernels at 0.

The cotangent of y in `(1 + s y) exp(-s y)` is `s e - s (1 + s y) e` with e = exp(-s y). Neither term has a factor y,
but their sum is `y (-s s e)`. Each value is written as a polynomial in opaque values, plus a multiple of y. If the
polynomial of a sum is 0, the multiple is the quotient by y.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ops import op as operators
from primsplit.tracing import inline
from primsplit.tracing.array import Array

DEPTH = 24
"""The longest chain of ops that is followed."""
MOST = 200
"""The most values that are looked at."""
LONGEST = 32
"""The most monomials of a polynomial."""
ROUNDING = 1e-9
"""A sum that is at most this part of the sum of its terms' sizes counts as 0."""
_VALUES: dict[str, Callable[[Sequence[float]], float]] = {
    "Add": sum, "Div": lambda v: v[0] / v[1], "Mul": math.prod, "Neg": lambda v: -v[0], "Sub": lambda v: v[0] - v[1],
    "Sum": sum,
}  # fmt: skip
POLYNOMIAL = frozenset({*_VALUES, "call::integer_power", "call::square"})
"""The ops that are written as polynomials of their inputs; all others are opaque."""
_Sample = tuple[float, float]
"""A value at a point, and the sum of the sizes of its terms."""
UNKNOWN: _Sample = (math.nan, math.nan)
Quotient = Array | float | None
Monomials = Mapping[tuple[int, ...], float]
"""The coefficient of each product of values, which are identified by their `id`."""
Multiple = Callable[[], Array] | None
"""A function that records the factor of y; None if that is 0. Nothing is recorded before it is needed."""


class Made(Protocol):
    """Finds the op that computes a value."""

    def maker(self, value: Value | None) -> Op | None:
        """Return the op that computes a value; None if none does."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A value as a polynomial and a multiple of y."""

    rest: Monomials
    multiple: Multiple = None


class Samples:
    """Sums evaluated at one point, where y is 0 and opaque values are random.

    A polynomial that is not 0 there is not 0, which rules out most sums: few need to be written out. Each value is
    evaluated once for all sums.
    """

    def __init__(self, made: Made, y: Var) -> None:
        self._made = made
        self._known: dict[Value, _Sample] = {y: (0.0, 0.0)}
        self._random = random.Random(0)  # noqa: S311  # the same program gives the same file

    def may_vanish(self, terms: Sequence[Value]) -> bool:
        """Whether the sum of the terms may have the factor y."""
        value, size = _computed("Sum", [self._sample(term, DEPTH) for term in terms])
        return not abs(value) > ROUNDING * size

    def _sample(self, value: Value, depth: int) -> _Sample:
        if value not in self._known:
            self._known[value] = self._fresh(value, depth)
        return self._known[value]

    def _fresh(self, value: Value, depth: int) -> _Sample:
        if (number := _number(value)) is not None:
            return number, abs(number)
        op = self._made.maker(value)
        if op is None or not depth or op.kind not in POLYNOMIAL:
            number = self._random.uniform(0.5, 1.5)
            return number, number
        inputs = [self._sample(v, depth - 1) for v in op.inputs if v is not None]
        return _computed(op.kind, inputs) if op.kind in _VALUES else _of_body(op.attributes["body"], inputs)


def _number(value: Value | None) -> float | None:
    """Return the constant number that a value is; None if it is no constant scalar."""
    if isinstance(value, Const) and value.type.shape == () and value.is_small and not value.is_weight:
        return float(value.numpy())
    return None


def _of_body(body: Block, inputs: Sequence[_Sample]) -> _Sample:
    known: dict[Value | None, _Sample] = dict(zip(body.params, inputs, strict=True))
    for op in body.ops:
        known[op.outputs[0]] = UNKNOWN
        if op.kind in _VALUES:
            known[op.outputs[0]] = _computed(op.kind, [known.get(v, UNKNOWN) for v in op.inputs])
    return known[body.results[0]]


def _computed(kind: str, inputs: Sequence[_Sample]) -> _Sample:
    values, sizes = [value for value, _ in inputs], [size for _, size in inputs]
    if kind == "Div":
        return (_VALUES[kind](values), sizes[0] / abs(values[1])) if values[1] else UNKNOWN
    return _VALUES[kind](values), math.prod(sizes) if kind == "Mul" else sum(sizes)


def cancelled(made: Made, terms: Sequence[Value], y: Var) -> Array | None:
    """Return the sum of the terms divided by y, if the part without a factor y cancels; else None.

    This writes out polynomials. Call `Samples.may_vanish` first, which is cheap.
    """
    seen: dict[int, _Parts] = {}
    found = _sum([_parts(made, term, y, DEPTH, seen) for term in terms])
    return None if found.rest or found.multiple is None else found.multiple()


def _parts(made: Made, value: Value, y: Var, depth: int, seen: dict[int, _Parts]) -> _Parts:
    """Return the parts of a value. Each value is read once: many ops may share it."""
    if id(value) not in seen:
        seen[id(value)] = _read(made, value, y, depth if len(seen) < MOST else 0, seen)
    return seen[id(value)]


def _read(made: Made, value: Value, y: Var, depth: int, seen: dict[int, _Parts]) -> _Parts:
    if value is y:
        return _Parts({}, lambda: operators.Add(operators.Mul(Array(y), 0.0), 1.0))
    if (number := _number(value)) is not None:
        return _Parts({(): number})
    op, opaque = made.maker(value), _Parts({(id(value),): 1.0})
    if op is None or not depth or any(v is None for v in op.inputs):
        return opaque
    terms = [v for v in op.inputs if v is not None]
    if op.kind == "Neg":
        return _scaled(_parts(made, terms[0], y, depth - 1, seen), -1.0)
    if op.kind in {"Add", "Sub", "Sum"}:
        found = [_parts(made, v, y, depth - 1, seen) for v in terms]
        return _sum([*found[:-1], _scaled(found[-1], -1.0)] if op.kind == "Sub" else found)
    if op.kind == "Div":
        divisor = _parts(made, terms[1], y, 1, {}).rest
        return _scaled(_parts(made, terms[0], y, depth - 1, seen), 1.0 / divisor[()]) if _is_number(divisor) else opaque
    if op.kind == "call::integer_power":
        (value,) = inline(op.attributes["body"], terms)
        return _parts(made, value, y, depth - 1, seen)
    if op.kind == "call::square":
        terms = [terms[0], terms[0]]
    if op.kind in {"Mul", "call::square"}:
        one, other = (_parts(made, v, y, depth - 1, seen) for v in terms)
        product = _product(one, other, Array(terms[0]), Array(terms[1]), y)
        return product if len(product.rest) <= LONGEST else opaque
    return opaque


def _is_number(polynomial: Monomials) -> bool:
    return set(polynomial) == {()} and polynomial[()] != 0.0


def _scaled(parts: _Parts, factor: float) -> _Parts:
    multiple = parts.multiple
    rest = {monomial: factor * c for monomial, c in parts.rest.items()}
    return _Parts(rest, None if multiple is None else lambda: operators.Mul(multiple(), factor))


def _sum(found: list[_Parts]) -> _Parts:
    """Return the sum. A coefficient that is 0 up to rounding is 0."""
    largest: dict[tuple[int, ...], float] = {}
    total: dict[tuple[int, ...], float] = {}
    for parts in found:
        for monomial, c in parts.rest.items():
            total[monomial] = total.get(monomial, 0.0) + c
            largest[monomial] = max(largest.get(monomial, 0.0), abs(c))
    multiples = [parts.multiple for parts in found if parts.multiple is not None]
    rest = {monomial: c for monomial, c in total.items() if abs(c) > 4 * np.finfo(float).eps * largest[monomial]}
    return _Parts(rest, (lambda: _added([m() for m in multiples])) if multiples else None)


def _product(one: _Parts, other: _Parts, a: Array, b: Array, y: Var) -> _Parts:
    """(r + y p) (s + y q) = r s + y (p b + q (a - y p)) for the factors a and b."""
    rest: dict[tuple[int, ...], float] = {}
    for left, c in one.rest.items():
        for right, d in other.rest.items():
            monomial = tuple(sorted((*left, *right)))
            rest[monomial] = rest.get(monomial, 0.0) + c * d
    first, second = one.multiple, other.multiple
    if first is None and second is None:
        return _Parts(rest)

    def multiple() -> Array:
        if first is None or second is None:
            return operators.Mul(first(), b) if first is not None else operators.Mul(a, second()) if second else a
        p = first()
        return operators.Add(operators.Mul(p, b), operators.Mul(second(), operators.Sub(a, operators.Mul(Array(y), p))))

    return _Parts(rest, multiple)


def _added(found: list[Array]) -> Array:
    total = found[0]
    for each in found[1:]:
        total = operators.Add(total, each)
    return total
