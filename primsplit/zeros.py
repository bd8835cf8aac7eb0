"""The boundary policy for symbolic zeros: an exported program gives zeros for inputs that the results ignore."""

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var
from primsplit.split import Split


def with_all_gradients(split: Split, block: Block, lead: int) -> Block:
    """The block, whose results after the first `lead` are the targets' cotangents, with one for each of `wrt`.

    An input that is not connected gets zeros of its shape; it becomes a parameter where the block lacks it.
    """
    found = dict(zip(split.targets, block.results[lead:], strict=True))
    params, ops = list(block.params), list(block.ops)
    gradients: list[Value] = []
    for position in split.wrt:
        if position in found:
            gradients.append(found[position])
            continue
        var = split.primal.params[position]
        if var not in params:
            params.append(var)
        gradients.append(_zeros(var, ops))
    return Block(block.name, tuple(params), tuple(ops), (*block.results[:lead], *gradients))


def _zeros(var: Var, ops: list[Op]) -> Value:
    shape = var.type.shape
    if shape is not None and all(isinstance(d, int) for d in shape) and not shape:
        return Const(np.zeros((), var.type.dtype))
    sizes = Var(Type(np.int64, (0 if shape is None else len(shape),)))
    result = Var(var.type)
    ops.append(Op("Shape", (var,), (sizes,)))
    ops.append(Op("ConstantOfShape", (sizes,), (result,), {"value": np.zeros(1, var.type.dtype)}))
    return result
