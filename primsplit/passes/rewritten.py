"""What is rewritten in a block before it is differentiated."""

from collections.abc import Sequence

from primsplit.ir import Block
from primsplit.passes.logistics import recognize_logistics
from primsplit.passes.norms import recognize_norms
from primsplit.passes.pooled_relu import pool_before_relu
from primsplit.passes.recognize import recognize
from primsplit.passes.writes import join_writes


def rewritten(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Block:
    """The block as its derivative is cheapest; `wrt` and `of` are the positions of parameters and results."""
    return recognize_norms(pool_before_relu(recognize_logistics(recognize(join_writes(block)))), wrt, of)
