"""Warn about Python loops that were recorded step by step: they run correctly, but are slow to record and to load."""

from collections import Counter
from collections.abc import Iterable

from primsplit.ir import Block, Op
from primsplit.ir.errors import Place, UnrolledLoopWarning, warn_at

REPEATED = 500
"""So many ops of one kind on one line are a loop; onnxruntime takes longer to load them than most programs run."""


def report_unrolled(block: Block) -> Block:
    """Return the block. Warn, at the user's line, where a line recorded one operator `REPEATED` times or more in it.

    There is one warning, about the line with the most. Pullbacks are not counted: no line of the user's recorded them.
    """
    found = _most_repeated(block)
    if found is None:
        return block
    (place, kind), times = found
    message = (
        f"this line recorded {kind} {times} times, in a program of {len(block.ops)} ops: a Python loop is recorded "
        "step by step. Write it with ps.scan or ps.fori_loop, which record one step for any number of them."
    )
    warn_at(place, message, UnrolledLoopWarning)
    return block


def _most_repeated(block: Block) -> tuple[tuple[Place, str], int] | None:
    """Return the most repeated kind of op on one line, and its count, if that is at least `REPEATED`."""
    counts = [_count(ops) for ops in _lists(block) if len(ops) >= REPEATED]
    tops = [counted.most_common(1)[0] for counted in counts if counted]
    top = max(tops, key=lambda row: row[1], default=None)
    return top if top is not None and top[1] >= REPEATED else None


def _lists(block: Block) -> Iterable[tuple[Op, ...]]:
    yield block.ops
    for op in block.ops:
        for inner in op.blocks():
            yield from _lists(inner)


def _count(ops: Iterable[Op]) -> Counter[tuple[Place, str]]:
    return Counter((op.place, op.kind) for op in ops if op.place is not None and op.place.line and not op.remark)
