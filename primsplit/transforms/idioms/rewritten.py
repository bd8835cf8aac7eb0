"""Run the rewrites that must precede differentiation.

Written-out softmax, log-softmax, GELU in float32, layer norms, maxima of windows by reshape and products of sliding
windows are recognized, repeated steps of large programs are folded, and a Relu is swapped with the pooling that reads
it. A recurrence of log-sum-exps becomes products. The first three, and the products, change values by roundings. A
norm, and `1 / (1 + exp(z))`, keep their ops, as calls with rules of their own: they change gradients alone, which are 0
where `exp(z)` overflows. No other rewrite changes a value.
"""

from collections.abc import Sequence

from primsplit.ir import Block, walk
from primsplit.ir.analysis.orders import order_of
from primsplit.rewrites.cse import merge_common
from primsplit.rewrites.loops.repeats import fold_repeats
from primsplit.transforms.idioms.convolutions import recognize_convolutions
from primsplit.transforms.idioms.kinks import recognize_kinks
from primsplit.transforms.idioms.log_recurrences import recognize_log_recurrences
from primsplit.transforms.idioms.logistics import recognize_logistics
from primsplit.transforms.idioms.norms import recognize_norms
from primsplit.transforms.idioms.pooled_relu import pool_before_relu
from primsplit.transforms.idioms.pools import recognize_pools
from primsplit.transforms.idioms.recognize import recognize
from primsplit.transforms.idioms.writes import join_writes


def rewritten(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Block:
    """Return the block in the form whose derivative is cheapest.

    `wrt` and `of` are the positions of parameters and results.

    Derivatives inside of it compute much twice, as each was recorded by itself: merged, they are pulled back once. What
    the user wrote twice stays twice, but for roots: the slopes of a root that exists once may cancel.
    """
    if any(order_of(op.remark) for op in walk(block)):
        block = merge_common(block)
    for rewrite in (
        fold_repeats,
        _with_each_root_once,
        recognize_kinks,
        join_writes,
        recognize,
        recognize_pools,
        recognize_convolutions,
        recognize_log_recurrences,
    ):
        block = rewrite(block)
    return recognize_norms(pool_before_relu(recognize_logistics(block)), wrt, of)


def _with_each_root_once(block: Block) -> Block:
    """Return the block with every value computed once, if that leaves fewer roots and lengths; else itself."""
    roots = [op for op in block.ops if op.kind in ROOTS]
    if len(roots) < 2:
        return block
    merged = merge_common(block)
    return merged if len([op for op in merged.ops if op.kind in ROOTS]) < len(roots) else block


ROOTS = frozenset({"ReduceL2", "Sqrt"})
