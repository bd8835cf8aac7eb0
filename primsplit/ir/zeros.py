"""Materialize symbolic zeros at the boundary: an exported program returns zeros for inputs that the results ignore.

```
a, b -> Exp(a), wrt both:    da = Mul(exp, dy)    db = ConstantOfShape(Shape(b), value=0)
```
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Op, Type, Value, Var
from primsplit.ir.parts import Split


def with_gradients(split: Split, block: Block, wanted: Sequence[int]) -> Block:
    """Return a block whose last results are the cotangents of the parameters in `wanted`, not those of the targets.

    A parameter that the results ignore gets zeros of its shape, and is added to the block's parameters if they lack it.
    """
    lead = len(block.results) - len(split.targets)
    cotangents = dict(zip(split.targets, block.results[lead:], strict=True))
    params, ops = list(block.params), list(block.ops)
    gradients: list[Value] = []
    for position in wanted:
        var = split.primal.params[position]
        if position not in cotangents and var not in params:
            params.append(var)
        gradients.append(cotangents[position] if position in cotangents else zeros_op(var, ops))
    return Block(block.name, tuple(params), tuple(ops), (*block.results[:lead], *gradients))


def zeros_op(like: Value, ops: list[Op]) -> Value:
    """Append ops that compute zeros of the shape and dtype of a value, and return the zeros."""
    rank = like.type.rank
    sizes = Var(Type(np.int64, None if rank is None else (rank,)))
    result = Var(like.type)
    ops.append(Op("Shape", (like,), (sizes,)))
    ops.append(Op("ConstantOfShape", (sizes,), (result,), {"value": np.zeros(1, like.type.dtype)}))
    return result
