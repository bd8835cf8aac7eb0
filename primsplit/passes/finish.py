"""What a block goes through before it becomes a file."""

from collections.abc import Sequence

from primsplit.ir import Block
from primsplit.passes import gradients_last, optimize
from primsplit.passes.axes import count_axes_from_front
from primsplit.passes.inline import inline_calls
from primsplit.passes.legalize import legalize
from primsplit.passes.precision import keep_double_products
from primsplit.passes.transposed import gemm_of_transposed
from primsplit.verify import verified


def finish(block: Block, gradients: Sequence[int] = (), *, is_function: bool = False) -> Block:
    """The block in the standard's operators alone, without waste, for onnxruntime.

    It is optimized before and after operators without a kernel are replaced: what they are replaced by may be constant,
    or shared. `gradients` are the positions of results that are gradients of parameters, which are computed last. A
    function's block is inlined by onnxruntime between ops that are not known here.
    """
    lean = optimize(inline_calls(block))
    legal = legalize(lean)
    if legal is not lean:
        legal = legalize(optimize(legal))
    sound = keep_double_products(gemm_of_transposed(count_axes_from_front(legal)), is_function=is_function)
    return verified(gradients_last(sound, gradients))
