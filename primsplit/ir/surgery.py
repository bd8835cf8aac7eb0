"""Edit programs: insert ops, replace one by several, delete one.

Blocks are immutable, and Vars are known by identity: each function returns a new Block in which every other op is the
same object, or reads the same Vars. The edited op may be in the block or in any of its sub-blocks, but not in the body
of a call. `rebind` maps a Var that is no longer defined to the Value that is read instead, which must provably have the
same type and be defined before the reads.

```
a = Exp(x)      replace(block, exp, [op of c = Sqrt(x)], {a: c})       c = Sqrt(x)
b = Neg(a)                              ->                             b = Neg(c)
```
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from primsplit.ir import Block, Op, Value, Var, check, free, is_call, renamed, same_types
from primsplit.ir.errors import PrimsplitError

Rebinding = Mapping[Var, Value]
Edit = Callable[[Op], Sequence[Op]]


def insert_before(block: Block, op: Op, new: Sequence[Op]) -> Block:
    """Return the block with `new` before `op`. Raises PrimsplitError if it lacks `op`, or the result is no program."""
    return _edited(block, op, lambda found: (*new, found), {})


def insert_after(block: Block, op: Op, new: Sequence[Op]) -> Block:
    """Return the block with `new` after `op`."""
    return _edited(block, op, lambda found: (found, *new), {})


def replace(block: Block, op: Op, new: Sequence[Op], rebind: Rebinding | None = None) -> Block:
    """Return the block with `new` in the place of `op`.

    Reads of an output of `op` that `new` does not define are rebound by `rebind`.
    """
    return _edited(block, op, lambda _: tuple(new), rebind or {})


def delete(block: Block, op: Op, rebind: Rebinding | None = None) -> Block:
    """Return the block without `op`; reads of its outputs are rebound by `rebind`."""
    return _edited(block, op, lambda _: (), rebind or {})


def rebind(block: Block, values: Rebinding) -> Block:
    """Return the block with every read of these Vars, in sub-blocks too, replaced; the ops that define them stay."""
    for var, value in values.items():
        if not same_types(var.type, value.type):
            raise PrimsplitError(f"{value.type} cannot be read in the place of {var.type}")
    return _rebound(block, values)


def _edited(block: Block, op: Op, edit: Edit, values: Rebinding) -> Block:
    found = _spliced(block, op, edit)
    if found is None:
        raise PrimsplitError(f"this {op.kind} is not in {block.name or 'the program'}", place=op.place)
    result = rebind(found, values)
    _check_reads(block, result, op)
    check(result, closed=False)
    return result


def _spliced(block: Block, op: Op, edit: Edit) -> Block | None:
    """Return the block with `edit(op)` in the place of the op; None if the op is not in it."""
    for position, found in enumerate(block.ops):
        inner = edit(found) if found is op else _inside(found, op, edit)
        if inner is not None:
            ops = (*block.ops[:position], *inner, *block.ops[position + 1 :])
            return Block(block.name, block.params, ops, block.results)
    return None


def _inside(outer: Op, op: Op, edit: Edit) -> Sequence[Op] | None:
    if is_call(outer):
        return None
    for name, value in outer.attributes.items():
        inner = _spliced(value, op, edit) if isinstance(value, Block) else None
        if inner is not None:
            return (dataclasses.replace(outer, attributes={**outer.attributes, name: inner}),)
    return None


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


def _check_reads(before: Block, after: Block, op: Op) -> None:
    """Raise PrimsplitError if a Var is read that is no longer defined, or not yet."""
    unknown = set(free(after)) - set(free(before))
    lost = [v for v in op.outputs if v in unknown]
    if lost:
        raise PrimsplitError(
            f"{lost[0]} is still read, and {op.kind}, which defined it, is gone",
            place=op.place,
            cure="Say in rebind what is read in its place.",
        )
    if unknown:
        raise PrimsplitError(f"{unknown.pop()} is read before it is defined", place=op.place)
