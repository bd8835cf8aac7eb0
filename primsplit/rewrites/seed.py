"""Replace cotangents that are parameters by ones.

```
pullback(x, g) = Mul(g, Cos(x))   ->   pullback(x) = Mul(1.0, Cos(x))     # of scalars
```
"""

from collections.abc import Mapping

import numpy as np

from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, reads, rename_reads, renamed


def with_unit_seeds(block: Block, seeds: Mapping[Var, int]) -> Block:
    """Return the block with these cotangent parameters replaced by ones of their shape.

    A shape that is not literal is read from the result that the cotangent belongs to, whose position is given.
    """
    ops: list[Op] = []
    renaming: Renaming = {s: Const(np.ones((), s.type.dtype)) for s in seeds if s.type.shape == ()}
    waiting = {s for s in seeds if s not in renaming}
    for op in block.ops:
        read = reads(op)
        for seed in [s for s in waiting if s in read]:
            renaming[seed] = _ones(seed, block.results[seeds[seed]], ops)
            waiting.discard(seed)
        ops.append(rename_reads(op, renaming))
    for seed in [s for s in waiting if s in block.results]:
        renaming[seed] = _ones(seed, block.results[seeds[seed]], ops)
    results = tuple(renamed(r, renaming) for r in block.results)
    return Block(block.name, tuple(p for p in block.params if p not in seeds), tuple(ops), results)


def _ones(seed: Var, like: Value, ops: list[Op]) -> Value:
    """Return ones of the type of a seed, and of the shape of its result."""
    shape = seed.type.shape
    ones = Var(seed.type)
    if shape is not None and all(isinstance(d, int) for d in shape):
        sizes: Value = Const(np.array(shape, dtype=np.int64))
    else:
        sizes = Var(Type(np.int64, None if shape is None else (len(shape),)))
        ops.append(Op("Shape", (like,), (sizes,)))
    ops.append(Op("ConstantOfShape", (sizes,), (ones,), {"value": np.ones(1, seed.type.dtype)}))
    return ones
