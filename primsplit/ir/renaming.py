"""Copy ops with other Vars: rename a block, or inline it where it is called.

```
g(p):                                  a = Neg(y)
  q = Neg(p)      inlined at g(y):     b = Exp(a)    # the result of the call
  r = Exp(q)
  return r
```
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from primsplit.ir.blocks import Block, Op, free, reads
from primsplit.ir.dims import Dim, substitute
from primsplit.ir.errors import Place
from primsplit.ir.values import Value, Var

Renaming = dict[Var, Value]

MaybeValue = TypeVar("MaybeValue", Value, Value | None)


NOWHERE = Place("", 0, "")
"""The place of an op that a rule records; it is replaced by the place of the op that the rule is run for."""


def renamed(value: MaybeValue, renaming: Mapping[Var, Value]) -> MaybeValue:
    """Return what replaces a value; the value itself if the renaming lacks it."""
    return renaming.get(value, value) if isinstance(value, Var) else value


def rename(
    op: Op,
    renaming: Renaming,
    *,
    remark: str = "",
    place: Place | None = None,
    sizes: Mapping[str, Dim] = MappingProxyType({}),
) -> Op:
    """Return a copy of the op that reads through the renaming and defines fresh Vars, which are added to the renaming.

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
    known = op.place if op.place is not None and op.place is not NOWHERE else place
    if op.blocks():
        # Of all that is renamed, a block takes what it captures alone: a copy for each block would be quadratic.
        captured = {v: renaming[v] for inner in op.blocks() for v in free(inner) if v in renaming}
        attributes = {
            name: rename_block(value, captured, sizes, known) if isinstance(value, Block) else value
            for name, value in attributes.items()
        }
    return Op(op.kind, inputs, tuple(outputs), attributes, known, op.remark or remark)


def rename_reads(op: Op, renaming: Mapping[Var, Value]) -> Op:
    """Return the op with the same outputs, which reads through the renaming, also in its sub-blocks."""
    if not any(v in renaming for v in reads(op)):
        return op
    return rename(op, {**renaming, **{v: v for v in op.outputs}})


def _copy(var: Var, sizes: Mapping[str, Dim]) -> Var:
    if not sizes:
        return Var(var.type, var.hint, var.sizes)
    known = None if var.sizes is None else tuple(substitute(d, sizes) for d in var.sizes)
    return Var(var.type.substitute(sizes), var.hint, known)


def rename_block(
    block: Block, renaming: Renaming, sizes: Mapping[str, Dim] = MappingProxyType({}), place: Place | None = None
) -> Block:
    """Return a copy of the block with fresh Vars and renamed captures; ops without a place get `place`."""
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
