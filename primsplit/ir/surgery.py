"""Surgery on programs: put ops in, replace one by several, take one out.

Blocks are immutable, and Vars are known by identity: each function returns a new Block in which every other op is
the same object, or reads the same Vars. The op that is named may be in the block or in any of its sub-blocks; bodies
of calls are programs of their own. `rebind` says which Value is read in the place of a Var that is not defined any
more. What the result reads must still be defined before, and a Var's substitute must provably have its type.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from primsplit.ir import Block, Op, Value, Var, check, free, is_call, renamed, same_types
from primsplit.ir.errors import PrimsplitError

Rebinding = Mapping[Var, Value]
Edit = Callable[[Op], Sequence[Op]]


def insert_before(block: Block, op: Op, new: Sequence[Op]) -> Block:
    """The block with `new` before `op`. Raises PrimsplitError where `op` is not in it, or the result is no program."""
    return _edited(block, op, lambda found: (*new, found), {})


def insert_after(block: Block, op: Op, new: Sequence[Op]) -> Block:
    """The block with `new` after `op`."""
    return _edited(block, op, lambda found: (found, *new), {})


def replace(block: Block, op: Op, new: Sequence[Op], rebind: Rebinding | None = None) -> Block:
    """The block with `new` in the place of `op`.

    An output of `op` that `new` does not define itself is read from where `rebind` says.
    """
    return _edited(block, op, lambda _: tuple(new), rebind or {})


def delete(block: Block, op: Op, rebind: Rebinding | None = None) -> Block:
    """The block without `op`, whose outputs are read from where `rebind` says, or by nobody."""
    return _edited(block, op, lambda _: (), rebind or {})


def rebind(block: Block, values: Rebinding) -> Block:
    """The block with every read of these Vars, in sub-blocks too, replaced; what defines them stays."""
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
    """The block with what `edit` makes of the op, None where it is not in here."""
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
    """The op, which reads through the rebinding; the same object where nothing changes."""
    inputs = tuple(renamed(v, values) for v in op.inputs)
    found = op if is_call(op) else op.with_blocks(lambda inner: _rebound(inner, values))
    if all(a is b for a, b in zip(inputs, op.inputs, strict=True)):
        return found
    return dataclasses.replace(found, inputs=inputs)


def _check_reads(before: Block, after: Block, op: Op) -> None:
    """Raise where a Var is read that nothing defines any more, or not yet."""
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
