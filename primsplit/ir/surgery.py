"""Rebind the reads of a program: `rebind` maps Vars to the Values that are read instead.

Blocks are immutable, and Vars are known by identity: the new Block has the same objects for ops that read none of the
Vars. Reads in sub-blocks are rebound too, but not in the bodies of calls. A Value must have the same type as the Var,
and be defined before the reads.

```
a = Exp(x)      rebind(block, {a: c})       a = Exp(x)
b = Neg(a)               ->                 b = Neg(c)
```
"""

import dataclasses
from collections.abc import Mapping

from primsplit.ir import Block, Op, Value, Var, is_call, renamed, same_types
from primsplit.ir.errors import PrimsplitError

Rebinding = Mapping[Var, Value]


def rebind(block: Block, values: Rebinding) -> Block:
    """Return the block with every read of these Vars, in sub-blocks too, replaced; the ops that define them stay."""
    for var, value in values.items():
        if not same_types(var.type, value.type):
            raise PrimsplitError(f"{value.type} cannot be read in the place of {var.type}")
    return _rebound(block, values)


def _rebound(block: Block, values: Rebinding) -> Block:
    ops = tuple(_reading(op, values) for op in block.ops)
    return Block(block.name, block.params, ops, tuple(renamed(r, values) for r in block.results))


def _reading(op: Op, values: Rebinding) -> Op:
    """Return the op with its reads rebound; the same object if nothing changes."""
    inputs = tuple(renamed(v, values) for v in op.inputs)
    found = op if is_call(op) else op.with_blocks(lambda inner: _rebound(inner, values))
    if all(a is b for a, b in zip(inputs, op.inputs, strict=True)):
        return found
    return dataclasses.replace(found, inputs=inputs)
