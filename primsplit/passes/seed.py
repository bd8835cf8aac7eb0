"""A scalar loss needs no cotangent from outside: it is 1."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Renaming, Var, rename


def with_unit_seed(block: Block, seeds: Sequence[Var]) -> Block:
    """The block with these scalar parameters replaced by the constant 1."""
    renaming: Renaming = {s: Const(np.ones((), s.type.dtype)) for s in seeds}
    ops = []
    for op in block.ops:
        touched = any(isinstance(v, Var) and v in renaming for v in op.inputs) or any(op.blocks())
        if touched:
            renaming.update({v: v for v in op.outputs})
            op = rename(op, renaming)
        ops.append(op)
    results = tuple(renaming.get(r, r) if isinstance(r, Var) else r for r in block.results)
    return Block(block.name, tuple(p for p in block.params if p not in seeds), tuple(ops), results)
