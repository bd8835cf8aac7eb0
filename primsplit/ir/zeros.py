"""The boundary policy for symbolic zeros: an exported program gives zeros for inputs that the results ignore."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Op, Type, Value, Var
from primsplit.ir.parts import Split


def with_gradients(split: Split, block: Block, wanted: Sequence[int]) -> Block:
    """A block whose last results are the targets' cotangents, with one for each parameter in `wanted` instead.

    A parameter that is not connected gets zeros of its shape; where the block lacks it, it becomes one.
    """
    lead = len(block.results) - len(split.targets)
    found = dict(zip(split.targets, block.results[lead:], strict=True))
    params, ops = list(block.params), list(block.ops)
    gradients: list[Value] = []
    for position in wanted:
        var = split.primal.params[position]
        if position not in found and var not in params:
            params.append(var)
        gradients.append(found[position] if position in found else zeros_op(var, ops))
    return Block(block.name, tuple(params), tuple(ops), (*block.results[:lead], *gradients))


def zeros_op(like: Value, ops: list[Op]) -> Value:
    """Zeros of the shape and dtype of a value, made by ops that are appended."""
    rank = like.type.rank
    sizes = Var(Type(np.int64, None if rank is None else (rank,)))
    result = Var(like.type)
    ops.append(Op("Shape", (like,), (sizes,)))
    ops.append(Op("ConstantOfShape", (sizes,), (result,), {"value": np.zeros(1, like.type.dtype)}))
    return result
