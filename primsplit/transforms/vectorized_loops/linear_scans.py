"""Solve Scans whose steps are linear in a few small carries for all steps at once, by an associative scan.

A step is then s[t] = A[t] s[t-1] + b[t], and what it stacks is linear in s[t-1] too. Backward passes of loops that
carry a few numbers are of this kind, discounted sums and hidden Markov models. The result is put into the recurrence: a
run in which a step is off by more than rounding, as where products of A overflow, or which has few steps, takes the
Scan.

```
Scan(s, as, bs): s = Add(Mul(as, s), bs)   ->   s = linear_recurrence(as, bs), where it fulfils the recurrence
```
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, BodyRole, Op, Type, Value, Var, dims, readers, reads
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.analysis.dependence import dependent
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import size_as, slab
from primsplit.numpy.dense.loop import until
from primsplit.ops import op as operators
from primsplit.ops.traits import terms_of
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.rewriting import literal_shape
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.regions import Walk, emit_if, record, visible
from primsplit.transforms.associative_scans import left_over, linear_recurrence
from primsplit.transforms.parallel_scan import Steps
from primsplit.transforms.vectorized_loops.fission import batchable, one_walk, stepwise
from primsplit.transforms.vectorized_loops.linear_forms import FORMULAS, ONE, Form, value_of

MOST = 4
"""The most carries, or numbers: the products of matrices take their cube of operators."""
LARGEST = 64
"""The most numbers of a carry of which each is a recurrence of its own."""
PASSES = 3
"""The most passes of refinement of the recurrence."""


def solve_linear_scans(block: Block) -> Block:
    """Return the block with linear Scans solved for all steps at once; itself if there are none."""
    return _Solving().run(block)


class _Solving(SizeRewriter):
    """The walk. `loops` is the number of loops around an op.

    Inside of one, a Scan stays whose length only the run knows: it is often short, and would ask each time. So do the
    two Scans of an If by a size that a file holds, of a Scan that was solved before: `solved` counts such Ifs around.
    Else each turn of saving and loading would double the file.
    """

    kinds = frozenset({"Scan"})

    def __init__(self) -> None:
        super().__init__()
        self.loops = 0
        self.solved = 0

    def inside(self, op: Op) -> Mapping[str, object]:
        """Walk the op's blocks."""
        is_solved = op.kind == "If" and op.inputs[0] in self.answers and all("Scan" in b.kinds for b in op.blocks())
        self.loops += op.kind in {"Scan", "Loop"}
        self.solved += is_solved
        found = super().inside(op)
        self.solved -= is_solved
        self.loops -= op.kind in {"Scan", "Loop"}
        return found

    def visit(self, op: Op) -> Op | None:
        """Return the op, or None for a Scan that has been replaced."""
        found = linear_scan(op) if op.kind == "Scan" and not self.solved else None
        if found is None or (self.loops and not isinstance(found.length, int)):
            return super().visit(op)
        self.replace_by(op, found.outputs)
        return None


@dataclass(frozen=True, slots=True)
class LinearScan(ABC):
    """A Scan that is linear in its carries.

    `body` is its body without the carries in `sums`, which only add up a term of each step: the terms are stacked last.
    The other carries are those in `kept`. `least` is the fewest steps that are worth it.
    """

    scan: Op
    body: Block
    kept: tuple[int, ...]
    sums: tuple[int, ...]
    walk: Walk
    least: int

    @property
    def count(self) -> int:
        """The number of carries that are kept."""
        return len(self.kept)

    @property
    def starts(self) -> list[Value]:
        """The first carries."""
        return [self.inputs[k] for k in self.kept]

    @property
    def sequences(self) -> list[Value]:
        """The sequences."""
        return self.inputs[self.count + len(self.sums) :]

    @property
    def length(self) -> Dim:
        """The number of steps."""
        return (self.sequences[0].type.shape or (0,))[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the carries."""
        return self.starts[0].type.dtype

    @property
    def inputs(self) -> list[Value]:
        """The inputs of the Scan."""
        return [v for v in self.scan.inputs if v is not None]

    @property
    def types(self) -> list[Type]:
        """The types of the Scan's outputs."""
        return [v.type for v in self.scan.outputs]

    def outputs(self) -> list[Value]:
        """Record everything; return what stands for the Scan's outputs."""
        if isinstance(self.length, int):
            return self.checked()
        is_long = operators.GreaterOrEqual(size_as(self.length, np.int64), np.int64(self.least))
        together, one_by_one = record("together", [], self.checked), record("steps", [], self.one_by_one)
        return emit_if(is_long.value, together, one_by_one, self.types)

    def one_by_one(self) -> list[Value]:
        """The Scan."""
        scan = self.scan
        return list(tracing.emit("Scan", scan.inputs, dict(scan.attributes), outputs=len(self.types), types=self.types))

    def checked(self) -> list[Value]:
        """The solution for all steps at once, or the Scan where that fails the recurrence."""
        last, stacked, is_right = self.solution()
        terms = stacked[len(stacked) - len(self.sums) :]
        ends = dict(zip(self.kept, last, strict=True))
        for k, term in zip(self.sums, terms, strict=True):
            ends[k] = operators.Add(Array(self.inputs[k]), operators.ReduceSum(term, [0], keepdims=0))
        results = [*(ends[k] for k in sorted(ends)), *stacked[: len(stacked) - len(self.sums)]]
        typed = [operators.Identity(r, types=[t]) for r, t in zip(results, self.types, strict=True)]
        kept = record("together", [], lambda: [operators.Identity(r, types=[r.type]).value for r in typed])
        return emit_if(is_right.value, kept, record("steps", [], self.one_by_one), self.types)

    @abstractmethod
    def solution(self) -> tuple[list[Array], list[Array], Array]:
        """The last carries, what is stacked, and whether each step is one."""

    def turned(self, x: Array, axis: int) -> Array:
        """Time in the order of the walk, or back."""
        if not self.walk.reverse:
            return x
        return operators.Slice(x, [-1], [np.iinfo(np.int64).min], [axis], [-1], types=[x.type])

    def solved(self, a: Array, b: Array, first: Array) -> tuple[Array, Array]:
        """The carries before the first step and after each, [m, 1 + n, ...], and whether each step is one.

        Of matrices [m, m, n, ...], vectors [m, n, ...] and the first carries [m, 1, ...]. What is left over of the
        recurrence is solved for again.
        """
        size, own = b.shape[0], b.shape[2:]
        nothing = zeros((size, 1, *own), self.dtype)
        a = operators.Concat(zeros((size, size, 1, *own), self.dtype), a, axis=2)
        b = operators.Concat(first, b, axis=1)

        def step(states: Array, rest: Array, _: Array) -> list[Array]:
            states = operators.Add(states, linear_recurrence(a, rest, loops=True), types=[b.type])
            before = slab(operators.Concat(nothing, states, axis=1), 1, 0, b.shape[1])
            rest, is_right = left_over(a, b, before, states)
            return [states, rest, is_right]

        begin = [zeros(b.shape, self.dtype), b, Array(operators.Identity(np.array(False)).value)]
        states, _, is_right = until(lambda *carries: carries[-1], step, begin, PASSES)
        return states, is_right


class OfElements(LinearScan):
    """One whose carries have one type, and whose steps are elementwise: a recurrence for each element of the carries.

    The coefficients are found by going through the body.
    """

    @property
    def one(self) -> Type:
        """The type of a carry."""
        return self.body.params[0].type

    def solution(self) -> tuple[list[Array], list[Array], Array]:
        forms = self.forms()
        a, b = self.matrix(forms), self.vector(forms)
        starts = [operators.Unsqueeze(Array(v), [0, 1]) for v in self.starts]
        first = operators.Concat(*starts, axis=0) if len(starts) > 1 else starts[0]
        states, is_right = self.solved(a, b, first)
        last = [self.number(slab(states, 1, self.length, self.length + 1), k, ()) for k in range(self.count)]
        natural = self.turned(slab(states, 1, 0, self.length), 1)
        before = [self.number(natural, k, (self.length,)) for k in range(self.count)]
        stacked = [self.stacked(f, r, before) for f, r in zip(forms, self.body.results, strict=True)]
        return last, stacked[self.count :], is_right

    def forms(self) -> list[Form]:
        """The results of all steps as forms in the carries before each."""
        elements = dict(zip(self.body.params[self.count :], self.sequences, strict=True))
        fixed = stepwise(self.body, self.count, elements, self.length)
        moving: dict[Var, Form] = {p: Form({k: ONE}) for k, p in enumerate(self.body.params[: self.count])}

        def form(value: Value | None) -> Form:
            if isinstance(value, Var) and value in moving:
                return moving[value]
            assert value is not None
            return Form(rest=self.aligned(fixed.get(value, value) if isinstance(value, Var) else value, value))

        for each in self.body.ops:
            if not moving.keys().isdisjoint(reads(each)):
                moving[each.outputs[0]] = FORMULAS[each.kind](each, *map(form, each.inputs))
        return [form(r) for r in self.body.results]

    def aligned(self, every: Value, one: Value) -> Array:
        """A value of all steps, with as many axes as the carries of all steps, or one that is the same in each."""
        array, rank = Array(every), len(self.one.shape or ())
        if every is one or (one.type.rank or 0) >= rank:
            return array
        shape = one.type.shape or ()
        return reshape_to(array, (self.length, *(1,) * (rank - len(shape)), *shape))

    def matrix(self, forms: Sequence[Form]) -> Array:
        """The coefficients of the carries after each step, [m, m, n, ...], in the order of the walk."""
        rows = [[self.whole(f.slopes.get(k)) for k in range(self.count)] for f in forms[: self.count]]
        stacked = [operators.Concat(*(operators.Unsqueeze(x, [0, 1]) for x in row), axis=1) for row in rows]
        return self.turned(operators.Concat(*stacked, axis=0), 2)

    def vector(self, forms: Sequence[Form]) -> Array:
        """The terms of a step that depend on no carry, [m, n, ...], in the order of the walk."""
        rows = [operators.Unsqueeze(self.whole(f.rest), [0]) for f in forms[: self.count]]
        return self.turned(operators.Concat(*rows, axis=0), 1)

    def whole(self, x: Array | None) -> Array:
        """A coefficient of all steps, [n, ...]."""
        if x is None:
            return zeros((self.length, *(self.one.shape or ())), self.dtype)
        return self.expanded(Array(tracing.constant(np.ones((), self.dtype))) if x is ONE else x, self.one)

    def expanded(self, x: Array, one: Type) -> Array:
        """Repeat a value for all steps: [n, ...], `one` is its type in each step."""
        shape = (self.length, *(one.shape or ()))
        return operators.Expand(x, tracing.size_vector(shape), types=[Type(one.dtype, shape)])

    def number(self, states: Array, k: int, lead: tuple[Dim, ...]) -> Array:
        """One carry of [m, n, ...], with these leading axes."""
        return reshape_to(slab(states, 0, k, k + 1), (*lead, *(self.one.shape or ())))

    def stacked(self, form: Form, result: Value, before: Sequence[Array]) -> Array:
        """The result of all steps, of its form."""
        return value_of(form, before) if form.slopes else self.expanded(value_of(form, before), result.type)


class OfNumbers(LinearScan):
    """One that carries a few numbers, in arrays of any shapes: the coefficients are the Jacobians of the steps."""

    def solution(self) -> tuple[list[Array], list[Array], Array]:
        starts, count = list(map(Array, self.starts)), self.count
        steps = Steps.of(self.body, starts, 0.0)
        sequences = [self.turned(Array(v), 0) for v in self.sequences]
        rest = [*sequences, *map(Array, steps.captures)]
        first = steps.packed_starts(starts)
        b, a = steps.with_slopes(zeros((first.shape[0], self.length), self.dtype), rest)
        states, is_right = self.solved(a, b, first)
        ends = steps.unpacked(slab(states, 1, self.length, self.length + 1))
        last = [reshape_to(x, s.shape) for x, s in zip(ends, starts, strict=True)]
        before = steps.unpacked(slab(states, 1, 0, self.length))
        stacked = steps.at_once(steps.whole, before, rest, self.length)[count:]
        return last, [self.turned(x, 0) for x in stacked], is_right


def linear_scan(scan: Op) -> LinearScan | None:
    """Return the Scan if it is linear in a few carries and of enough steps, else None."""
    _, count = lead_and_carries(scan)
    walk = one_walk(scan, count)
    if walk is None or scan.attributes["body"].name is BodyRole.DIRECTIONS or not count or len(scan.inputs) == count:
        return None
    if not _is_batchable(scan, scan.attributes["body"]):
        return None
    body, sums = _without_sums(scan.attributes["body"], count)
    kept = tuple(k for k in range(count) if k not in sums)
    kind = _kind(body, len(kept)) if kept else None
    if kind is None:
        return None
    made = kind(scan, body, kept, sums, walk, _least(len(body.ops), sum(map(_numbers, body.params[: len(kept)]))))
    return None if isinstance(made.length, int) and made.length < made.least else made


def _is_batchable(scan: Op, body: Block) -> bool:
    """Whether all steps can be run at once: no op draws numbers, branches, or has another shape in some step."""
    found = batchable(body, visible(v for v in scan.inputs if v is not None) | visible(reads(scan)))
    varying = dependent(body.ops, body.params)
    return all(id(each) in found and not varying.isdisjoint(each.outputs) for each in body.ops)


def _kind(body: Block, count: int) -> type[LinearScan] | None:
    """Return how the Scan of this body is solved; None if it is not."""
    carries = body.params[:count]
    one = carries[0].type
    if one.dtype not in (np.float32, np.float64) or any(v.type.dtype != one.dtype for v in carries):
        return None
    if any(_numbers(v) == 0 for v in carries):
        return None
    moving = _moving(body, count)
    if moving is None:
        return None
    is_alike = all(_is_type(v, one) for v in moving) and all(_is_type(r, one) for r in body.results[:count])
    is_elementwise = all(o.kind in FORMULAS for o in body.ops if not moving.isdisjoint(o.outputs))
    if is_alike and is_elementwise:
        return OfElements if count <= MOST and _numbers(carries[0]) <= LARGEST else None
    is_small = sum(map(_numbers, carries)) <= MOST and all(map(_numbers, moving))
    are_kept = all(_is_type(r, p.type) for p, r in zip(carries, body.results, strict=False))
    return OfNumbers if is_small and are_kept and not any(o.blocks() for o in body.ops) else None


def _moving(body: Block, count: int) -> set[Var] | None:
    """Return the values that depend on the carries; None if one is not linear in them."""
    moving: set[Var] = set(body.params[:count])
    for each in body.ops:
        if moving.isdisjoint(reads(each)):
            continue
        there = {i for i, v in enumerate(each.inputs) if v in moving}
        terms = () if each.blocks() else terms_of(each)
        is_linear = all(len(there.intersection(term)) <= 1 for term in terms)
        if not is_linear or not there <= {i for term in terms for i in term}:
            return None
        if any(v.type.dtype != body.params[0].type.dtype for v in each.outputs):
            return None
        moving.update(each.outputs)
    return moving


def _without_sums(body: Block, count: int) -> tuple[Block, tuple[int, ...]]:
    """Return the body without the carries that only add up a term, which is stacked, and the positions of those."""
    read_by = readers(body.ops, body.results)
    sums: dict[int, Op] = {}
    for k, (param, result) in enumerate(zip(body.params[:count], body.results, strict=False)):
        there = [*read_by.get(param, []), *(read_by.get(result, []) if isinstance(result, Var) else [])]
        if len(there) != 2 or there[1] is not None:
            continue
        add = there[0]
        is_alike = add is not None and all(v is not None and _is_type(v, param.type) for v in add.inputs)
        if add is not None and is_alike and add.kind == "Add" and result in add.outputs:
            sums[k] = add
    if not sums:
        return body, ()
    terms = [next(v for v in add.inputs if v is not body.params[k]) for k, add in sums.items()]
    adding = set(map(id, sums.values()))
    params = tuple(p for k, p in enumerate(body.params) if k not in sums)
    results = tuple(r for k, r in enumerate(body.results) if k not in sums)
    ops = tuple(each for each in body.ops if id(each) not in adding)
    return Block(body.name, params, ops, (*results, *(t for t in terms if t is not None))), tuple(sums)


def _numbers(value: Value) -> int:
    """The number of elements; 0 if it is not known."""
    shape = literal_shape(value.type)
    return 0 if shape is None else math.prod(shape)


def _is_type(value: Value, one: Type) -> bool:
    return (
        value.type.dtype == one.dtype
        and value.type.shape is not None
        and dims.same_shape(value.type.shape, one.shape or ())
    )


def _least(ops: int, count: int) -> int:
    """The fewest steps for which all at once take less time: a power of two, by the operators that are run."""
    steps = 16
    while steps < 2**20:
        at_once = 60 + ops * (count + 1) + math.log2(steps) * (14 + 10 * count)
        if steps * (ops + 2) > 1.5 * at_once:
            break
        steps *= 2
    return steps
