"""A block's ops with other Vars: renamed, copied, or inlined where the block is called."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from primsplit.ir.blocks import Block, Op, free
from primsplit.ir.dims import Dim, substitute
from primsplit.ir.errors import Place
from primsplit.ir.values import Value, Var

Renaming = dict[Var, Value]

MaybeValue = TypeVar("MaybeValue", Value, Value | None)


NOWHERE = Place("", 0, "")
"""The place of an op that a rule records: it takes the place of the op that the rule is run for."""


def renamed(value: MaybeValue, renaming: Mapping[Var, Value]) -> MaybeValue:
    """What is read in the place of a value; the value itself where the renaming does not tell."""
    return renaming.get(value, value) if isinstance(value, Var) else value


def rename(
    op: Op,
    renaming: Renaming,
    *,
    remark: str = "",
    place: Place | None = None,
    sizes: Mapping[str, Dim] = MappingProxyType({}),
) -> Op:
    """A copy of the op that reads through the renaming and defines fresh Vars, which it adds to the renaming.

    `sizes` replaces symbols in the types of the fresh Vars.
    """
    inputs = tuple([renamed(v, renaming) for v in op.inputs])
    outputs = []
    for var in op.outputs:
        chosen = renaming.get(var)
        if not isinstance(chosen, Var):
            chosen = renaming[var] = _copy(var, sizes)
        outputs.append(chosen)
    attributes = op.attributes
    if op.blocks():
        # Of all that is renamed, a block takes what it captures alone: a copy for each block would be quadratic.
        captured = {v: renaming[v] for inner in op.blocks() for v in free(inner) if v in renaming}
        attributes = {
            name: rename_block(value, captured, sizes, place) if isinstance(value, Block) else value
            for name, value in attributes.items()
        }
    known = op.place is not None and op.place is not NOWHERE
    return Op(op.kind, inputs, tuple(outputs), attributes, op.place if known else place, op.remark or remark)


def _copy(var: Var, sizes: Mapping[str, Dim]) -> Var:
    if not sizes:
        return Var(var.type, var.hint, var.sizes)
    known = None if var.sizes is None else tuple(substitute(d, sizes) for d in var.sizes)
    return Var(var.type.substitute(sizes), var.hint, known)


def rename_block(
    block: Block, renaming: Renaming, sizes: Mapping[str, Dim] = MappingProxyType({}), place: Place | None = None
) -> Block:
    """A copy of the block with fresh Vars, its captures read through the renaming; ops that have no place get one."""
    inner = dict(renaming)
    params = tuple(_copy(p, sizes) for p in block.params)
    inner.update(zip(block.params, params, strict=True))
    ops = tuple(rename(op, inner, place=place, sizes=sizes) for op in block.ops)
    return Block(block.name, params, ops, tuple(renamed(r, inner) for r in block.results))


def inline(
    block: Block, arguments: Sequence[Value], into: list[Op], sizes: Mapping[str, Dim] = MappingProxyType({})
) -> list[Value]:
    """Append the block's ops, called on `arguments`, to `into`; return its results there."""
    renaming: Renaming = dict(zip(block.params, arguments, strict=True))
    into.extend(rename(op, renaming, sizes=sizes) for op in block.ops)
    return [renamed(r, renaming) for r in block.results]
