"""Find values that have the results of certain ops as factors, and compute them with other results of those ops.

The signs of a program are such factors, and the slopes that are 0 by convention (`transforms/sign_factors.py`). Values
inside of branches, loops and calls are followed too: a loop is computed with the other values of its carries beside
the values.

    c, = If(p) { s = Sign(x); return s }          c, c2 = If(p) { s = Sign(x); return s, Where(x == 0, 2, s) }
    z = Mul(c, y)                                 z2 = Mul(c2, y)
"""

import operator
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol, TypeVar

from primsplit.ir import Block, Op, Value, Var, free, is_call, reads, rename_block
from primsplit.ir.analysis.carries import lead_and_carries, settled
from primsplit.ops import op as operators
from primsplit.ops.traits import terms_of
from primsplit.rules.activity import stops
from primsplit.tracing import append, current, recording
from primsplit.tracing.array import Array
from primsplit.transforms.elements import element_taken
from primsplit.transforms.smoothness import has_own_rule
from primsplit.transforms.supports import AS_THE_FIRST, Supports

T = TypeVar("T")
SQUARES = frozenset({"call::square", "call::integer_power"})

Fact = tuple[int, ...]
"""The parameters that a value varies with, as bits; then, for each mark, those that a marked factor of it is of."""
Visit = Callable[["Factors", Op], Sequence[Op]]
"""Returns what stands for an op of a block that is opened."""


class Mark(Protocol):
    """Ops whose results are the factors to look for. `kinds` are their operators."""

    kinds: frozenset[str]

    def bits(self, factors: "Factors", op: Op) -> int | None:
        """Return the parameters that a marked op is of, as bits; None for an op that is not marked."""

    def other(self, factors: "Factors", op: Op, bits: int) -> Array | None:
        """Record other results of a marked op of some parameters; None for an op that is not."""


@dataclass
class Factors:
    """The marked factors of a program, or of a block in it. `parts` are the bits of elements of parameters.

    `made` maps Vars to the ops that compute them, `varies` to the parameters that they vary with, and each of `found`,
    one for each mark, to the parameters of their marked factors.
    """

    marks: tuple[Mark, ...]
    varies: ChainMap[Var, int]
    parts: Mapping[Var, int]
    made: ChainMap[Var, Op] = field(default_factory=ChainMap)
    found: tuple[ChainMap[Var, int], ...] = ()
    is_awake: bool = True
    """Whether ops are marked; else all marks come from outside of the block."""
    supports: Supports = field(default_factory=dict)
    """Where values are 0 whatever the parameters are, as far as it was asked."""
    _other: dict[tuple[int, Var, int], Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start without marked factors."""
        self.found = self.found or tuple(ChainMap() for _ in self.marks)

    def bits(self, value: Value | None) -> int:
        """Return the parameters that a value varies with."""
        return self.varies.get(value, 0) if isinstance(value, Var) else 0

    def marked(self, mark: int, value: Value | None) -> int:
        """Return the parameters of the marked factors of a value."""
        return self.found[mark].get(value, 0) if isinstance(value, Var) else 0

    def fact(self, value: Value | None) -> Fact:
        """Return the parameters that a value varies with, then those of its factors with each mark."""
        return self.bits(value), *(self.marked(mark, value) for mark in range(len(self.marks)))

    @property
    def nothing(self) -> Fact:
        """The fact about a value that does not vary."""
        return (0,) * (1 + len(self.marks))

    def note(self, op: Op) -> None:
        """Record the facts about the results of an op."""
        self._set(op, self.facts_of(op))

    def note_primal(self, op: Op, read: set[Var]) -> None:
        """Record the facts about the results of an op of the primal, whose ops read these Vars.

        What leaves a loop or a branch, and no op of the primal reads, is for the pullback of that loop or branch alone.
        Factors that are made inside of a step and met in it are told by the pullback of the step.
        """
        facts = self.facts_of(op)
        if is_closed(op) and not read.issuperset(op.outputs):
            lead, carries, _ = _entering(op)
            inner = [replace(self, is_awake=False)._results(b, self.entering(op)) for b in op.blocks()]
            steady = list(map(_either, *inner)) if len(inner) > 1 else inner[0]
            kept = [False] * carries + [v not in read for v in op.outputs[carries:]]
            facts = [b if k else a for a, b, k in zip(facts, steady[lead // 2 :], kept, strict=True)]
        self._set(op, facts)

    def _set(self, op: Op, facts: Sequence[Fact]) -> None:
        for out, (bits, *marks) in zip(op.outputs, facts, strict=True):
            self.made[out] = op
            if bits and out.type.is_float:
                self.varies[out] = self.parts.get(out, bits)
            for found, mark in zip(self.found, marks, strict=True):
                if mark:
                    found[out] = mark

    def facts_of(self, op: Op) -> list[Fact]:
        """Return the fact about each result of an op."""
        if stops(op) and op.kind != "Sign":  # whose 0 at 0 says nothing of what it multiplies
            return [self.nothing] * len(op.outputs)
        if is_closed(op) and (op.kind == "If" or self.concerns(op)):
            return self._through(op)
        bits = reduce(operator.or_, map(self.bits, reads(op)), 0)
        return [(bits, *(self._mark_of(i, op) for i in range(len(self.marks))))] * len(op.outputs)

    def _mark_of(self, mark: int, op: Op) -> int:
        own = self.marks[mark].bits(self, op) if self.is_awake else None
        return (
            reduce(operator.or_, (self.marked(mark, op.inputs[i]) for i in factors_of(op)), 0) if own is None else own
        )

    def concerns(self, op: Op) -> bool:
        """Whether a loop, a branch or a call may have marked ops, or reads a value with a marked factor."""
        kinds = frozenset[str]().union(*(mark.kinds for mark in self.marks))
        return any(not kinds.isdisjoint(b.kinds) for b in op.blocks()) or any(any(self.fact(v)[1:]) for v in reads(op))

    def _through(self, op: Op) -> list[Fact]:
        if op.kind in {"Loop", "Scan"}:
            return self._turned(op)
        sides = [self._results(block, self.entering(op)) for block in op.blocks()]
        return [reduce(_either, each) for each in zip(*sides, strict=True)]

    def _turned(self, op: Op) -> list[Fact]:
        (body,) = op.blocks()
        given = list(map(self.fact, op.inputs))
        return settled(op, given, self.nothing, lambda params: self._results(body, params), _either)[1]

    def entering(self, op: Op) -> list[Fact]:
        """Return the facts about the parameters of the blocks of an op."""
        lead, carries, inputs = _entering(op)
        given = list(map(self.fact, inputs))
        turned = self._turned(op)[:carries] if carries else []
        return [*[self.nothing] * lead, *turned, *given[lead + carries :]]

    def _results(self, block: Block, params: Sequence[Fact]) -> list[Fact]:
        inner = self.inside(block, params)
        for op in block.ops:
            inner.note(op)
        return list(map(inner.fact, block.results))

    def inside(self, block: Block, params: Sequence[Fact]) -> "Factors":
        """Return the factors of a block, of which only the parameters are known so far."""
        found = tuple(each.new_child() for each in self.found)
        inner = replace(self, varies=self.varies.new_child(), made=self.made.new_child(), found=found)
        inner.supports = dict(self.supports)
        inner._other = dict(self._other)
        for param, (bits, *marks) in zip(block.params, params, strict=True):
            inner.varies[param] = bits
            for each, mark in zip(found, marks, strict=True):
                each[param] = mark
        return inner

    def differs(self, mark: int, value: Var, bits: int) -> Array:
        """Record where a value is another if its marked factors are."""
        return operators.Not(operators.Equal(Array(value), self.other(mark, value, bits)))

    def other(self, mark: int, value: Value, bits: int) -> Array:
        """Record the value as computed with other results of the marked ops of some parameters."""
        if not isinstance(value, Var):
            return Array(value)
        current().learn(value)
        if not self.marked(mark, value) & bits:
            return Array(value)
        waiting = [value]  # a chain of factors may be longer than Python's stack
        while waiting:
            needed = self._needed(mark, waiting[-1], bits)
            if needed is not None:
                waiting.append(needed)
            elif (mark, last := waiting.pop(), bits) not in self._other:
                self._compute(mark, last, self.made[last], bits)
        return Array(self._other[mark, value, bits])

    def _needed(self, mark: int, value: Var, bits: int) -> Var | None:
        """Return a value whose other value must be recorded before that of this one; None if there is none."""
        if (mark, value, bits) in self._other:
            return None
        op = self.made[value]
        if is_closed(op):
            factors: list[Value | None] = [*(v for block in op.blocks() for v in free(block)), *op.inputs]
        else:
            own = self.marks[mark].bits(self, op)
            factors = [op.inputs[i] for i in factors_of(op)] if own is None else []
        marked = (v for v in factors if isinstance(v, Var) and self.marked(mark, v) & bits)
        return next((v for v in marked if (mark, v, bits) not in self._other), None)

    def _compute(self, mark: int, value: Var, op: Op, bits: int) -> None:
        for read in reads(op):
            current().learn(read)
        if is_closed(op):
            self.doubled(op, bits, (mark,))
            return
        found = self.marks[mark].other(self, op, bits)
        if found is None:
            inputs = list(op.inputs)
            for i in factors_of(op):
                one = inputs[i]
                if isinstance(one, Var):
                    inputs[i] = self.other(mark, one, bits).value
            again = replace(op, inputs=tuple(inputs), outputs=tuple(Var(v.type) for v in op.outputs))
            append(again)
            found = Array(again.outputs[op.outputs.index(value)])
        self._other[mark, value, bits] = found.value

    def doubled(self, op: Op, bits: int, marks: Sequence[int], visit: Visit | None = None) -> None:
        """Record a loop, a branch or a call in which other values stand beside the values.

        With `visit`, what it returns stands for each op inside, and the results are the op's own. Else the results are
        computed again, and the other results beside them.
        """
        _Doubling(self, op, bits, marks, visit).record()

    def set_other(self, mark: int, value: Var, bits: int, other: Value) -> None:
        """Tell the other value of a value."""
        self._other[mark, value, bits] = other


Place = tuple[int, int]
"""A mark, and the position of a value that has another beside it."""


class _Doubling:
    """One loop, branch or call in which other values stand beside the values.

    `turned` are the places of carries, `rows` those of the inputs behind them, `ends` those of the results behind them.
    """

    def __init__(self, outer: Factors, op: Op, bits: int, marks: Sequence[int], visit: Visit | None) -> None:
        self.outer, self.op, self.bits, self.marks, self.visit = outer, op, bits, marks, visit
        self.lead, self.carries, self.inputs = _entering(op)
        self.facts = outer.entering(op)
        first = self.lead + self.carries
        params = [place for place in _places(marks, self.facts, bits) if place[1] >= self.lead]
        self.turned = [(mark, i - self.lead) for mark, i in params if i < first]
        self.rows = [(mark, i) for mark, i in params if i >= first]
        results = _places(marks, list(map(outer.fact, op.outputs)), bits)
        self.ends = [] if visit else [place for place in results if place[1] >= self.carries]

    def record(self) -> None:
        """Record it, with more inputs, carries and results."""
        outer, op = self.outer, self.op
        for mark in self.marks:
            for var in (v for block in op.blocks() for v in free(block)):
                outer.other(mark, var, self.bits)
        inputs = op.inputs if op.kind == "If" else self._with_others(self.inputs, self._given(outer, self.inputs))
        blocks = {k: self._block(v) for k, v in op.attributes.items() if isinstance(v, Block)}
        outputs = op.outputs if self.visit else tuple(Var(v.type) for v in op.outputs)
        turned = [Var(op.outputs[i].type) for _, i in self.turned]
        ends = [Var(op.outputs[i].type) for _, i in self.ends]
        whole = (*outputs[: self.carries], *turned, *outputs[self.carries :], *ends)
        append(replace(op, inputs=inputs, outputs=whole, attributes={**self._attributes(), **blocks}))
        if self.visit is None:
            for (mark, i), var in zip((*self.turned, *self.ends), (*turned, *ends), strict=True):
                outer.set_other(mark, op.outputs[i], self.bits, var)

    def _given(self, factors: Factors, values: Sequence[Value | None]) -> list[Value]:
        """Return the other values of inputs, of those of the carries first."""
        places = [*((mark, i + self.lead) for mark, i in self.turned), *self.rows]
        return [factors.other(mark, v, self.bits).value for mark, i in places if (v := values[i]) is not None]

    def _with_others(self, known: Sequence[T], others: Sequence[T]) -> tuple[T, ...]:
        """Return inputs with more: those of carries behind the carries, the others at the end."""
        first, count = self.lead + self.carries, len(self.turned)
        return (*known[:first], *others[:count], *known[first:], *others[count:])

    def _block(self, block: Block) -> Block:
        block = rename_block(block, {})
        inner = self.outer.inside(block, self.facts)
        places = [*((mark, i + self.lead) for mark, i in self.turned), *self.rows]
        others = [Var(block.params[i].type) for _, i in places]
        for (mark, i), var in zip(places, others, strict=True):
            inner.set_other(mark, block.params[i], self.bits, var)
        with recording(place=self.op.place, remark=self.op.remark) as around:
            for var in (*block.params, *others):
                around.learn(var)
            for op in block.ops:
                for one in [op] if self.visit is None else self.visit(inner, op):
                    append(one)
                    inner.note(one)
            whole, own = block.results[: self.lead // 2], block.results[self.lead // 2 :]
            turned, ends = (
                [inner.other(mark, own[i], self.bits).value for mark, i in places]
                for places in (self.turned, self.ends)
            )
        results = (*whole, *own[: self.carries], *turned, *own[self.carries :], *ends)
        return Block(block.name, self._with_others(block.params, others), tuple(around.ops), results)

    def _attributes(self) -> dict[str, Any]:
        """Return the attributes for more inputs and results."""
        attributes = {k: v for k, v in self.op.attributes.items() if k not in {"rule", "frule"}}
        if self.op.kind != "Scan":
            return attributes
        attributes["num_scan_inputs"] = len(self.inputs) - self.carries + len(self.rows)
        for name, places in (("input", self.rows), ("output", self.ends)):
            for each in (f"scan_{name}_axes", f"scan_{name}_directions"):
                if known := attributes.get(each):
                    attributes[each] = [*known, *(known[i - self.carries] for _, i in places)]
        return attributes


def _places(marks: Sequence[int], facts: Sequence[Fact], bits: int) -> list[Place]:
    return [(mark, i) for mark in marks for i, fact in enumerate(facts) if fact[1 + mark] & bits]


def _either(a: Fact, b: Fact) -> Fact:
    return tuple(map(operator.or_, a, b))


def _entering(op: Op) -> tuple[int, int, Sequence[Value | None]]:
    """Return the count of inputs before the carries, that of carries, and the inputs that are parameters in a block."""
    if op.kind in {"Loop", "Scan"}:
        return *lead_and_carries(op), op.inputs
    return 0, 0, [v for v in op.inputs if v is not None] if is_call(op) else []


def parameter_bits(primal: Sequence[Op], wrt: Iterable[Var]) -> tuple[dict[Var, int], dict[Var, int]]:
    """Return the bits of parameters, and of elements that are taken out of them: each element has a bit of its own."""
    varies: dict[Var, int] = {}
    parts: dict[Var, int] = {}
    free = 0
    for param in dict.fromkeys(wrt):
        taken = [(op, index) for op in primal if (index := element_taken(op, param)) is not None]
        bits = {index: 1 << free + i for i, index in enumerate(dict.fromkeys(index for _, index in taken))}
        parts.update({op.outputs[0]: bits[index] for op, index in taken})
        free += len(bits) + 1
        varies[param] = sum(bits.values()) + (1 << free - 1)
    return varies, parts


def is_closed(op: Op) -> bool:
    """Whether an op is a loop, a branch or a call without a rule of its own, in which its inputs may be multiplied."""
    if is_call(op):
        return op.kind not in AS_THE_FIRST and op.kind not in SQUARES and not has_own_rule(op)
    return op.kind in {"If", "Loop", "Scan"}


def factors_of(op: Op) -> list[int]:
    """Return the positions of the inputs that the results of an op are sums of products with."""
    if op.kind in AS_THE_FIRST or op.kind in SQUARES:
        return [0]
    return [] if op.blocks() else sorted({i for term in terms_of(op) for i in term if i < len(op.inputs)})
