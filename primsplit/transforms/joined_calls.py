"""Call a function once on rows of numbers where it is called on each number, as by an unrolled Python loop.

Calls of one body on small arrays of the same types, none of which depends on another, become the body's batch. So do
elementwise ops that the file writes out in many others. Inputs that elementwise ops compute alike, or that are elements
of one array, are computed as rows too.

```
a = Gather(x, 0); b = Add(a, k); c = call::gammaln(b)      ab = Add(Gather(x, [0, 1]), k); cd = call::gammaln(ab)
d = Gather(x, 1); e = Add(d, k); f = call::gammaln(e)  ->  c = Gather(cd, 0); f = Gather(cd, 1)
```
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, is_call, reads, rename_reads
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.cse import attribute_key, is_deterministic
from primsplit.rewrites.rewriting import drop_dead_code
from primsplit.tracing.array import Array
from primsplit.transforms.batching.transform import batch_block
from primsplit.transforms.outline import block_key

LEAST_CALLS = 4
LEAST_OPS = 6
"""The least number of ops that a file writes for a call: joining adds an op or two for each call."""
LARGEST = 64
"""The most elements of an input: the kernels of larger arrays take longer than their calls."""
MOST_JOINS = 64
"""The most times that calls of a program are joined: each takes a walk through it."""
ELEMENTWISE = kinds_where(lambda t: t.broadcasts == "all")

Lanes = Sequence[Op]
Weigh = Callable[[Op], int]
"""Tells how many ops a file writes for one that is no call."""


def join_calls(block: Block, stays: Callable[[Op], bool], weigh: Weigh = lambda _: 1) -> Block:
    """Return the block with alike calls joined, but for those that stay; itself if there are none."""
    return _Joiner(stays, weigh).run(block)


class _Joiner:
    """The walk through blocks, each of which is asked once what it does, by its `id`: so it is kept."""

    def __init__(self, stays: Callable[[Op], bool], weigh: Weigh) -> None:
        self.stays = stays
        self.weigh = weigh
        self.done: dict[int, tuple[Block, Block]] = {}
        self.weights: dict[int, tuple[Block, float]] = {}
        self.keys: dict[int, tuple[Block, int]] = {}
        self.numbers: dict[object, int] = {}
        self.apart: set[object] = set()

    def run(self, block: Block) -> Block:
        if id(block) not in self.done:
            self.done[id(block)] = (block, self._run(block))
        return self.done[id(block)][1]

    def _run(self, block: Block) -> Block:
        before = block
        for _ in range(MOST_JOINS):
            lanes = self.alike(block)
            if lanes is None:
                break
            try:
                block = _joined(block, lanes)
            except ShapeError:  # a function that has no batch
                self.apart.add(self.form(lanes[0]))
        block = block if block is before else drop_dead_code(block)
        # Bodies come last: of calls that were joined, one is left.
        ops = tuple(each.with_blocks(self.run) for each in block.ops)
        is_same = all(a is b for a, b in zip(ops, block.ops, strict=True))
        return block if is_same else replace(block, ops=ops)

    def alike(self, block: Block) -> Lanes | None:
        """Return calls that can be joined.

        Of one body, calls with as many of these calls before them are independent.
        """
        of_form: dict[object, list[Op]] = defaultdict(list)
        for each in block.ops:
            if self.is_joinable(each):
                of_form[self.form(each)].append(each)
        for form, calls in of_form.items():
            if len(calls) >= LEAST_CALLS and form not in self.apart:
                most = max(_by_depth(block, calls).values(), key=len)
                if len(most) >= LEAST_CALLS:
                    return most
        return None

    def form(self, each: Op) -> object:
        """Return a key that is equal for calls that do the same; derivatives copy their bodies."""
        types = tuple(v is not None and v.type.key for v in each.inputs)
        if not is_call(each):
            return each.kind, types, attribute_key(each.attributes)
        return each.kind, types, self.number(each.attributes["body"])

    def number(self, body: Block) -> int:
        """Return a number that is equal for bodies that do the same, those that they call included."""
        if id(body) not in self.keys:
            key = block_key(body, {}, self.number)
            self.keys[id(body)] = (body, self.numbers.setdefault(key, len(self.numbers)))
        return self.keys[id(body)][1]

    def is_joinable(self, each: Op) -> bool:
        """Whether an op is long, of small arrays of known sizes, and does the same for each row of a batch."""
        if not all(map(_is_small, (*each.inputs, *each.outputs))) or (is_call(each) and self.stays(each)):
            return False
        return (is_call(each) or not each.blocks()) and self.length(each) >= LEAST_OPS

    def length(self, each: Op) -> float:
        """Return the number of ops that a file writes for one, -inf if it may differ between runs."""
        if each.blocks():
            return sum(map(self.weight, each.blocks()))
        return self.weigh(each) if is_deterministic(each.kind) else -math.inf

    def weight(self, body: Block) -> float:
        """Return the number of ops that a file writes for a body, -inf if one may differ between runs."""
        if id(body) not in self.weights:
            self.weights[id(body)] = (body, sum(map(self.length, body.ops)))
        return self.weights[id(body)][1]


def _is_small(value: Value | None) -> bool:
    if value is None or value.type.shape is None or not all(isinstance(d, int) for d in value.type.shape):
        return False
    return math.prod(int(d) for d in value.type.shape) <= LARGEST


def _by_depth(block: Block, calls: Sequence[Op]) -> dict[int, list[Op]]:
    """Return the calls by how many of them lie on the longest way to each."""
    chosen = set(map(id, calls))
    depths: dict[Var, int] = {}
    found: dict[int, list[Op]] = defaultdict(list)
    for each in block.ops:
        depth = max((depths.get(v, 0) for v in reads(each)), default=0)
        if id(each) in chosen:
            found[depth].append(each)
            depth += 1
        if depth:
            depths.update(dict.fromkeys(each.outputs, depth))
    return found


def _joined(block: Block, lanes: Lanes) -> Block:
    """Return the block with one call in place of these. What they read is computed before the first of them."""
    if all(call.inputs == lanes[0].inputs for call in lanes):
        same: Renaming = {
            v: first for call in lanes[1:] for v, first in zip(call.outputs, lanes[0].outputs, strict=True)
        }
        return _in_order(block, lanes[1:], (), same)
    makers = {v: each for each in block.ops for v in each.outputs}
    with tracing.recording(place=lanes[0].place, remark=lanes[0].remark) as recorded:
        rows = _Rows(makers)
        columns = [[call.inputs[i] for call in lanes] for i in range(len(lanes[0].inputs))]
        given, flags = zip(*(rows.packed(column) for column in columns), strict=True)
        batched, _ = batch_block(_alone(lanes[0]), flags, len(lanes), wanted=[True] * len(lanes[0].outputs))
        found = tracing.inline(batched, given)
        renaming: Renaming = {}
        for k, result in enumerate(found):
            for i, call in enumerate(lanes):
                one = op.Gather(Array(result), np.array(i), axis=0, types=[call.outputs[k].type])
                renaming[call.outputs[k]] = one.value
    return _in_order(block, lanes, recorded.ops, renaming)


def _alone(each: Op) -> Block:
    """Return the block of one op, whose parameters are its inputs."""
    params = tuple(Var(v.type) for v in each.inputs if v is not None)
    outputs = tuple(Var(v.type) for v in each.outputs)
    return Block("row", params, (replace(each, inputs=params, outputs=outputs),), outputs)


class _Rows:
    """Values of several lanes as rows of one, recorded where they are asked for."""

    def __init__(self, makers: dict[Var, Op]) -> None:
        self.makers = makers
        self.known: dict[tuple[int, ...], tuple[Value, bool]] = {}

    def packed(self, column: Sequence[Value | None]) -> tuple[Value, bool]:
        """The rows, and True; or the value that is the same in all lanes, and False."""
        values = [v for v in column if v is not None]
        key = tuple(map(id, values))
        if key not in self.known:
            self.known[key] = self._packed(values)
        return self.known[key]

    def _packed(self, values: Sequence[Value]) -> tuple[Value, bool]:
        if all(v is values[0] for v in values):
            return values[0], False
        ops = [self.makers.get(v) if isinstance(v, Var) else None for v in values]
        alike = [each for each in ops if each is not None]
        if len(alike) == len(values) and len({_alike_key(each) for each in alike}) == 1:
            if alike[0].kind in ELEMENTWISE:
                return self.elementwise(alike)
            if (found := _gathered(alike)) is not None:
                return found, True
        return self.stacked(values), True

    def elementwise(self, ops: Sequence[Op]) -> tuple[Value, bool]:
        """One elementwise op on rows, if its operands have the axes of its result or none."""
        rank = ops[0].outputs[0].type.rank
        if any(v is None or v.type.rank not in (0, rank) for each in ops for v in each.inputs):
            return self.stacked([each.outputs[0] for each in ops]), True
        inputs, are_rows = [], False
        for i, one in enumerate(ops[0].inputs):
            value, is_rows = self.packed([each.inputs[i] for each in ops])
            is_low = is_rows and one is not None and one.type.rank == 0 and rank
            inputs.append(op.Reshape(Array(value), [-1, *[1] * int(rank or 0)]).value if is_low else value)
            are_rows = are_rows or is_rows
        made = ops[0].outputs[0].type
        if not are_rows:
            return ops[0].outputs[0], False
        whole = Type(made.dtype, (len(ops), *(made.shape or ())))
        return tracing.emit(ops[0].kind, inputs, dict(ops[0].attributes), outputs=1, types=[whole])[0], True

    def stacked(self, values: Sequence[Value | None]) -> Value:
        """The rows, one after another."""
        given = [v for v in values if v is not None]
        if all(isinstance(v, Const) for v in given):
            return tracing.constant(np.stack([v.numpy() for v in given if isinstance(v, Const)]))
        return op.Concat(*(op.Unsqueeze(Array(v), [0]) for v in given), axis=0).value


def _alike_key(each: Op) -> object:
    types = tuple(v is not None and v.type.key for v in each.inputs)
    return each.kind, types, attribute_key(each.attributes)


def _gathered(ops: Sequence[Op]) -> Value | None:
    """The elements of one array at the places of these Gathers along its first axis; None for other ops."""
    source = ops[0].inputs[0]
    places = [each.inputs[1] if each.kind == "Gather" else None for each in ops]
    if source is None or any(each.inputs[0] is not source or each.attributes.get("axis", 0) != 0 for each in ops):
        return None
    known = [p.numpy() for p in places if isinstance(p, Const) and p.type.rank == 0]
    if len(known) != len(ops):
        return None
    return op.Gather(Array(source), np.stack(known).astype(np.int64), axis=0).value


def _in_order(block: Block, lanes: Lanes, joined: Sequence[Op], renaming: Renaming) -> Block:
    """Return the block in which the joined ops follow what they read, in front of the first of the lanes."""
    joined_makes = {v for each in joined for v in each.outputs}
    needed = _ancestors(block, [v for each in joined for v in reads(each) if v not in joined_makes])
    replaced = set(map(id, lanes))
    first = next(i for i, each in enumerate(block.ops) if id(each) in replaced)
    early = [each for each in block.ops[first:] if id(each) in needed]
    rest = [each for each in block.ops[first:] if id(each) not in needed and id(each) not in replaced]
    ops = [*block.ops[:first], *early, *joined, *(rename_reads(each, renaming) for each in rest)]
    results = tuple(renaming.get(r, r) if isinstance(r, Var) else r for r in block.results)
    return replace(block, ops=tuple(ops), results=results)


def _ancestors(block: Block, values: Iterable[Var]) -> set[int]:
    """Return the ids of the ops that these values depend on."""
    wanted, found = set(values), set()
    for each in reversed(block.ops):
        if not wanted.isdisjoint(each.outputs):
            found.add(id(each))
            wanted.update(reads(each))
    return found
