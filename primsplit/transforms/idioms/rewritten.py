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
from primsplit.ir.passes import imported, ops_from
from primsplit.rewrites.cse import merge_common
from primsplit.rewrites.loops import LARGE

REWRITES = tuple(
    imported(f"transforms.idioms.{path}", kinds)
    for path, kinds in (
        ("kinks.recognize_kinks", "Clip|Div|If|Max|Mul|Where"),
        ("writes.join_writes", "ScatterND"),
        ("recognize.recognize", "Erf|Exp Div|Mul|Sub"),
        ("pools.recognize_pools", "Reshape call::max"),
        ("convolutions.recognize_convolutions", "MatMul Reshape"),
        ("log_recurrences.recognize_log_recurrences", "Scan"),
        ("logistics.recognize_logistics", "Exp Add Div|Reciprocal"),
        ("pooled_relu.pool_before_relu", "MaxPool Relu"),
    )
)
"""The rewrites in their order, with the operators without one of which they find nothing."""
fold_repeats = imported("rewrites.loops.repeats.fold_repeats", has=ops_from(LARGE))
with_slopes_beside_jumps = imported(
    "transforms.idioms.jumps.with_slopes_beside_jumps",
    "Abs|Ceil|Equal|Floor|Greater|GreaterOrEqual|Less|LessOrEqual|Sign Div|Mul|Where",
)
recognize_norms = imported("transforms.idioms.norms.recognize_norms", "ReduceMean")


def rewritten(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Block:
    """Return the block in the form whose derivative is cheapest.

    `wrt` and `of` are the positions of parameters and results.

    Derivatives inside of it compute much twice, as each was recorded by itself: merged, they are pulled back once. What
    the user wrote twice stays twice, but for roots: the slopes of a root that exists once may cancel.
    """
    if any(order_of(op.remark) for op in walk(block)):
        block = merge_common(block)
    block = _with_each_root_once(fold_repeats(block))
    for rewrite in REWRITES:
        block = rewrite(block)
    block = with_slopes_beside_jumps(block, wrt)
    return recognize_norms(block, wrt, of)


def _with_each_root_once(block: Block) -> Block:
    """Return the block with every value computed once, if that leaves fewer roots and lengths; else itself."""
    roots = [op for op in block.ops if op.kind in ROOTS]
    if len(roots) < 2:
        return block
    merged = merge_common(block)
    return merged if len([op for op in merged.ops if op.kind in ROOTS]) < len(roots) else block


ROOTS = frozenset({"ReduceL2", "Sqrt"})
