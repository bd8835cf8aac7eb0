"""Rewrites: passes from Block to Block for any target, each in time linear in the number of ops."""

from primsplit.ir import Block
from primsplit.ir.passes import imported
from primsplit.rewrites.constant_branches import with_sizes
from primsplit.rewrites.constant_sizes import Inferring
from primsplit.rewrites.cse import Merging, merge_common
from primsplit.rewrites.fold import Folding, fold_constants
from primsplit.rewrites.order import gradients_last
from primsplit.rewrites.rewriting import drop_dead_code
from primsplit.rewrites.simplify import Simplifying, simplify

__all__ = ["drop_dead_code", "fold_constants", "gradients_last", "merge_common", "optimize", "simplify"]

ROUNDS = 4
read_constant_carries_outside = imported("rewrites.loops.constant_carries.read_constant_carries_outside", "Loop|Scan")
drop_unused_carries = imported("rewrites.loops.unused.drop_unused_carries", "Loop|Scan")


class _Optimizing(Inferring, Folding, Simplifying, Merging):
    """All in one walk: take constant branches, fold, simplify and merge each op."""


def optimize(block: Block) -> Block:
    """Return the same function with fewer ops: the same bits, but for folded constants, which are at least as accurate.

    One walk leaves nothing for another, unless it learned sizes or removed carries of loops: it is then repeated, at
    most `ROUNDS` times.
    """
    block = drop_dead_code(_with_fewer_carries(block))
    for _ in range(ROUNDS):
        walk = _Optimizing()
        found = walk.run(block)
        if found is block:
            break
        told = with_sizes(found, walk.sizes) if walk.sizes else found
        lean = _with_fewer_carries(told)
        block = drop_dead_code(lean)
        if lean is found:
            break
    return block


def _with_fewer_carries(block: Block) -> Block:
    """Return the block without carries that nobody uses, or that no step changes."""
    return drop_unused_carries(read_constant_carries_outside(block))
