"""What a block goes through before it becomes a file."""

from primsplit.ir import Block
from primsplit.passes.axes import count_axes_from_front
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.inline import inline_calls
from primsplit.passes.legalize import legalize


def finish(block: Block) -> Block:
    """The block in the standard's operators alone, without waste, for onnxruntime."""
    return drop_dead_code(count_axes_from_front(legalize(drop_dead_code(inline_calls(block)))))
