"""Solve Scans whose steps are linear in a few small carries for all steps at once, by an associative scan.

A step is then s[t] = A[t] s[t-1] + b[t], and what it stacks is linear in s[t-1] too. The coefficients are found by
going through the body's elementwise ops. Backward passes of loops that carry a few numbers are of this kind, and
discounted sums. The result is put into the recurrence: a run in which a step is off by more than rounding, as where
products of A overflow, or which has few steps, takes the Scan.

```
Scan(s, as, bs): s = Add(Mul(as, s), bs)   ->   s = linear_recurrence(as, bs), where it fulfils the recurrence
```
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Type, Value, Var, dims, reads
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.dims import Dim, product
from primsplit.numpy.axes import size_as, slab
from primsplit.numpy.dense.loop import until
from primsplit.ops import op as operators
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.regions import DIRECTIONS, Walk, emit_if, record
from primsplit.transforms.associative_scans import applied, linear_recurrence
from primsplit.transforms.vectorized_loops.fission import one_walk, stepwise

MOST = 3
"""The most carries: the products of matrices take their cube of operators."""
LARGEST = 64
"""The most numbers of a carry."""
LINEAR = {"Add", "Sub", "Mul", "Div", "Neg", "Identity", "Where"}
"""Elementwise operators that are linear in one operand, or in both. No trait: each has a formula here."""
ROUNDING = 64
"""How many roundings of its terms a step may be off."""
PASSES = 3
"""How often at most the recurrence is solved for what is left over."""


def solve_linear_scans(block: Block) -> Block:
    """Return the block with linear Scans solved for all steps at once; itself if there are none."""
    return _Solving().run(block)


class _Solving(Rewriter):
    """The walk."""

    kinds = frozenset({"Scan"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or None for a Scan that has been replaced."""
        found = _LinearScan.of(op) if op.kind == "Scan" else None
        if found is None:
            return super().visit(op)
        with recorded_beside(op) as around:
            outputs = found.outputs()
        self.kept.extend(around.ops)
        self.replaced.update(zip(op.outputs, outputs, strict=True))
        return None


@dataclass(frozen=True, slots=True)
class _Form:
    """A value of all steps that is linear in the carries before each: its coefficient by carry, and the rest.

    A coefficient that is absent is 0, and so is a rest that is None. All broadcast with [n, ...].
    """

    slopes: dict[int, Array] = field(default_factory=dict)
    rest: Array | None = None


ONE: Any = np.float64(1.0)
"""A coefficient of 1, by which nothing is multiplied."""


@dataclass(frozen=True, slots=True)
class _LinearScan:
    """A Scan that is linear in its carries, which all have the type `one`; `least` is the fewest steps worth it."""

    scan: Op
    body: Block
    count: int
    walk: Walk
    one: Type
    least: int

    @classmethod
    def of(cls, scan: Op) -> "_LinearScan | None":
        """Return the Scan if it is linear and of enough steps, else None."""
        body: Block = scan.attributes["body"]
        _, count = lead_and_carries(scan)
        walk = one_walk(scan, count)
        if walk is None or body.name == DIRECTIONS or not 0 < count <= MOST or len(scan.inputs) == count:
            return None
        one, length = body.params[0].type, _length(scan, count)
        if one.dtype not in (np.float32, np.float64) or not _is_small(one) or not _is_linear(body, count, one):
            return None
        least = _least(len(body.ops), count)
        if isinstance(length, int) and length < least:
            return None
        return cls(scan, body, count, walk, one, least)

    @property
    def length(self) -> Dim:
        """The number of steps."""
        return _length(self.scan, self.count)

    @property
    def inputs(self) -> list[Value]:
        """The inputs of the Scan."""
        return [v for v in self.scan.inputs if v is not None]

    def outputs(self) -> list[Value]:
        """Record everything; return what stands for the Scan's outputs."""
        if isinstance(self.length, int):
            return self.checked()
        is_long = operators.GreaterOrEqual(size_as(self.length, np.int64), np.int64(self.least))
        together, one_by_one = record("together", [], self.checked), record("steps", [], self.one_by_one)
        return emit_if(is_long.value, together, one_by_one, self.types)

    @property
    def types(self) -> list[Type]:
        """The types of the Scan's outputs."""
        return [v.type for v in self.scan.outputs]

    def one_by_one(self) -> list[Value]:
        """The Scan."""
        scan = self.scan
        return list(tracing.emit("Scan", scan.inputs, dict(scan.attributes), outputs=len(self.types), types=self.types))

    def checked(self) -> list[Value]:
        """The solution for all steps at once, or the Scan where that fails the recurrence."""
        forms = self.forms()
        a, b = self.matrix(forms), self.vector(forms)
        states, is_right = self.solved(a, b)
        last = [self.number(slab(states, 1, self.length, self.length + 1), k, ()) for k in range(self.count)]
        natural = self.turned(slab(states, 1, 0, self.length), 1)
        rows = [self.number(natural, k, (self.length,)) for k in range(self.count)]
        results = [*last, *(self.of_form(f, rows) for f in forms[self.count :])]
        typed = [operators.Identity(r, types=[t]) for r, t in zip(results, self.types, strict=True)]
        kept = record("together", [], lambda: [operators.Identity(r, types=[r.type]).value for r in typed])
        return emit_if(is_right.value, kept, record("steps", [], self.one_by_one), self.types)

    def forms(self) -> list[_Form]:
        """The results of all steps as forms in the carries before each."""
        elements = dict(zip(self.body.params[self.count :], self.inputs[self.count :], strict=True))
        fixed = stepwise(self.body, self.count, elements, self.length)
        moving: dict[Var, _Form] = {p: _Form({k: ONE}) for k, p in enumerate(self.body.params[: self.count])}

        def form(value: Value | None) -> _Form:
            if isinstance(value, Var) and value in moving:
                return moving[value]
            assert value is not None
            return _Form(rest=self.aligned(fixed.get(value, value) if isinstance(value, Var) else value, value))

        for each in self.body.ops:
            if not moving.keys().isdisjoint(reads(each)):
                moving[each.outputs[0]] = _FORMULAS[each.kind](each, *map(form, each.inputs))
        return [form(r) for r in self.body.results]

    def aligned(self, every: Value, one: Value) -> Array:
        """A value of all steps, with as many axes as the carries of all steps, or one that is the same in each."""
        array, rank = Array(every), len(self.one.shape or ())
        if every is one or one.type.rank == rank:
            return array
        shape = one.type.shape or ()
        return reshape_to(array, (self.length, *(1,) * (rank - len(shape)), *shape))

    def matrix(self, forms: Sequence[_Form]) -> Array:
        """The coefficients of the carries after each step, [m, m, n, ...], in the order of the walk."""
        rows = [[self.whole(f.slopes.get(k)) for k in range(self.count)] for f in forms[: self.count]]
        stacked = [operators.Concat(*(operators.Unsqueeze(x, [0, 1]) for x in row), axis=1) for row in rows]
        return self.turned(operators.Concat(*stacked, axis=0), 2)

    def vector(self, forms: Sequence[_Form]) -> Array:
        """What a step adds to the carries, [m, n, ...], in the order of the walk."""
        rows = [operators.Unsqueeze(self.whole(f.rest), [0]) for f in forms[: self.count]]
        return self.turned(operators.Concat(*rows, axis=0), 1)

    def whole(self, x: Array | None) -> Array:
        """A coefficient of all steps, [n, ...]."""
        shape = (self.length, *(self.one.shape or ()))
        if x is None:
            return zeros(shape, self.one.dtype)
        given = Array(tracing.constant(np.ones((), self.one.dtype))) if x is ONE else x
        return operators.Expand(given, tracing.size_vector(shape), types=[Type(self.one.dtype, shape)])

    def turned(self, x: Array, axis: int) -> Array:
        """Time in the order of the walk, or back."""
        if not self.walk.reverse:
            return x
        return operators.Slice(x, [-1], [np.iinfo(np.int64).min], [axis], [-1], types=[x.type])

    def solved(self, a: Array, b: Array) -> tuple[Array, Array]:
        """The carries before the first step and after each, [m, 1 + n, ...], and whether each step is one.

        What is left over of the recurrence is solved for again.
        """
        starts = [operators.Unsqueeze(Array(v), [0, 1]) for v in self.inputs[: self.count]]
        first = operators.Concat(*starts, axis=0) if len(starts) > 1 else starts[0]
        own = self.one.shape or ()
        nothing = zeros((self.count, 1, *own), self.one.dtype)
        a = operators.Concat(zeros((self.count, self.count, 1, *own), self.one.dtype), a, axis=2)
        b = operators.Concat(first, b, axis=1)

        def step(states: Array, rest: Array, _: Array) -> list[Array]:
            states = operators.Add(states, linear_recurrence(a, rest, loops=True), types=[b.type])
            before = slab(operators.Concat(nothing, states, axis=1), 1, 0, b.shape[1])
            rest, is_right = _left_over(a, b, before, states)
            return [states, rest, is_right]

        begin = [zeros(b.shape, self.one.dtype), b, Array(operators.Identity(np.array(False)).value)]
        states, _, is_right = until(lambda *carries: carries[-1], step, begin, PASSES)
        return states, is_right

    def number(self, states: Array, k: int, lead: tuple[Dim, ...]) -> Array:
        """One carry of [m, n, ...], with these leading axes."""
        return reshape_to(slab(states, 0, k, k + 1), (*lead, *(self.one.shape or ())))

    def of_form(self, form: _Form, rows: Sequence[Array]) -> Array:
        """The value of a form for the carries before each step."""
        terms = [_times(rows[k], slope) for k, slope in form.slopes.items()]
        terms += [] if form.rest is None else [form.rest]
        total = terms[0]
        for term in terms[1:]:
            total = operators.Add(total, term)
        return total if form.slopes else self.whole(total)


def _length(scan: Op, count: int) -> Dim:
    first = scan.inputs[count]
    assert first is not None
    return (first.type.shape or (0,))[0]


def _is_small(one: Type) -> bool:
    if one.shape is None or not all(isinstance(d, int) for d in one.shape):
        return False
    return 0 < int(product(one.shape)) <= LARGEST


def _is_linear(body: Block, count: int, one: Type) -> bool:
    """Whether all that depends on the carries is linear in them, by elementwise ops on values of their type."""
    moving: set[Var] = set(body.params[:count])
    if any(not _is_type(v, one) for v in (*body.params[:count], *body.results[:count])):
        return False
    for each in body.ops:
        there = [v is not None and v in moving for v in each.inputs]
        if each.blocks() and not moving.isdisjoint(reads(each)):
            return False
        if not any(there):
            continue
        is_alike = _is_type(each.outputs[0], one) and all(_is_type(v, one) for v in each.inputs if v in moving)
        if each.kind not in LINEAR or not is_alike or not _is_linear_in(each.kind, there):
            return False
        moving.add(each.outputs[0])
    return True


def _is_type(value: Value, one: Type) -> bool:
    return (
        value.type.dtype == one.dtype
        and value.type.shape is not None
        and dims.same_shape(value.type.shape, one.shape or ())
    )


def _is_linear_in(kind: str, there: Sequence[bool]) -> bool:
    """Whether an operator is linear in those of its operands that depend on the carries."""
    if kind == "Mul":
        return sum(there) == 1
    if kind in {"Div", "Where"}:
        return there[0] == (kind == "Div") and (kind == "Where" or not there[1])
    return True


def _least(ops: int, count: int) -> int:
    """The fewest steps for which all at once take less time: a power of two, by the operators that are run."""
    steps = 16
    while steps < 2**20:
        at_once = 60 + ops * (count + 1) + math.log2(steps) * (14 + 10 * count)
        if steps * (ops + 2) > 1.5 * at_once:
            break
        steps *= 2
    return steps


def _times(a: Array, b: Array) -> Array:
    return b if a is ONE else a if b is ONE else operators.Mul(a, b)


def _sum(_: Op, a: _Form, b: _Form) -> _Form:
    slopes = {k: _added(a.slopes.get(k), b.slopes.get(k)) for k in dict.fromkeys((*a.slopes, *b.slopes))}
    return _Form({k: s for k, s in slopes.items() if s is not None}, _added(a.rest, b.rest))


def _added(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return operators.Add(a, b)


def _difference(each: Op, a: _Form, b: _Form) -> _Form:
    return _sum(each, a, _negative(each, b))


def _negative(_: Op, a: _Form) -> _Form:
    return _mapped(a, operators.Neg)


def _product(_: Op, a: _Form, b: _Form) -> _Form:
    form, factor = (a, b.rest) if a.slopes else (b, a.rest)
    assert factor is not None
    return _mapped(form, lambda x: _times(x, factor))


def _quotient(_: Op, a: _Form, b: _Form) -> _Form:
    assert b.rest is not None
    divisor = b.rest
    return _mapped(a, lambda x: operators.Div(x, divisor))


def _choice(each: Op, condition: _Form, a: _Form, b: _Form) -> _Form:
    nothing = np.zeros((), each.outputs[0].type.dtype)

    def chosen(x: Array | None, y: Array | None) -> Array | None:
        if x is None and y is None:
            return None
        sides = (nothing if v is None else np.ones((), nothing.dtype) if v is ONE else v for v in (x, y))
        return operators.Where(condition.rest, *sides)

    slopes = {k: chosen(a.slopes.get(k), b.slopes.get(k)) for k in dict.fromkeys((*a.slopes, *b.slopes))}
    return _Form({k: s for k, s in slopes.items() if s is not None}, chosen(a.rest, b.rest))


def _mapped(form: _Form, function: Any) -> _Form:
    return _Form({k: function(s) for k, s in form.slopes.items()}, None if form.rest is None else function(form.rest))


_FORMULAS: dict[str, Any] = {
    "Add": _sum,
    "Sub": _difference,
    "Neg": _negative,
    "Mul": _product,
    "Div": _quotient,
    "Identity": lambda _, a: a,
    "Where": _choice,
}


def _left_over(a: Array, b: Array, before: Array, after: Array) -> tuple[Array, Array]:
    """What each step is off, and whether that is rounding in all of them; not so where a number is NaN."""
    eps, tiny = np.finfo(b.dtype).eps, np.finfo(b.dtype).tiny
    rest = operators.Sub(operators.Add(applied(a, before), b), after, types=[b.type])
    size = operators.Add(applied(operators.Abs(a), operators.Abs(before)), operators.Abs(b))
    bound = operators.Add(operators.Mul(size, np.asarray(ROUNDING * eps, b.dtype)), np.asarray(tiny, b.dtype))
    fails = operators.Not(operators.LessOrEqual(operators.Abs(rest), bound))
    failing = operators.ReduceSum(operators.Cast(fails, to=np.int64), keepdims=0)
    return rest, operators.Equal(failing, np.int64(0))
