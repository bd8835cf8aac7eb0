"""Cancel divisions by roots in pullbacks: `sqrt(x)**2` has the slope 1 at 0, where 0 / 0 would say nothing.

The pullback of y = sqrt(x) divides the cotangent of y by y. If that cotangent is a product with y, like that of y**2, 2
y dz, the division cancels:

    dy = 2 y dz                                  dy = 2 y dz
    dx = root_quotient(0.5 dy, y)     becomes    dx = dz

So do sin(y) / y, of the slope of cos(y), and sinh(y) / y. What cancels stays smooth, so that its derivatives of any
order are right at 0: those of squares of norms, of kernels by squared distances, of even functions of a root.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from primsplit.ir import Op, Value, Var, reads
from primsplit.ir.analysis.orders import order_of
from primsplit.ir.dims import same_shape
from primsplit.numpy.quotients import bounded_quotient
from primsplit.ops import op as operators
from primsplit.ops.namespace import later
from primsplit.rewrites.rewrites.table import is_zero
from primsplit.rewrites.same_values import same_value
from primsplit.rewrites.signs import is_smoothly_nonnegative, sign_argument
from primsplit.special.wave_integrals import divided_by_argument
from primsplit.tracing import append, emit, inline
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, ones_like, zeros_like
from primsplit.transforms.cancelling_sums import Samples, cancelled

DIVIDED = frozenset({"call::root_quotient", "call::length_quotient"})
CANCELLED = DIVIDED | {"call::signed"}
"""The calls of a pullback that may be replaced by their value."""
OPENED = frozenset({"call::square", "call::integer_power"})
"""Calls whose bodies are products."""
DEPTH = 12
"""The longest chain of ops that is followed; a cotangent that is a sum of several counts for five."""

Quotient = Array | float | None
"""A value divided by another: a number if it is the same everywhere; None if only a division computes it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A cotangent that arrived at a value, from an op that reads it.

    For an op that moves elements, `moved` is its output, and `pulled` maps a cotangent of that to one of the value.
    """

    cotangent: Value
    moved: Var | None = None
    pulled: Callable[[Array], Array] | None = None


@dataclass
class EvenSlopes:
    """Divides the cotangents of a composition by their values, without a division.

    `primal` are the ops of its primal list, `pullback` those of its pullback as far as they are recorded, and `stands`
    maps a Var of the block to its value in the primal.
    """

    primal: Sequence[Op]
    pullback: list[Op]
    stands: Callable[[Value], Value]
    arrivals: dict[Var, list[Arrival]] = field(default_factory=partial(defaultdict, list))
    sources: dict[Value, list[Var]] = field(default_factory=partial(defaultdict, list))
    found: dict[Var, Quotient] = field(default_factory=dict)
    _made: dict[Var, Op] = field(default_factory=dict)
    _sizes: dict[Value, Var] = field(default_factory=dict)
    _signs: dict[Value, Var] = field(default_factory=dict)
    _order: dict[Var, int] = field(default_factory=dict)
    _open: set[Var] = field(default_factory=set)
    _vain: set[tuple[Var, Var]] = field(default_factory=set)
    _samples: dict[Var, Samples] = field(default_factory=dict)
    _looked: int = 0
    _seen: int = 0

    def append(self, inner: Op) -> None:
        """Record one of the calls CANCELLED; in its place its value, if no division is needed."""
        first = len(self.pullback)
        instead = self._divided(inner) if inner.kind in DIVIDED else self._signed(inner)
        if instead is None:
            append(inner)
        else:
            append(inner.beside("Identity", (instead.value,), inner.outputs))
        for i in range(first, len(self.pullback)):
            self.pullback[i] = replace(self.pullback[i], place=inner.place, remark=inner.remark)

    def _divided(self, inner: Op) -> Array | None:
        n, y = inner.inputs
        if not isinstance(y, Var):
            return None
        found = self.over(n, y)
        if found is None:
            return self._bounded(inner, y)
        made = whole(found, y)
        if inner.kind == "call::root_quotient":
            # A root of what is below 0 is NaN, and so is its slope.
            made = operators.Where(operators.IsNaN(Array(y)), Array(y), made)
        return made

    def _bounded(self, inner: Op, y: Var) -> Array | None:
        """The quotient whose 0 / 0 is 0, if y is the root of a smooth nonnegative value: its slope is bounded."""
        root = self.maker(y)
        if inner.kind != "call::root_quotient" or order_of(inner.remark) > 1 or root is None or root.kind != "Sqrt":
            return None
        if not is_smoothly_nonnegative(root.inputs[0], self._made):
            return None
        found: Array = bounded_quotient(*map(Array, reads(inner)))
        return found

    def _signed(self, inner: Op) -> Array | None:
        n, x = inner.inputs
        size = self.size_of(x)
        if size is None or not isinstance(x, Var):
            return None
        unsigned = self.unsigned(n, x)
        if unsigned is not None:
            return whole(unsigned, x)
        found = self.over(n, size)
        if found is not None:
            return operators.Mul(whole(found, size), Array(x), types=[x.type])
        found = self.over(n, x)
        return None if found is None else operators.Mul(whole(found, size), Array(size), types=[x.type])

    def unsigned(self, n: Value | None, x: Var) -> Quotient:
        """Return n times the sign of x, if n is a product with it, or x is the size of another value.

        The square of a sign is 1: so has sign(x) f(|x|) the slope f'(0) at 0.
        """
        sign = self.sign_of(x)
        if sign is not None:
            return self.over(n, sign)
        return Array(n) if n is not None and self.has_sign(x) else None

    def over(self, e: Value | None, y: Var, depth: int = DEPTH) -> Quotient:
        """Return the value e over y, without a division by y; None if that is not possible."""
        if e is y:
            return 1.0
        if is_zero(e):
            return 0.0
        if not isinstance(e, Var) or depth <= 0 or (e, y) in self._vain:
            return None
        quotient = self._over(e, y, depth)
        if quotient is None:
            self._vain.add((e, y))
        return quotient

    def _over(self, e: Var, y: Var, depth: int) -> Quotient:
        root = self.maker(y)
        if root is not None and same_value(e, y, self._made):
            return 1.0
        if root is not None and root.kind == "Sqrt" and root.inputs[0] is e:
            return Array(y)
        if e in self._order and self._order[e] < self._order.get(y, 0):
            return None
        if root is not None and root.kind == "Mul" and root.inputs[0] is root.inputs[1]:
            return self._twice(e, root.inputs[0], depth)
        sources = self.sources.get(e, ())
        for var in sources:
            found = self._of_cotangent(var, y, depth)
            if found is not None:
                return found
        made = self.maker(e)
        far = bool(sources) and self._open.isdisjoint(sources)
        return None if made is None else self._of_op(made, y, depth - 4 if far else depth)

    def _twice(self, e: Var, factor: Value | None, depth: int) -> Quotient:
        """Return e divided by the square of a value."""
        if not isinstance(factor, Var):
            return None
        once = self.over(e, factor, depth)
        if isinstance(once, Array):
            return self.over(once.value, factor, depth)
        return 0.0 if once == 0.0 else None

    def _of_cotangent(self, var: Var, y: Var, depth: int) -> Quotient:
        """The cotangent of a value over y, if the value is a product with y and its cotangent one with the value."""
        ratio = self.over(self.stands(var), y, depth - 1)
        quotient = None if ratio is None else self._of_value(var, depth - 1)
        return None if ratio is None or quotient is None else _times(ratio, quotient)

    def _of_value(self, var: Var, depth: int) -> Quotient:
        """Return the cotangent of a value over that value: the sum over the cotangents that arrived."""
        if var in self.found:
            return self.found[var]
        self.found[var] = None
        self._open.add(var)
        self.found[var] = self._total(var, depth)
        self._open.discard(var)
        return self.found[var]

    def _total(self, var: Var, depth: int) -> Quotient:
        value = self.stands(var)
        total: Array | float = 0.0
        for arrival in self.arrivals[var]:
            found = self._of_arrival(arrival, value, depth) if isinstance(value, Var) else None
            if found is None:
                return self._cancelled(var, value)
            total = _plus(total, found)
        return total

    def _cancelled(self, var: Var, value: Value) -> Array | None:
        """Return the sum of the cotangents over the value, if only the sum has it as a factor."""
        if not isinstance(value, Var) or any(arrival.moved is not None for arrival in self.arrivals[var]):
            return None
        found = self.cancelled([arrival.cotangent for arrival in self.arrivals[var]], value)
        return None if found is None else whole(found, value)

    def cancelled(self, terms: Sequence[Value], y: Var) -> Array | None:
        """Return the sum of the terms over y, if the part without a factor y cancels."""
        if y not in self._samples:
            self._samples[y] = Samples(self, y)
        return cancelled(self, terms, y) if self._samples[y].may_vanish(terms) else None

    def _of_arrival(self, arrival: Arrival, value: Var, depth: int) -> Quotient:
        if arrival.moved is None or arrival.pulled is None:
            found = self.over(arrival.cotangent, value, depth)
            return found if found is None else whole(found, value)
        quotient = self._of_value(arrival.moved, depth)
        return None if quotient is None else arrival.pulled(whole(quotient, self.stands(arrival.moved)))

    def _of_op(self, made: Op, y: Var, depth: int) -> Quotient:
        """Return the result of an op divided by y."""
        if made.kind in OPENED:
            (value,) = inline(made.attributes["body"], [v for v in made.inputs if v is not None])
            return self.over(value, y, depth - 1)
        rule = _RULES.get(made.kind)
        found = None if rule is None else rule(self, made, y, depth - 1)
        return whole(found, made.outputs[0]) if isinstance(found, Array) else found

    def size_of(self, x: Value | None) -> Var | None:
        """Return the Var of |x|, if the program has it."""
        self._look()
        return self._sizes.get(x) if x is not None else None

    def sign_of(self, x: Value | None) -> Var | None:
        """Return the Var of the sign of x, if the program has it, at 0 any number."""
        self._look()
        return self._signs.get(x) if x is not None else None

    def has_sign(self, x: Value) -> bool:
        """Whether the program has the sign of x, or x is the size of another value."""
        made = self.maker(x)
        return self.sign_of(x) is not None or (made is not None and made.kind == "Abs")

    def maker(self, value: Value | None) -> Op | None:
        """Return the op that computes a value, in the primal or in the pullback so far."""
        self._look()
        return self._made.get(value) if isinstance(value, Var) else None

    def _look(self) -> None:
        """Index the ops that were recorded since the last call."""
        if self._looked == len(self.pullback) and self._seen == len(self.primal):
            return
        fresh = self.primal[self._seen :]
        self._seen = len(self.primal)
        for op in fresh:
            self._made.update(dict.fromkeys(op.outputs, op))
            self._order.update((v, len(self._order)) for v in op.outputs)
            if op.kind == "Abs" and op.inputs[0] is not None:
                self._sizes[op.inputs[0]] = op.outputs[0]
            signed = sign_argument(op, self._made)
            if signed is not None:
                self._signs[signed] = op.outputs[0]
        self._made.update((v, op) for op in self.pullback[self._looked :] for v in op.outputs)
        self._looked = len(self.pullback)


def whole(found: Array | float, like: Value) -> Array:
    """Return a quotient in the shape of a value."""
    if not isinstance(found, Array):
        ones = ones_like(Array(like)) if found else zeros_like(Array(like))
        return ones if found in {0.0, 1.0} else ones * found
    if like.type.shape is None or same_shape(found.shape, like.type.shape):
        return found
    return expand_to(found, like.type.shape)


def _times(a: Array | float, b: Array | float) -> Array | float:
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    if isinstance(a, float):
        a, b = b, a
    return 0.0 if isinstance(b, float) and b == 0.0 else a if isinstance(b, float) and b == 1.0 else a * b


def _plus(a: Array | float, b: Array | float) -> Array | float:
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else a + b


# Each rule takes an op and gives its result over y, None where it does not tell.

Rule = Callable[[EvenSlopes, Op, Var, int], Quotient]


def _product(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    for one, other in (made.inputs, made.inputs[::-1]):
        found = slopes.over(one, y, depth)
        if found is not None and other is not None:
            return _times(found, Array(other))
    return None


def _share(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    found = slopes.over(made.inputs[0], y, depth)
    if found is None or made.inputs[1] is None or (isinstance(found, float) and found == 0.0):
        return found
    return whole(found, made.outputs[0]) / Array(made.inputs[1])


def _same(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    return slopes.over(made.inputs[0], y, depth)


def _negative(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    found = slopes.over(made.inputs[0], y, depth)
    return operators.Neg(found) if isinstance(found, Array) else found if found is None else 0.0 - found


def _sum(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    wide: list[Array] = []
    for term in made.inputs:
        found = slopes.over(term, y, depth)
        if found is None:
            return slopes.cancelled(made.outputs, y)
        wide.append(whole(found, made.outputs[0]))
    total: Array = getattr(operators, made.kind)(*wide)
    return total


def _choice(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    asked = slopes.maker(made.inputs[0])
    missing = asked.inputs[0] if asked is not None and asked.kind == "IsNaN" else None
    sides = [Array(v) if v is missing and v is not None else slopes.over(v, y, depth) for v in made.inputs[1:]]
    if any(s is None for s in sides) or made.inputs[0] is None:
        return None
    wide = [whole(s, made.outputs[0]) for s in sides if s is not None]
    return operators.Where(Array(made.inputs[0]), *wide)


def _total(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
    """A sum along axes along which y has size 1: y was repeated along them."""
    wide = made.inputs[0]
    shape, kept = y.type.shape, made.outputs[0].type.shape
    if wide is None or shape is None or kept is None or len(shape) != len(Array(wide).shape):
        return None
    if not same_shape(shape, kept):
        return None
    found = slopes.over(wide, y, depth)
    if found is None:
        return None
    (total,) = emit(made.kind, [whole(found, wide).value, *made.inputs[1:]], made.attributes)
    return Array(total)


def _odd(kind: str, sign: float) -> Rule:
    """Return the rule of sin or sinh: sin(k y) / y is k times a function that is smooth at 0."""
    function = getattr(later, kind)

    def rule(slopes: EvenSlopes, made: Op, y: Var, depth: int) -> Quotient:
        angle = made.inputs[0]
        found = slopes.over(angle, y, depth)
        if found is None or angle is None:
            return None
        return _times(found, divided_by_argument(Array(angle), function, sign))

    return rule


_RULES: dict[str, Rule] = {
    "Mul": _product, "Div": _share, "Neg": _negative, "Add": _sum, "Sub": _sum, "Sum": _sum, "Where": _choice,
    "Identity": _same,
    "Sin": _odd("Sin", -1.0), "Sinh": _odd("Sinh", 1.0), "ReduceSum": _total,
}  # fmt: skip
