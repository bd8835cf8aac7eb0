"""Recompute an operand of a pullback's matrix product if it takes a pass or two over an array that is kept anyway.

```
h = Max(x, 0);  ...;  dw = Gemm(g, h)   ->   h = Max(x, 0);  ...;  k = Max(0, x);  dw = Gemm(g, k)
```

The pullback of max(x, 0) reads x itself, and the gradient of the weights behind it reads max(x, 0). Another such
operand is a layer norm's result: the standardized array times a row plus another row. Both would stay in memory until
then, for every layer; beside a product the passes are cheap.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, reads, renamed
from primsplit.ir.analysis.orders import ops_of_values
from primsplit.ops.traits import kinds_where, traits
from primsplit.rewrites.recompute import VIEWS

CHEAP = kinds_where(lambda t: t.commutative and t.terms) | {"Max", "Min"}
"""Operators whose operands may be swapped: so written, onnxruntime does not recognize the earlier value."""
SMALL = 2**16
"""Up to so many bytes a value is kept."""
PASSES = 2
"""The most passes over a kept array that recompute an operand."""


def products_read_again(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block in which late products recompute such operands from a kept array and something small.

    `gradients` are the positions of the results that are not the value. The block itself if nothing is gained: if
    nothing else reads the array so late, or if another op than a product reads the operand.
    """
    primal = ops_of_values(block, gradients)
    early = set(map(id, primal))
    late = [op for op in block.ops if id(op) not in early]
    kept = {*block.params, *(v for op in late for v in reads(op))}
    bound = _only_for_products(late, block.results)
    made_by = {op.outputs[0]: op for op in primal}
    again: dict[Var, list[Op]] = {}
    for op in primal:
        found = _swapped(op, kept, made_by, PASSES) if bound.get(op.outputs[0]) else None
        if found is not None:
            again[op.outputs[0]] = found
    if not again:
        return block
    instead = {made: found[-1].outputs[0] for made, found in again.items()}
    ops: list[Op] = []
    for op in block.ops:
        ops.append(op if id(op) in early else _reading(op, instead))
        ops.extend(again.get(op.outputs[0], ()))
    return Block(block.name, block.params, tuple(ops), block.results)


def _only_for_products(late: Sequence[Op], results: Iterable[Value]) -> dict[Var, bool]:
    """Return which Vars that these ops read are read by products alone, or by views that products read."""
    found = {r: False for r in results if isinstance(r, Var)}
    for op in reversed(late):
        is_bound = traits(op.kind).contracts or (op.kind in VIEWS and found.get(op.outputs[0], False))
        for var in reads(op):
            found[var] = is_bound and found.get(var, True)
    return found


def _swapped(op: Op, kept: set[Var], made_by: Mapping[Var, Op], passes: int) -> list[Op] | None:
    """Return ops that recompute the op's result as a new Var from a kept array, with their operands swapped.

    None if that takes more passes, or if the result is small.
    """
    if op.kind not in CHEAP or len(op.inputs) != 2 or op.outputs[0].type.takes_at_most(SMALL):
        return None
    first, second = op.inputs
    for array, other in ((first, second), (second, first)):
        if not isinstance(array, Var) or not _is_at_hand(other, kept):
            continue
        before: list[Op] | None = []
        if array not in kept:
            before = _swapped(made_by[array], kept, made_by, passes - 1) if passes > 1 and array in made_by else None
        if before is not None:
            inputs = tuple(before[-1].outputs[0] if before and v is array else v for v in (second, first))
            result = Var(op.outputs[0].type, op.outputs[0].hint)
            return [*before, replace(op, inputs=inputs, outputs=(result,))]
    return None


def _is_at_hand(value: Value | None, kept: set[Var]) -> bool:
    """Whether it is a scalar, or something small that is kept."""
    if not isinstance(value, Var):
        return value is not None and value.type.shape == ()
    return value in kept and value.type.takes_at_most(SMALL)


def _reading(op: Op, instead: Mapping[Var, Var]) -> Op:
    """Return the op, reading recomputed values in place of the others."""
    if not any(v in instead for v in op.inputs):
        return op
    return replace(op, inputs=tuple(renamed(v, instead) for v in op.inputs))
