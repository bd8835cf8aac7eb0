"""Pair the ops of two files, and the values that have the same part in both.

```
old: add = Add(m, b); hidden = Max(add, 0.0); y = Mul(hidden, hidden)
new: add = Add(m, b); hidden = Tanh(add);     y = Mul(hidden, hidden)

Add ~ Add and Mul ~ Mul are the same; Max ~ Tanh is a change, since y reads both in one place.
```

What is computed alike from the inputs on is paired first. Then the readers decide: if two ops are paired, so are the
values that they read in the same place. What is left is paired by its name, and by its operator and operands. A value
that has a name of the user's in both files is paired with no other than its namesake.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.review.contents import Digests, plain_attributes, same_constant
from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Value, Var

Level = tuple[int, str]
"""The pair of blocks that an op is in, by number, and its section: ops of one level may be paired."""


@dataclass
class Side:
    """One of two files. `made` has the op of each value, `levels` the level of each op in a block that is paired."""

    file: Written
    digests: Digests
    made: dict[Var, Op] = field(default_factory=dict)
    levels: dict[Op, Level] = field(default_factory=dict)
    left: dict[Op, None] = field(default_factory=dict)
    """The ops of paired blocks that have no partner yet."""

    def __post_init__(self) -> None:
        self.sections = {op: s.name for s in self.file.sections for op in s.ops}
        self.made = {v: op for op in self.file.ops() for v in op.outputs}

    def enter(self, block: Block, number: int) -> None:
        """Add the ops of a block that is paired."""
        for op in block.ops:
            self.levels[op] = number, self.sections.get(op, "")
            self.left[op] = None

    def is_left(self, value: Value) -> bool:
        """Whether an op computes a value that has no partner."""
        op = self.made.get(value) if isinstance(value, Var) else None
        return op is not None and op in self.left

    def named(self) -> set[str]:
        """Return the names of results, and those of values that are the user's and not by an operator."""
        file = self.file
        own = {file.names[v] for v, op in self.made.items() if file.is_ours and f" {file.names[v]}/" in file.nodes[op]}
        return own | {*file.outputs}


def paired_names(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """Return the new name of each old one: the same, else by the order of the others if they are as many."""
    own, others = [n for n in old if n not in new], [n for n in new if n not in old]
    same = {name: name for name in old if name in new}
    return same | dict(zip(own, others, strict=True)) if len(own) == len(others) else same


Key = Callable[[Side, Op], Hashable]
"""Returns the properties that two ops must share to be paired."""


@dataclass
class Matching:
    """Pairs the ops and values of one file with those of the other: `ops` and `values` map before to after."""

    before: Side
    after: Side
    identity: Mapping[Const, str]
    ops: dict[Op, Op] = field(default_factory=dict)
    values: dict[Var, Var] = field(default_factory=dict)
    back: dict[Var, Var] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    """The names of the user's that both files have."""
    waiting: list[tuple[Value | None, Value | None]] = field(default_factory=list)
    replaced: list[tuple[Var, Var]] = field(default_factory=list)
    blocks: int = 0

    def run(self) -> None:
        """Pair the graphs and the functions of both files."""
        before, after = self.before.file, self.after.file
        self.shared = frozenset(self.before.named() & self.after.named())
        for name, block in before.functions.items():
            if name in after.functions:
                self.pair_blocks(block, after.functions[name])
        self.pair_graphs()
        self.by_names()
        results = dict(zip(after.outputs, after.block.results, strict=True))
        olds = dict(zip(before.outputs, before.block.results, strict=True))
        self.settle([(olds[a], results[b]) for a, b in paired_names([*olds], [*results]).items()])
        while self.by_operands() or self.by_readers():
            pass

    def pair_graphs(self) -> None:
        """Pair the graphs: their inputs by name, then those of another name by their order."""
        before, after = self.before.file, self.after.file
        self.enter(before.block, after.block)
        inputs = dict(zip(after.inputs, after.block.params, strict=True))
        olds = dict(zip(before.inputs, before.block.params, strict=True))
        for a, b in paired_names([*olds], [*inputs]).items():
            self.pair_values(olds[a], inputs[b])
        self.by_digests(before.block, after.block)

    def pair_blocks(self, a: Block, b: Block) -> None:
        """Pair two blocks inside: their parameters and results by position."""
        self.enter(a, b)
        for p, q in zip(a.params, b.params, strict=False):
            self.pair_values(p, q)
        self.by_digests(a, b)
        self.waiting += zip(a.results, b.results, strict=False)

    def enter(self, a: Block, b: Block) -> None:
        self.blocks += 1
        self.before.enter(a, self.blocks)
        self.after.enter(b, self.blocks)

    def pair_values(self, a: Var, b: Var) -> None:
        if a not in self.values and b not in self.back:
            self.values[a] = b
            self.back[b] = a

    def pair_ops(self, a: Op, b: Op) -> None:
        """Pair two ops, their results, the blocks inside of them, and later what they read."""
        self.ops[a] = b
        del self.before.left[a]
        del self.after.left[b]
        if a.kind == b.kind:
            for p, q in zip(a.outputs, b.outputs, strict=False):
                self.pair_values(p, q)
        for name, inner in a.attributes.items():
            other = b.attributes.get(name)
            if isinstance(inner, Block) and isinstance(other, Block):
                self.pair_blocks(inner, other)
        self.waiting += zip(a.inputs, b.inputs, strict=False)

    # What is alike from the inputs on.

    def by_digests(self, a: Block, b: Block) -> None:
        """Pair the ops of two blocks that compute the same from the same inputs, in one section."""
        self.zip_by(a.ops, b.ops, lambda side, op: (self.level(side, op), side.digests.ops[op]))

    def level(self, side: Side, op: Op) -> Hashable:
        """Return what ops must have in common in any case: the level, and the names that both files have."""
        names = (side.file.names[v] for v in op.outputs)
        return side.levels[op], tuple(name if name in self.shared else "" for name in names)

    def zip_by(self, olds: Iterable[Op], news: Iterable[Op], key: Key) -> bool:
        """Pair the ops that have one key, in their order. Return whether there were any."""
        there: dict[Hashable, list[Op]] = defaultdict(list)
        for op in news:
            if op in self.after.left:
                there[key(self.after, op)].append(op)
        pairs = []
        for op in olds:
            found = there.get(key(self.before, op)) if op in self.before.left else None
            if found:
                pairs.append((op, found.pop(0)))
        for a, b in pairs:
            self.pair_ops(a, b)
        return bool(pairs)

    # What is read in the same place.

    def settle(self, pairs: Iterable[tuple[Value | None, Value | None]] = ()) -> None:
        """Pair values that are read in the same place, if one operator computes both; put off the others."""
        self.waiting += pairs
        while self.waiting:
            a, b = self.waiting.pop()
            if not isinstance(a, Var) or not isinstance(b, Var) or a in self.values or b in self.back:
                continue
            old, new = self.before.made.get(a), self.after.made.get(b)
            if old is None or new is None:
                continue
            if old.kind == new.kind and old.outputs.index(a) == new.outputs.index(b) and self.may_pair(old, new):
                self.pair_ops(old, new)
            else:
                self.replaced.append((a, b))

    def may_pair(self, old: Op, new: Op) -> bool:
        is_free = old in self.before.left and new in self.after.left
        return is_free and self.level(self.before, old) == self.level(self.after, new)

    def by_readers(self) -> bool:
        """Pair values of other operators that are read in the same place. Return whether there were any."""
        put_off, self.replaced = self.replaced, []
        count = len(self.ops)
        for a, b in put_off:
            old, new = self.before.made[a], self.after.made[b]
            if a not in self.values and b not in self.back and self.may_pair(old, new):
                self.pair_values(a, b)
                self.pair_ops(old, new)
        self.settle()
        return len(self.ops) > count

    # What is left.

    def by_names(self) -> None:
        """Pair the values that have one name of the user's in both files."""
        names = {self.after.file.names[v]: v for v in _results(self.after.left)}
        own = {self.before.file.names[v]: v for v in _results(self.before.left)}
        self.settle([(v, names.get(name)) for name, v in own.items() if name in self.shared])

    def by_operands(self) -> bool:
        """Pair ops of one operator and attributes that read the same. Return whether there were any."""
        is_any = self.zip_by([*self.before.left], [*self.after.left], self.operands)
        self.settle()
        return is_any

    def operands(self, side: Side, op: Op) -> Hashable:
        attributes = tuple(plain_attributes(op).items())
        return self.level(side, op), op.kind, len(op.outputs), attributes, tuple(self.mark(side, v) for v in op.inputs)

    def mark(self, side: Side, value: Value | None) -> Hashable:
        """Return what tells an operand: its partner, or the operator of one that has none."""
        if not isinstance(value, Var):
            return side.digests.value(value)
        partner = self.values.get(value) if side is self.before else value
        if partner is not None and partner in self.back:
            return id(partner)
        made = side.made.get(value)
        return "" if made is None else made.kind

    # The answer.

    def corresponds(self, a: Value | None, b: Value | None) -> bool:
        """Whether two operands are the same: partners, computed alike, or the same constant."""
        if isinstance(a, Var) and isinstance(b, Var):
            return self.values.get(a) is b or self.before.digests.of[a] == self.after.digests.of[b]
        if isinstance(a, Const) and isinstance(b, Const):
            return same_constant(a, b, self.identity)
        return a is None and b is None

    def is_same(self, a: Op, b: Op) -> bool:
        """Whether two ops that are paired are the same statement, apart from what is inside of their bodies."""
        if a.kind != b.kind or plain_attributes(a) != plain_attributes(b) or len(a.outputs) != len(b.outputs):
            return False
        inner = [(v, b.attributes[name]) for name, v in a.attributes.items() if isinstance(v, Block)]
        return self.all_correspond(a.inputs, b.inputs) and all(
            len(x.params) == len(y.params) and self.all_correspond(x.results, y.results) for x, y in inner
        )

    def all_correspond(self, old: tuple[Value | None, ...], new: tuple[Value | None, ...]) -> bool:
        return len(old) == len(new) and all(map(self.corresponds, old, new))


def _results(ops: Iterable[Op]) -> Iterator[Var]:
    yield from (v for op in ops for v in op.outputs)
