"""Fuse Scans over what another loop stacks into that loop's own steps.

The tangent of a loop, also of one that runs backward over another, is a Scan over what the loop stacked. If nothing
else reads that, as in forward mode, a fused step needs no stack: the memory of one step, however many there are. For
little data, a Scan of its own is better: what it computes from the stacks alone, it computes for all steps at once.

```
h, hs = Loop(n, h0): ...; t = Scan(t0, hs): ...   ->   h, t = Loop(n, h0, t0): ... both steps ...
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, has_blocks, readers, same_types, walk
from primsplit.rewrites.loops.shared_loops import Join
from primsplit.rewrites.numbering import LOOPS, Parts
from primsplit.tracing.regions import Walk, told_of
from primsplit.transforms.vectorized_loops.fission import is_much


def take_along(block: Block) -> Block:
    """Return the block with such Scans fused into the loops before them; itself if there are none.

    Ops that become dead are still there.
    """
    if sum(op.kind in LOOPS for op in walk(block)) < 2:
        return block
    for op in block.ops:
        if op.kind in LOOPS:
            block = _with_company(block, op)
    ops = [op.with_blocks(take_along) if has_blocks(op) else op for op in block.ops]
    if all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return replace(block, ops=tuple(ops))


def _with_company(block: Block, loop: Op) -> Block:
    """Return the block with Scans fused into one of its loops; itself if that is not worth it, or impossible."""
    scans = _company(block, loop)
    if not _is_worth(block, loop, scans):
        return block
    joined: Block | None = block
    for scan in scans:
        joined = None if joined is None else _joined(joined, _maker(joined, loop), _maker(joined, scan))
    return joined or block


def _joined(block: Block, loop: Op, scan: Op) -> Block | None:
    """Return the block with one loop for the two; None if the Scan reads values computed after the loop."""
    way = _way(loop)
    if way is not None and way != _way(scan):
        turned = _turned(scan, way)
        block, scan = replace(block, ops=tuple(turned if op is scan else op for op in block.ops)), turned
    step = _step(loop, _elements(loop), scan)
    return None if step is None else Join(block, Parts(loop), Parts(scan), step).block()


def _company(block: Block, loop: Op) -> list[Op]:
    """Return the Scans that read what the loop, or others of them, stack, step by step with it."""
    elements = _elements(loop)
    stacks = {v for v, _, _ in Parts(loop).stacks}
    found = []
    for op in block.ops:
        if op.kind == "Scan" and not stacks.isdisjoint(op.inputs) and _step(loop, elements, op) is not None:
            found.append(op)
            stacks.update(v for v, _, _ in Parts(op).stacks)
            elements.update((v, r) for v, r, _ in Parts(op).stacks)
    return found


def _is_worth(block: Block, loop: Op, scans: Sequence[Op]) -> bool:
    """Whether fusion saves a stack: any one of a Loop, whose steps only the run can count, or a large one of a Scan."""
    wanted = readers(block.ops, block.results) if scans else {}
    spared = [r for v, r, _ in Parts(loop).stacks if all(reader in scans for reader in wanted.get(v, (None,)))]
    return any(loop.kind == "Loop" or is_much(r) for r in spared)


def _elements(loop: Op) -> dict[Value | None, Value]:
    """Map what a loop stacks and reads to its value in a step."""
    parts = Parts(loop)
    return {v: r for v, r, _ in parts.stacks} | {s: v for v, s, _ in parts.sequences}


def _step(loop: Op, elements: Mapping[Value | None, Value], scan: Op) -> dict[Var, Value] | None:
    """Map what a step of a Scan reads to values in a step of the loop; None if they run in different directions."""
    parts, way = Parts(scan), _way(loop)
    ways = {way} if parts.count or way is None else {way, way.reversed()}
    if way is None or _way(scan) not in ways:
        return None
    known = {v: elements[s] for v, s, _ in parts.sequences if s in elements}
    is_all = len(known) == len(parts.sequences)
    is_told = is_all or (loop.kind == "Scan" and _way(scan) == way)
    return known if is_told and all(same_types(v.type, r.type) for v, r in known.items()) else None


def _way(loop: Op) -> Walk | None:
    """Return how a loop reads and stacks; None if it does so in several ways."""
    parts = Parts(loop)
    ways = {w for _, _, w in (*parts.sequences, *parts.stacks)}
    return ways.pop() if len(ways) == 1 else None


def _turned(scan: Op, way: Walk) -> Op:
    """Return a Scan without carries, which may run in either direction, with this one."""
    parts = Parts(scan)
    told = told_of("scan_input", [way] * len(parts.sequences)) | told_of("scan_output", [way] * len(parts.stacks))
    kept = {name: scan.attributes[name] for name in ("body", "num_scan_inputs")}
    return replace(scan, attributes=kept | told)


def _maker(block: Block, before: Op) -> Op:
    """Return the op in the block that computes the outputs of an earlier version of it."""
    return next(op for op in block.ops if before.outputs[0] in op.outputs)
