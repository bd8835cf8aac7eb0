"""Record once, after the If, what both sides of a branch do alike from some point on.

The sides are compared from their results back. An op of one side and an op of the other are one step if the same
expression of the user's recorded both, they compute alike, and whatever reads them is one step too. What steps read
that differs between the sides becomes a result of the If.

```
if c: a = x + 1           If(c): then return Add(x, 1)          p = If(c): then Add(x, 1), else Mul(x, 2)
else: a = x * 2              ... both followed by Exp      ->   y = Exp(p)
return np.exp(a)
```
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from primsplit import tracing
from primsplit.ir import (
    Block,
    Comparison,
    Const,
    Op,
    Renaming,
    Type,
    Value,
    Var,
    dims,
    free,
    live_ops,
    reads,
    rename,
    renamed,
    same_data,
    same_types,
    walk,
)
from primsplit.ir.dims import Dim, Size
from primsplit.ops.traits import kinds_where
from primsplit.tracing.regions import emit_if, joined, visible

Pair = tuple[Value, Value]

_OF_NUMBERS = kinds_where(lambda t: t.broadcasts == "all" and t.terms) | {"Max", "Min"}
"""Operators for which a result of an If serves as well as a constant. The rules of Pow read its exponent, and rewrites
look for comparisons with a constant."""


def emit_joined_if(condition: Value, then: Block, otherwise: Block) -> list[Value]:
    """Record an If of two blocks without parameters, and after it what both do alike; return the blocks' results."""
    sides = _Side(then), _Side(otherwise)
    outside = tracing.readable_sizes()
    refused: set[int] = set()
    steps = _Steps(*sides, outside, refused)
    while unfit := steps.unfit():
        refused |= unfit
        steps = _Steps(*sides, outside, refused)
    return steps.emit(condition) if steps.partner else emit_if(condition, then, otherwise)


class _Side:
    """A side's ops that its results depend on, with the maker and the readers of each value."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops = live_ops(block.ops, block.results)
        self.maker: dict[Var, tuple[int, int]] = {}
        self.readers: dict[Var, set[int]] = {}
        for place, op in enumerate(self.ops):
            self.maker.update((v, (place, k)) for k, v in enumerate(op.outputs))
            for var in reads(op):
                self.readers.setdefault(var, set()).add(place)

    def is_read_by(self, op: Op, steps: Set[int]) -> bool:
        """Whether nothing but these steps, and the side's results, reads the op's outputs."""
        return all(self.readers.get(v, set()) <= steps for v in op.outputs)

    def cut(self, steps: Set[int], results: Sequence[Value]) -> Block:
        """Return the side without the steps."""
        left = tuple(op for place, op in enumerate(self.ops) if place not in steps)
        return Block(self.block.name, self.block.params, left, tuple(results))


class _Steps:
    """The ops of the two sides that are one step: `partner` maps positions in one side to positions in the other.

    `read` has the pairs of values that each step reads. `outside` are the sizes that are known where the If is
    recorded. Steps that were `refused` stay in the sides.
    """

    def __init__(self, then: _Side, otherwise: _Side, outside: frozenset[str], refused: set[int]) -> None:
        self.then, self.otherwise, self.outside = then, otherwise, outside
        self.partner: dict[int, int] = {}
        self.partners: set[int] = set()
        self.read: dict[int, list[Pair]] = {}
        self.met: dict[Value, set[Value]] = {}
        self.met_by: dict[Value, set[Value]] = {}
        self.renamed: dict[str, str] = {}
        self._meet(zip(then.block.results, otherwise.block.results, strict=True))
        for place in reversed(range(len(then.ops))):
            if place not in refused:
                self._match(place)

    def _meet(self, pairs: Iterable[Pair]) -> None:
        for a, b in pairs:
            self.met.setdefault(a, set()).add(b)
            self.met_by.setdefault(b, set()).add(a)

    def _match(self, place: int) -> None:
        """Pair the op with its counterpart in the other side, if it has one."""
        op = self.then.ops[place]
        other = self._like(op)
        if other is None or not self.then.is_read_by(op, self.partner.keys()):
            return
        like = self.otherwise.ops[other]
        if not self.otherwise.is_read_by(like, self.partners) or (op.place, op.remark) != (like.place, like.remark):
            return
        if any(self.met_by.get(b, {a}) != {a} for a, b in zip(op.outputs, like.outputs, strict=False)):
            return  # the If would return an output that one side alone reads, before the step computes it
        comparison = _Likeness(self.renamed, self.outside)
        if comparison.ops(op, like) and comparison.is_clear():
            self.partner[place] = other
            self.partners.add(other)
            self.read[place] = comparison.read
            self.renamed = comparison.renamed
            self._meet(comparison.read)

    def _like(self, op: Op) -> int | None:
        """Return the op of the other side whose outputs are read where this one's are, and nowhere else."""
        makers = set()
        for index, var in enumerate(op.outputs):
            for met in self.met.get(var, ()):
                maker = self.otherwise.maker.get(met) if isinstance(met, Var) else None
                if maker is None or maker[1] != index or self.met_by[met] != {var}:
                    return None
                makers.add(maker[0])
        return makers.pop() if len(makers) == 1 else None

    def unfit(self) -> set[int]:
        """Return the steps that must stay in the sides: they read what an If cannot return, or use a size of a side."""
        inside = {s for p, op in enumerate(self.then.ops) if p not in self.partner for s in self._own_sizes(op)}
        return {
            place
            for place, pairs in self.read.items()
            if not all(self._is_one(a, b) or self._may_come_out(a, b, self.then.ops[place].kind) for a, b in pairs)
            or not inside.isdisjoint(self._own_sizes(self.then.ops[place]))
        }

    def _is_one(self, a: Value, b: Value) -> bool:
        """Whether both sides have the same value: an outer one, a constant, or the output of a step."""
        if a is b:
            return True
        if isinstance(a, Const) or isinstance(b, Const):
            return _same_constant(a, b)
        made, other = self.then.maker.get(a), self.otherwise.maker.get(b)
        return made is not None and other is not None and self.partner.get(made[0]) == other[0]

    def _may_come_out(self, a: Value, b: Value, kind: str) -> bool:
        """Whether an operator of this kind may read an If's result, `a` or `b`, in place of the one that it read."""
        if not same_types(a.type, b.type) or not visible([a]) <= self.outside:
            return False
        constants = [v for v in (a, b) if isinstance(v, Const)]
        if constants:
            return a.type.is_float and kind in _OF_NUMBERS and all(c.is_short for c in constants)
        return a.sizes is b.sizes is None or self._is_size(a, b)

    def _is_size(self, a: Value, b: Value) -> bool:
        """Whether both are the same sizes as a value, computed on both sides."""
        if a.type.dtype != np.int64 or a.type.rank != 1 or a.sizes is None or b.sizes is None:
            return False
        return dims.same_shape(a.sizes, b.sizes) and all(dims.symbols(d) <= self.outside for d in a.sizes)

    def _own_sizes(self, op: Op) -> frozenset[str]:
        """Return the sizes, unknown outside, of the outputs of the op and of those inside of it."""
        inner = (o for block in op.blocks() for o in walk(block))
        return visible(v for o in (op, *inner) for v in o.outputs) - self.outside

    def emit(self, condition: Value) -> list[Value]:
        """Record the rest of the sides as an If, then the steps; return the results."""
        then, otherwise = self.then.block.results, self.otherwise.block.results
        results = list(zip(then, otherwise, strict=True))
        read = [pair for place in sorted(self.read) for pair in self.read[place]]
        parted = [p for p in dict.fromkeys(read) if not self._is_one(*p) and not self._is_size(*p)]
        parted += [p for p in dict.fromkeys(results) if not self._is_one(*p) and p not in parted]
        chosen = dict(zip(parted, self._emit_if(condition, parted), strict=True))
        made: Renaming = {}
        for place in sorted(self.partner):
            self._emit_step(place, chosen, made)
        return [chosen[pair] if pair in chosen else renamed(pair[0], made) for pair in results]

    def _emit_if(self, condition: Value, parted: Sequence[Pair]) -> list[Value]:
        if not parted:
            return []
        then = self.then.cut(self.partner.keys(), [a for a, _ in parted])
        otherwise = self.otherwise.cut(self.partners, [b for _, b in parted])
        known = visible(v for pairs in self.read.values() for v, _ in pairs) & self.outside
        known |= visible([*free(then), *free(otherwise)])
        return emit_if(condition, then, otherwise, [joined(a.type, b.type, known) for a, b in parted])

    def _emit_step(self, place: int, chosen: Mapping[Pair, Value], made: Renaming) -> None:
        """Record the step as in the first side, reading what the If returned."""
        op = self.then.ops[place]
        given = {
            a: chosen[a, b] if (a, b) in chosen else tracing.size_vector(a.sizes or ())
            for a, b in self.read[place]
            if a not in made
        }
        inputs = tuple(v if v is None else given.get(v, v) for v in op.inputs)
        captured = {a: v for a, v in given.items() if isinstance(a, Var)}
        made.update(captured)
        tracing.append(rename(replace(op, inputs=inputs), made))
        for a in captured:
            del made[a]


class _Likeness(Comparison):
    """Compares two ops: `read` collects what they read from outside, pair by pair.

    `renamed` maps the sizes that one side introduces to those of the other.
    """

    def __init__(self, renamed: Mapping[str, str], outside: frozenset[str]) -> None:
        super().__init__()
        self.outside = outside
        self.read: list[Pair] = []
        self.renamed = dict(renamed)
        self._inner: set[Var] = set()
        self._shared: set[Value] = set()

    def is_clear(self) -> bool:
        """Whether each value of one side corresponds to one of the other, wherever the op reads it."""
        return len(dict(self.read)) == len(set(self.read)) and self._shared.isdisjoint(a for a, _ in self.read)

    def define(self, a: tuple[Var, ...], b: tuple[Var, ...]) -> bool:
        self._inner.update(b)
        return super().define(a, b)

    def values(self, a: Value | None, b: Value | None) -> bool:
        if a is None or b is None:
            return a is b
        if isinstance(a, Var) and a in self.pairs:
            return self.pairs[a] is b
        if a is b:
            self._shared.add(a)
        elif not _same_constant(a, b):
            self.read.append((a, b))
        return b not in self._inner

    def types(self, a: Type, b: Type) -> bool:
        if a.dtype != b.dtype or a.shape is None or b.shape is None:
            return a == b
        return len(a.shape) == len(b.shape) and all(map(self._same_size, a.shape, b.shape))

    def _same_size(self, a: Dim, b: Dim) -> bool:
        if dims.same(a, b):
            return True
        if not isinstance(a, Size) or not isinstance(b, Size):
            return False
        if a.symbol is None or b.symbol is None:
            return dims.same(dims.substitute(a, {s: dims.symbol(t) for s, t in self.renamed.items()}), b)
        if self.outside.isdisjoint((a.symbol, b.symbol)) and b.symbol not in self.renamed.values():
            self.renamed.setdefault(a.symbol, b.symbol)
        return self.renamed.get(a.symbol) == b.symbol


def _same_constant(a: Value, b: Value) -> bool:
    """Whether both are constants of one value, and if they are parameters, of one name."""
    if not isinstance(a, Const) or not isinstance(b, Const) or not same_data(a, b):
        return False
    return (a.is_param and a.hint) == (b.is_param and b.hint)
