"""Order the ops: gradients that nothing else needs come last, the one that is ready first at the very end.

```
dw1, dw2, dx interleaved   ->   dx and all that it needs; then dw1 (ready last); then dw2 (ready first)
```

onnxruntime does not run a file from top to bottom: it starts from the last sink and runs all that it needs, then the
one before. With each weight gradient at the end, the last layer's last of all, every cotangent is used up as soon as it
exists; beside the input gradients they would keep every layer's cotangent alive.

A gradient that is larger than the values that it keeps alive, as those of wide layers after a small batch, is better
computed at the end, when the activations of the layers before are freed. Such gradients come first in the file, the one
that is ready last behind the others: it is asked for first, and all cotangents with it.
"""

from collections.abc import Iterable, Mapping, Sequence

from primsplit.ir import Block, Op, Value, Var, reads
from primsplit.ops.traits import traits

SHARED = -1


def gradients_last(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with the ops that lead only to one of these results after all others.

    `gradients` are the positions of the results that are gradients of parameters. The ops of one gradient stay together
    and in order; a gradient that waits longer for the other ops comes before one that waits less, except those that
    `_worth_waiting` defers.
    """
    owner = _owners(block, gradients)
    common: list[Op] = []
    cones: dict[int, list[Op]] = {}
    for op, position in zip(block.ops, owner, strict=True):
        (common if position == SHARED else cones.setdefault(position, [])).append(op)
    waits = _waits(common, cones) if len(cones) > 1 else dict.fromkeys(cones, 0)
    late = _worth_waiting(block, common, cones)
    waiting = sorted((p for p in cones if p in late), key=lambda p: waits[p])
    last = sorted((p for p in cones if p not in late), key=lambda p: waits[p], reverse=True)
    ops = (*common, *(op for position in (*waiting, *last) for op in cones[position]))
    return Block(block.name, block.params, ops, block.results)


def _waits(common: Sequence[Op], cones: Mapping[int, Sequence[Op]]) -> dict[int, int]:
    """Return how many of the common ops each gradient waits for."""
    ready = {v: done for done, op in enumerate(common, 1) for v in op.outputs}
    return {p: max((ready.get(v, 0) for op in ops for v in reads(op)), default=0) for p, ops in cones.items()}


def results_apart(block: Block) -> Block:
    """Return the block with a copy of each value for each of its results but the first.

    The writer would copy it at the end of the file, and onnxruntime begin with that.
    """
    seen: set[Value] = set()
    copies: list[Op] = []
    results: list[Value] = []
    for result in block.results:
        if result in seen and isinstance(result, Var) and result not in block.params:
            copies.append(Op("Identity", (result,), (Var(result.type, result.hint),)))
            results.append(copies[-1].outputs[0])
        else:
            seen.add(result)
            results.append(result)
    return Block(block.name, block.params, (*block.ops, *copies), tuple(results)) if copies else block


def _worth_waiting(block: Block, common: Sequence[Op], cones: Mapping[int, Sequence[Op]]) -> set[int]:
    """Return the gradients that are larger than the values that they alone would keep alive until the end.

    A value that several of them read is counted with the largest. Sizes that are not literal are no reason to wait.
    """
    root: dict[Value, Value] = {}
    for op in common:
        if traits(op.kind).keeps == "order" and op.inputs[0] is not None:
            root[op.outputs[0]] = root.get(op.inputs[0], op.inputs[0])
    kept: set[Value] = {*block.params, *block.results}
    found: set[int] = set()
    sizes = {position: _bytes([block.results[position]]) for position in cones}
    for position in sorted(cones, key=lambda p: sizes[p] or 0, reverse=True):
        made = {v for op in cones[position] for v in op.outputs}
        held = {root.get(v, v) for op in cones[position] for v in reads(op) if v not in made} - kept
        size, cost = sizes[position], _bytes(held)
        if size is not None and cost is not None and size > cost:
            found.add(position)
            kept |= held
    return found


def _bytes(values: Iterable[Value]) -> int | None:
    """Return the bytes of these values, None if a size is not literal."""
    total = 0
    for value in values:
        size = value.type.literal_nbytes()
        if size is None:
            return None
        total += size
    return total


def _owners(block: Block, gradients: Sequence[int]) -> list[int]:
    """Return for each op the one gradient, by position, that it leads to, or SHARED."""
    leads: dict[Var, int] = {}
    for position, result in enumerate(block.results):
        if isinstance(result, Var):
            own = position if position in gradients else SHARED
            leads[result] = own if leads.get(result, own) == own else SHARED
    owner: list[int] = []
    for op in reversed(block.ops):
        found = [leads[v] for v in op.outputs if v in leads]
        mine = found[0] if found and found.count(found[0]) == len(found) else SHARED
        owner.append(mine)
        for var in reads(op):
            if leads.setdefault(var, mine) != mine:
                leads[var] = SHARED
    owner.reverse()
    return owner
