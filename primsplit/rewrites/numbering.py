"""Number values so that only equal values share a number: by operator, inputs and attributes, through bodies of loops.

```
a = Exp(x); b = Exp(x); c = Exp(y)   ->   a: 2, b: 2, c: 5
```

A Var that no op defines has a number of its own. The outputs of random operators, of calls and of branches have another
number each time. A carry of a loop is numbered by how it and the carries that it depends on start and step: loops that
differ in other carries, and in their stacked values, have it in common. The outputs of loops deeper than `DEEPEST` have
new numbers too.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from primsplit.ir import Block, Op, Value, Var, has_blocks, is_call, reads
from primsplit.ir.dims import Dim, Size
from primsplit.ops.traits import traits
from primsplit.rewrites.cse import attribute_key, is_deterministic, value_key
from primsplit.tracing.regions import Walk, walks_of

LOOPS = ("Scan", "Loop")
DEEPEST = 6
"""The most loops around a loop that is numbered by its body: each of them numbers it twice."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a Scan or a Loop. A Loop's condition is a carry like any other, the first."""

    loop: Op

    @property
    def body(self) -> Block:
        """The step."""
        body: Block = self.loop.attributes["body"]
        return body

    @property
    def is_scan(self) -> bool:
        """Whether it is a Scan."""
        return self.loop.kind == "Scan"

    @property
    def lead(self) -> int:
        """The number of inputs and parameters that a Loop has before its condition."""
        return 0 if self.is_scan else 1

    @property
    def starts(self) -> tuple[Value | None, ...]:
        """The carries before the first step."""
        walked = int(self.loop.attributes.get("num_scan_inputs", 0))
        return self.loop.inputs[self.lead : len(self.loop.inputs) - walked]

    @property
    def count(self) -> int:
        """The number of carries."""
        return len(self.starts)

    @property
    def carries(self) -> tuple[Var, ...]:
        """The carries in a step."""
        return self.body.params[self.lead : self.lead + self.count]

    @property
    def steps(self) -> tuple[Value, ...]:
        """The carries after a step."""
        return self.body.results[: self.count]

    @property
    def last(self) -> tuple[Var | None, ...]:
        """The carries after the last step; a Loop does not return the first."""
        given = self.loop.outputs[: self.count - self.lead]
        return (*(None,) * self.lead, *given)

    @property
    def sequences(self) -> tuple[tuple[Var, Value | None, Walk], ...]:
        """The parameter, the sequence and its walk, of each."""
        first = self.lead + self.count
        walks = walks_of(self.loop.attributes, "scan_input", len(self.loop.inputs) - first)
        return tuple(zip(self.body.params[first:], self.loop.inputs[first:], walks, strict=True))

    @property
    def stacks(self) -> tuple[tuple[Var, Value, Walk], ...]:
        """The output, the step's result and its walk, of each."""
        outputs = self.loop.outputs[self.count - self.lead :]
        walks = walks_of(self.loop.attributes, "scan_output", len(outputs))
        return tuple(zip(outputs, self.body.results[self.count :], walks, strict=True))

    @property
    def length(self) -> Dim | None:
        """The number of steps of a Scan, if its type says."""
        _, sequence, walk = self.sequences[0]
        return None if sequence is None or sequence.type.shape is None else sequence.type.shape[walk.axis]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A loop, the number of its step count, and the numbers of its carries."""

    loop: Parts
    length: int
    carries: tuple[int, ...]

    def runs(self, other: "Numbered") -> bool:
        """Whether the two have carries in common, other than a Loop's condition, in all of their steps."""
        own = self.carries[self.loop.lead :]
        return self.length == other.length and not set(own).isdisjoint(other.carries)


@dataclass(slots=True)
class Numbering:
    """The numbers so far.

    Values that change with the steps of a loop are told apart by the `depth` of loops around it.
    """

    depth: int = 0
    numbers: dict[Hashable, int] = field(default_factory=dict)
    of: dict[Var, int] = field(default_factory=dict)

    def key(self, key: Hashable) -> int:
        """Return the number of this key."""
        return self.numbers.setdefault(key, len(self.numbers))

    def value(self, value: Value | None) -> int:
        """Return the number of a value."""
        if isinstance(value, Var) and value in self.of:
            return self.of[value]
        number = self.key(value_key(value))
        return self.of.setdefault(value, number) if isinstance(value, Var) else number

    def ops(self, ops: Iterable[Op]) -> list[Numbered]:
        """Number the ops in order; return the loops among them."""
        found = []
        for op in ops:
            if op.kind in LOOPS and self.depth < DEEPEST:
                found.append(self.loop(op))
            elif not has_blocks(op) and not is_call(op) and is_deterministic(op.kind):
                inputs = [self.value(v) for v in op.inputs]
                told = sorted(inputs) if traits(op.kind).commutative else inputs
                made = self.key((op.kind, *told, attribute_key(op.attributes), len(op.outputs)))
                self.of.update((v, self.key(("output", made, i))) for i, v in enumerate(op.outputs))
            else:
                self.of.update((v, self.key(("new", len(self.numbers)))) for v in op.outputs)
        return found

    def loop(self, op: Op) -> Numbered:
        """Number a loop: its carries, what is in its step, and its outputs."""
        parts = Parts(op)
        self.depth += 1
        length = self.start(parts)
        self.depth -= 1
        carries = tuple(self.value(v) for v in parts.carries)
        self.of.update((v, self.key(("last", length, n))) for v, n in zip(parts.last, carries, strict=True) if v)
        self.of.update((v, self.key(("stack", length, self.value(r), walk))) for v, r, walk in parts.stacks)
        return Numbered(parts, length, carries)

    def start(self, parts: Parts) -> int:
        """Number the values in the step of a loop at this depth; return the number of its step count.

        Carries that depend on each other are numbered together, after those that they depend on.
        """
        for var, sequence, walk in parts.sequences:
            self.of[var] = self.key(("element", self.depth, self.value(sequence), walk))
        length = self.steps_of(parts)
        masks, closures = _dependence(parts)
        pending = list(parts.body.ops)
        known = 0
        for closure in sorted(set(closures), key=int.bit_count):
            pending = self.settle(pending, masks, known)
            group = [k for k, found in enumerate(closures) if found == closure]
            start = self.key(("start", self.depth, length, *(self.value(parts.starts[k]) for k in group)))
            self.of.update((parts.carries[k], self.key(("carry", start, i))) for i, k in enumerate(group))
            self.settle(pending, masks, closure)
            step = self.key(("step", start, *(self.value(parts.steps[k]) for k in group)))
            self.of.update((parts.carries[k], self.key(("carry", step, i))) for i, k in enumerate(group))
            known |= closure
            if not parts.is_scan and 0 in group:
                length = self.key(("until", length, self.value(parts.carries[0])))
        self.settle(pending, masks, known)
        return length

    def steps_of(self, parts: Parts) -> int:
        """Return the number of the step count of a Scan, or of the most steps of a Loop."""
        if not parts.is_scan:
            self.of[parts.body.params[0]] = self.key(("number", self.depth))
            return self.key(("trips", self.value(parts.loop.inputs[0])))
        length = parts.length
        told = ("of", id(parts.loop)) if length is None else length.text if isinstance(length, Size) else length
        return self.key(("steps", told))

    def settle(self, ops: Sequence[Op], masks: dict[Var, int], known: int) -> list[Op]:
        """Number the ops that depend on known carries alone; return the others."""
        ready = [not any(masks.get(v, 0) & ~known for v in op.outputs) for op in ops]
        self.ops(op for op, is_ready in zip(ops, ready, strict=True) if is_ready)
        return [op for op, is_ready in zip(ops, ready, strict=True) if not is_ready]


def _dependence(parts: Parts) -> tuple[dict[Var, int], list[int]]:
    """The carries that each value of a step depends on, and each carry in all steps, itself too: a bit for each."""
    masks = {v: 1 << k for k, v in enumerate(parts.carries)}
    for op in parts.body.ops:
        read = 0
        for v in reads(op):
            read |= masks.get(v, 0)
        masks.update((v, read) for v in op.outputs)
    ends = 0 if parts.is_scan else 1
    closures = [1 << k | ends | (masks.get(r, 0) if isinstance(r, Var) else 0) for k, r in enumerate(parts.steps)]
    changed = True
    while changed:
        changed = False
        for k, closure in enumerate(closures):
            grown = closure
            for j, other in enumerate(closures):
                if closure >> j & 1:
                    grown |= other
            changed = changed or grown != closure
            closures[k] = grown
    return masks, closures
