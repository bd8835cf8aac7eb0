"""Drop the results of joined branches that nothing reads, and the branches without any.

a, b = If(c, then=(x, y), else=(z, y))    # b is never read    ->    a = If(c, then=(x), else=(z))
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, has_blocks, walk
from primsplit.ir.blocks import reads
from primsplit.tracing.branching.raising import RAISES, may_raise


def without_unread(ops: Sequence[Op], results: Iterable[Value | Var]) -> list[Op]:
    """Return the ops, without the results of Ifs that neither later ops nor the results of all read.

    An If that may raise an error stays.
    """
    read = {value for value in results if isinstance(value, Var)}
    kept: list[Op] = []
    for op in reversed(ops):
        shorter = _shorter(op, read)
        if shorter is not None:
            read.update(reads(shorter))
            kept.append(shorter)
    return kept[::-1]


def _shorter(op: Op, read: Set[Var]) -> Op | None:
    """Return an op without unread results; None for an If that has no others."""
    if not has_blocks(op):
        return op
    if op.kind != "If":
        return op.with_blocks(lambda block: _trimmed(block, range(len(block.results))))
    places = [k for k, output in enumerate(op.outputs) if output in read]
    if not places and not any(map(_raises, op.blocks())):
        return None
    return replace(op.with_blocks(lambda block: _trimmed(block, places)), outputs=tuple(op.outputs[k] for k in places))


def _raises(block: Block) -> bool:
    return any(op.kind == RAISES or may_raise(op) for op in walk(block))


def _trimmed(block: Block, places: Sequence[int]) -> Block:
    """Return a block with the results at these places; the block itself if it has no others."""
    results = tuple(block.results[k] for k in places)
    ops = tuple(without_unread(block.ops, results))
    is_same = len(results) == len(block.results) and len(ops) == len(block.ops)
    if is_same and all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return Block(block.name, block.params, ops, results)
