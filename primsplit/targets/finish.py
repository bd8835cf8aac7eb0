"""Finish a block before it becomes a file: run the stages of `targets/pipeline.py`."""

from collections.abc import Sequence

from primsplit.ir import Block
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import OLDEST, Runtime
from primsplit.ops.verify import verified
from primsplit.targets.pipeline import stages
from primsplit.targets.stages import Target, in_turn


def finish(
    block: Block,
    gradients: Sequence[int] = (),
    *,
    is_function: bool = False,
    keep_calls: bool = False,
    provider: Provider = "cpu",
    runtime: Runtime = OLDEST,
) -> Block:
    """Return the block in the standard's operators alone, without waste, for onnxruntime.

    It is optimized before and after operators without a kernel are replaced: their decompositions may be constant, or
    shared. Workarounds for onnxruntime would look like waste, and come last. `gradients` are the positions of results
    that are gradients of parameters; see `Target` for the rest.
    """
    target = Target(tuple(gradients), is_function, keep_calls, provider, runtime)
    return verified(in_turn(stages(), block, target))
