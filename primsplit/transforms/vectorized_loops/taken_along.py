"""Scans over what another loop stacks, taken along in that loop's own steps.

The tangent of a loop, also of one that goes back over another, is a Scan over what the loop stacked. Where nothing else
reads that, as in forward mode, what is taken along needs no stack: the memory of one step, however many there are. Of
little, a Scan of its own is shorter: what it computes of the stacks alone, it computes for all steps at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, has_blocks, readers, same_types, walk
from primsplit.rewrites.loops.shared_loops import Join
from primsplit.rewrites.numbering import LOOPS, Parts
from primsplit.tracing.regions import Walk, told_of
from primsplit.transforms.vectorized_loops.fission import is_much


def take_along(block: Block) -> Block:
    """The block with such Scans in the loops before them; itself where there are none.

    What they make unneeded is still there.
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
    """The block with the Scans that go along with one of its loops; itself where they need not, or cannot."""
    scans = _company(block, loop)
    if not _is_worth(block, loop, scans):
        return block
    joined: Block | None = block
    for scan in scans:
        joined = None if joined is None else _joined(joined, _maker(joined, loop), _maker(joined, scan))
    return joined or block


def _joined(block: Block, loop: Op, scan: Op) -> Block | None:
    """The block with one loop for the two; None where what the Scan reads comes after the loop."""
    way = _way(loop)
    if way is not None and way != _way(scan):
        turned = _turned(scan, way)
        block, scan = replace(block, ops=tuple(turned if op is scan else op for op in block.ops)), turned
    step = _step(loop, _elements(loop), scan)
    return None if step is None else Join(block, Parts(loop), Parts(scan), step).block()


def _company(block: Block, loop: Op) -> list[Op]:
    """The Scans that walk what the loop stacks, or others of them do, step by step with it."""
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
    """True where some stack is not needed then: any of a Loop, which only the run can count, one of much of a Scan."""
    wanted = readers(block.ops, block.results) if scans else {}
    spared = [r for v, r, _ in Parts(loop).stacks if all(reader in scans for reader in wanted.get(v, (None,)))]
    return any(loop.kind == "Loop" or is_much(r) for r in spared)


def _elements(loop: Op) -> dict[Value | None, Value]:
    """What a step of a loop has of what it stacks and walks."""
    parts = Parts(loop)
    return {v: r for v, r, _ in parts.stacks} | {s: v for v, s, _ in parts.sequences}


def _step(loop: Op, elements: Mapping[Value | None, Value], scan: Op) -> dict[Var, Value] | None:
    """What a step of a Scan reads in one of the loop; None where they do not go the same way."""
    parts, way = Parts(scan), _way(loop)
    ways = {way} if parts.count or way is None else {way, way.reversed()}
    if way is None or _way(scan) not in ways:
        return None
    known = {v: elements[s] for v, s, _ in parts.sequences if s in elements}
    is_all = len(known) == len(parts.sequences)
    is_told = is_all or (loop.kind == "Scan" and _way(scan) == way)
    return known if is_told and all(same_types(v.type, r.type) for v, r in known.items()) else None


def _way(loop: Op) -> Walk | None:
    """How a loop walks and stacks; None where it does so in several ways."""
    parts = Parts(loop)
    ways = {w for _, _, w in (*parts.sequences, *parts.stacks)}
    return ways.pop() if len(ways) == 1 else None


def _turned(scan: Op, way: Walk) -> Op:
    """A Scan without carries, which may go either way, going this way."""
    parts = Parts(scan)
    told = told_of("scan_input", [way] * len(parts.sequences)) | told_of("scan_output", [way] * len(parts.stacks))
    kept = {name: scan.attributes[name] for name in ("body", "num_scan_inputs")}
    return replace(scan, attributes=kept | told)


def _maker(block: Block, before: Op) -> Op:
    """The op that makes in the block what another one made before."""
    return next(op for op in block.ops if before.outputs[0] in op.outputs)
