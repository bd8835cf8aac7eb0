"""What is rewritten in a block before it is differentiated."""

from collections.abc import Sequence

from primsplit.analysis.orders import order_of
from primsplit.ir import Block, walk
from primsplit.passes.cse import merge_common
from primsplit.passes.written.kinks import recognize_kinks
from primsplit.passes.written.logistics import recognize_logistics
from primsplit.passes.written.norms import recognize_norms
from primsplit.passes.written.pooled_relu import pool_before_relu
from primsplit.passes.written.recognize import recognize
from primsplit.passes.written.writes import join_writes


def rewritten(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Block:
    """The block as its derivative is cheapest; `wrt` and `of` are the positions of parameters and results.

    Derivatives that it holds already compute much twice, as each was made by itself: merged, they are pulled back once.
    What the user wrote twice stays as it is written.
    """
    if any(order_of(op.remark) for op in walk(block)):
        block = merge_common(block)
    block = recognize_kinks(block)
    return recognize_norms(pool_before_relu(recognize_logistics(recognize(join_writes(block)))), wrt, of)
