"""Passes: Block to Block, each in time linear in the number of ops."""

from primsplit.collector import paused
from primsplit.ir import Block
from primsplit.passes.cse import Merging, merge_common
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.fold import Folding, fold_constants
from primsplit.passes.loops.constant_carries import read_constant_carries_outside
from primsplit.passes.loops.unused import drop_unused_carries
from primsplit.passes.order import gradients_last
from primsplit.passes.simplify import Simplifying, simplify
from primsplit.passes.taken import Taking, with_sizes

__all__ = ["drop_dead_code", "fold_constants", "gradients_last", "merge_common", "optimize", "simplify"]

ROUNDS = 4


class _Optimizing(Taking, Folding, Simplifying, Merging):
    """All in one walk: each op is an If of one branch, or folded, else simplified, else merged with an earlier one."""


def optimize(block: Block) -> Block:
    """The same function with fewer ops: the same bits out, folded constants aside, which are at least as accurate.

    Repeated until nothing changes any more, at most `ROUNDS` times; one walk leaves little for the next.
    """
    with paused():
        block = _lean(block)
        for _ in range(ROUNDS):
            walk = _Optimizing()
            found = walk.run(block)
            if found is block:
                break
            block = _lean(with_sizes(found, walk.sizes) if walk.sizes else found)
    return block


def _lean(block: Block) -> Block:
    """The block without what nobody uses, and without carries that no step changes."""
    return drop_dead_code(drop_unused_carries(read_constant_carries_outside(block)))
