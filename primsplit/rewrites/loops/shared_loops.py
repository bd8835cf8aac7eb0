"""Merge loops that run the same steps twice into one.

```
a, s = Scan(a0, xs) body A, stacks s;  a, t = Scan(a0, xs) body A, stacks t   ->   a, s, t = Scan(a0, xs) body A
```

A loop whose steps have sizes of their own, inside of another one, runs again for its tangent and for its pullback:
values of varying sizes cannot be stacked. Two loops of one block that take the same carries through the same steps
become one, which stacks the results of both. If the steps of two Scans run the same loop, and the second may walk the
sequences that the first stacks, they become one Scan, whose step runs that loop once.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from primsplit.ir import Block, Op, Value, Var, has_blocks, inline, own_symbols, reads, same_types, walk
from primsplit.ir.dims import Dim, Size
from primsplit.ops.inference import renewed
from primsplit.rewrites import optimize
from primsplit.rewrites.cse import value_key
from primsplit.rewrites.numbering import LOOPS, Numbered, Numbering, Parts
from primsplit.rewrites.rewriting import Rewriter, integers
from primsplit.tracing.regions import Walk, told_of

Step = dict[Var, Value]
"""Maps the parameters of one loop's body to values in the step of another loop."""


def share_loops(block: Block) -> Block:
    """Return the optimized block with fewer loops, optimized; itself if all of them differ."""
    while (found := _shared(block)) is not block:
        block = optimize(found)
    return block


def _shared(block: Block) -> Block:
    """Return the block with its loops, and those inside of it, merged where possible; itself if there are none."""
    if sum(op.kind in LOOPS for op in walk(block)) < 2:
        return block
    joined = _with_fewer(block)
    while joined is not block:
        block, joined = joined, _with_fewer(joined)
    ops = [op.with_blocks(_shared) if has_blocks(op) else op for op in block.ops]
    if all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return replace(block, ops=tuple(ops))


def _with_fewer(block: Block) -> Block:
    """Return the block with each of its own loops merged with the first that fits; itself if there are none."""
    numbering = Numbering()
    kept: list[Numbered] = []
    places: defaultdict[Hashable, set[int]] = defaultdict(set)  # in `kept`, of the loops with a key
    current = _loops_by_output(block)
    for op in _with_company(block):
        second = numbering.loop(current[op.outputs[0]])
        for k in sorted({k for key in _keys(second) for k in places.get(key, ())}):
            joined = _joined(block, kept[k], second, numbering)
            if joined is not None:
                block, current = joined, _loops_by_output(joined)
                kept = [replace(n, loop=Parts(current[n.loop.loop.outputs[0]])) for n in kept]
                kept[k] = numbering.loop(kept[k].loop.loop)
                break
        else:
            k = len(kept)
            kept.append(second)
        for key in _keys(kept[k]):
            places[key].add(k)
    return block


def _keys(loop: Numbered) -> set[Hashable]:
    """Return keys, one of which another loop must share to be merged with this one: carries; that a Scan runs loops."""
    parts = loop.loop
    walks = {(loop.length, "walk")} if parts.is_scan and not parts.body.kinds.isdisjoint(LOOPS) else set()
    return {*((loop.length, carry) for carry in loop.carries[parts.lead :]), *walks}


def _loops_by_output(block: Block) -> dict[Var, Op]:
    """Return the block's own loops. A merged one has the outputs of the first, and more."""
    return {v: op for op in block.ops if op.kind in LOOPS for v in op.outputs}


def _joined(block: Block, first: Numbered, second: Numbered, numbering: Numbering) -> Block | None:
    """Return the block with one loop for the two; None if they cannot be merged."""
    step = _same_steps(first, second) if first.runs(second) else _one_walk(block, first, second, numbering)
    join = None if step is None else Join(block, first.loop, second.loop, step)
    return join.block() if join is not None and join.is_shared else None


def _with_company(block: Block) -> list[Op]:
    """Return the block's own loops that may have something in common with another one.

    That is a start of a carry, or the sequences of Scans that run loops in their steps, and the number of steps. In an
    optimized block equal values are the same Var, or constants.
    """
    found = [(op, _offered(Parts(op))) for op in block.ops if op.kind in LOOPS]
    offered = Counter(key for _, keys in found for key in keys)
    return [op for op, keys in found if any(offered[key] > 1 for key in keys)]


def _offered(loop: Parts) -> set[Hashable]:
    """Return a key that a loop of as many steps must share to be merged with this one."""
    length = loop.length if loop.is_scan else None
    steps = length.text if isinstance(length, Size) else length
    if loop.is_scan and steps is None:
        return set()
    keys: set[Hashable] = {(loop.is_scan, steps, value_key(v)) for v in loop.starts[loop.lead :]}
    if loop.is_scan and not loop.body.kinds.isdisjoint(LOOPS):
        keys.add((steps, "walk"))
    return keys


def _same_steps(first: Numbered, second: Numbered) -> Step:
    """Map the carries and sequences of the second loop that a step of the first, of as many steps, knows."""
    known: dict[tuple[Value | None, Walk], Var] = {(sequence, w): v for v, sequence, w in first.loop.sequences}
    carries = dict(zip(first.carries, first.loop.carries, strict=True))
    step: Step = {v: carries[n] for v, n in zip(second.loop.carries, second.carries, strict=True) if n in carries}
    step.update((v, known[sequence, w]) for v, sequence, w in second.loop.sequences if (sequence, w) in known)
    step.update(zip(second.loop.body.params[: second.loop.lead], first.loop.body.params, strict=False))
    return step


def _one_walk(block: Block, one: Numbered, other: Numbered, numbering: Numbering) -> Step | None:
    """Map the sequences of the second Scan that a step of the first one knows; None if their walks differ.

    A step of the first knows its elements and results, and its carry if the second walks its stacked values one step
    later.
    """
    first, second = one.loop, other.loop
    walks = {w for scan in (first, second) for _, _, w in (*scan.sequences, *scan.stacks)}
    if not (first.is_scan and second.is_scan) or one.length != other.length or len(walks) > 1:
        return None
    if not all(any(op.kind in LOOPS for op in scan.body.ops) for scan in (first, second)):
        return None
    known: dict[Value | None, Value] = {sequence: v for v, sequence, _ in first.sequences}
    known.update((v, result) for v, result, _ in first.stacks)
    step: Step = {}
    for var, sequence, w in second.sequences:
        if sequence in known:
            step[var] = known[sequence]
        elif w == Walk() and (carry := _carried(block, first, sequence, numbering)) is not None:
            step[var] = carry
    return step


def _carried(block: Block, scan: Parts, sequence: Value | None, numbering: Numbering) -> Var | None:
    """Return the carry of a Scan whose values before each step are this sequence: its start, and its stacked values."""
    made: dict[Value | None, Op] = {v: op for op in block.ops for v in op.outputs}
    cut = made.get(sequence)
    whole = made.get(cut.inputs[0]) if cut is not None and cut.kind == "Slice" else None
    if cut is None or whole is None or whole.kind != "Concat" or len(whole.inputs) != 2 or whole.attributes["axis"]:
        return None
    row, stacked = made.get(whole.inputs[0]), whole.inputs[1]
    is_unbroken = [integers(v) for v in cut.inputs[1:]] in ([(0,), (-1,), (0,)], [(0,), (-1,), (0,), (1,)])
    if not is_unbroken or row is None or row.kind != "Unsqueeze" or integers(row.inputs[1]) != (0,):
        return None
    result = next((r for v, r, _ in scan.stacks if v is stacked), None)
    for start, var, after in zip(scan.starts, scan.carries, scan.steps, strict=True):
        if after is result and numbering.value(start) == numbering.value(row.inputs[0]):
            return var
    return None


class Join:
    """Two loops of a block to become one, whose step knows the parameters `step` of the second."""

    def __init__(self, block: Block, first: Parts, second: Parts, step: Step) -> None:
        self.around = block
        self.first = first
        self.second = second
        self.step = step
        self.own = [k for k, v in enumerate(second.carries) if v not in step]
        numbering = Numbering(depth=1)
        numbering.start(first)
        loops = numbering.ops(first.body.ops)
        stacked = {(numbering.value(r), w): v for v, r, w in first.stacks}
        told = {var: numbering.value(value) for var, value in step.items()}
        numbering.start(second)
        numbering.of.update(told)
        others = numbering.ops(second.body.ops)
        self.shared = [(a.loop, b.loop) for a in loops for b in others if a.runs(b)]
        self.replaced = self.given_twice(numbering, stacked)

    def given_twice(self, numbering: Numbering, stacked: Mapping[tuple[int, Walk], Var]) -> dict[Var, Value]:
        """The outputs of the second loop that equal outputs of the first."""
        last = dict(zip(self.first.carries, self.first.last, strict=True))
        found = [(v, stacked.get((numbering.value(r), w))) for v, r, w in self.second.stacks]
        known = (self.step.get(v) for v in self.second.carries)
        found += [(v, last[k]) for v, k in zip(self.second.last, known, strict=True) if v and isinstance(k, Var)]
        return {v: other for v, other in found if other is not None and same_types(v.type, other.type)}

    @property
    def is_shared(self) -> bool:
        """Whether the two have carries in common, or run the same loop in their steps."""
        return bool(self.shared) or len(self.own) < self.second.count

    def block(self) -> Block | None:
        """Return the block with one loop for the two; None if the second cannot come first."""
        taken = [v for k, v in enumerate(self.second.last) if k not in self.own and v is not None]
        if any(v not in self.replaced for v in taken):
            return None
        loop = self.loop()
        ops = self.around.ops
        start, end = ops.index(self.first.loop), ops.index(self.second.loop)
        before, after = _apart(ops[start + 1 : end], self.first.loop.outputs)
        if not {v for op in (self.first.loop, *after) for v in op.outputs}.isdisjoint(reads(loop)):
            return None
        renaming = Rewriter()
        renaming.replaced.update(self.replaced)
        joined = (*ops[:start], *before, loop, *after, *ops[end + 1 :])
        return renaming.run(replace(self.around, ops=joined))

    def loop(self) -> Op:
        """Return the one loop."""
        first, second = self.first, self.second
        sizes = self.sizes()
        own = {p: Var(p.type.substitute(sizes), p.hint) for p in second.body.params if p not in self.step}
        ops = list(first.body.ops)
        results = inline(second.body, [self.step.get(p) or own[p] for p in second.body.params], ops, sizes)
        new = zip(second.stacks, results[second.count :], strict=True)
        stacks = (*first.stacks, *((v, r, w) for (v, _, w), r in new if v not in self.replaced))
        sequences = (*first.sequences, *((own[v], s, w) for v, s, w in second.sequences if v in own))
        attributes: dict[str, Any] = {
            "body": Block(
                first.body.name,
                (
                    *first.body.params[: first.lead], *first.carries, *(own[second.carries[k]] for k in self.own),
                    *(v for v, _, _ in sequences),
                ),
                tuple(ops),
                (*first.steps, *(results[k] for k in self.own), *(r for _, r, _ in stacks)),
            )
        }  # fmt: skip
        if first.is_scan:
            attributes |= {"num_scan_inputs": len(sequences), **told_of("scan_input", [w for _, _, w in sequences])}
            attributes |= told_of("scan_output", [w for _, _, w in stacks])
        last = (*first.last, *(second.last[k] for k in self.own))
        return replace(
            first.loop,
            inputs=(
                *first.loop.inputs[: first.lead], *first.starts, *(second.starts[k] for k in self.own),
                *(s for _, s, _ in sequences),
            ),
            outputs=(*(v for v in last if v is not None), *(v for v, _, _ in stacks)),
            attributes=attributes,
        )  # fmt: skip

    def sizes(self) -> Mapping[str, Dim]:
        """Return new sizes for those that the second's steps define: the first's, for a loop that both run."""
        found: dict[str, Dim] = renewed(own_symbols(self.second.body))
        for ours, theirs in self.shared:
            known = [v.type.shape[0] for v, _, _ in ours.stacks if v.type.shape]
            told = [v.type.shape[0] for v, _, _ in theirs.stacks if v.type.shape]
            if known and told and isinstance(told[0], Size) and told[0].symbol in found:
                found[told[0].symbol] = known[0]
        return found


def _apart(ops: Sequence[Op], given: Sequence[Var]) -> tuple[list[Op], list[Op]]:
    """Return the ops that do not depend on the given Vars, and those that do."""
    dependent = set(given)
    before: list[Op] = []
    after: list[Op] = []
    for op in ops:
        if dependent.isdisjoint(reads(op)):
            before.append(op)
        else:
            dependent.update(op.outputs)
            after.append(op)
    return before, after
