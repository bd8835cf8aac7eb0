"""Cotangents that need not come from outside: they are ones."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, reads, rename


def with_unit_seeds(block: Block, seeds: Sequence[Var]) -> Block:
    """The block with these cotangent parameters replaced by ones of their shape.

    The shape of one that is no literal is read from the result it belongs to: the Var of the same type that the block
    returns.
    """
    ops: list[Op] = []
    renaming: Renaming = {s: Const(np.ones((), s.type.dtype)) for s in seeds if s.type.shape == ()}
    waiting = {s for s in seeds if s not in renaming}
    for op in block.ops:
        read = reads(op) if waiting else ()
        for seed in [s for s in waiting if s in read]:
            renaming[seed] = _ones(seed, block, ops)
            waiting.discard(seed)
        touched = any(isinstance(v, Var) and v in renaming for v in op.inputs) or any(op.blocks())
        if touched:
            renaming.update({v: v for v in op.outputs})
            ops.append(rename(op, renaming))
        else:
            ops.append(op)
    for seed in [s for s in waiting if s in block.results]:
        renaming[seed] = _ones(seed, block, ops)
    results = tuple(renaming.get(r, r) if isinstance(r, Var) else r for r in block.results)
    return Block(block.name, tuple(p for p in block.params if p not in seeds), tuple(ops), results)


def _ones(seed: Var, block: Block, ops: list[Op]) -> Value:
    shape = seed.type.shape or ()
    ones = Var(seed.type)
    if all(isinstance(d, int) for d in shape):
        sizes: Value = Const(np.array(shape, dtype=np.int64))
    else:
        like = next(v for v in (*block.results, *block.params) if v.type == seed.type and v is not seed)
        sizes = Var(Type(np.int64, (len(shape),)))
        ops.append(Op("Shape", (like,), (sizes,)))
    ops.append(Op("ConstantOfShape", (sizes,), (ones,), {"value": np.ones(1, seed.type.dtype)}))
    return ones
