"""Drop dead code: ops whose outputs nobody reads."""

from primsplit.ir import Block, Op, is_call, live_ops


def drop_dead_code(block: Block) -> Block:
    """Return the block without ops that its results do not depend on, in sub-blocks too; itself if there are none."""
    ops = live_ops(map(_inside, block.ops), block.results)
    if len(ops) == len(block.ops) and all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return Block(block.name, block.params, tuple(ops), block.results)


def _inside(op: Op) -> Op:
    return op if is_call(op) else op.with_blocks(drop_dead_code)
