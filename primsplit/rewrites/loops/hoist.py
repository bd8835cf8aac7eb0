"""Hoist loop-invariant code: move ops of a body that read nothing of the iteration in front of the loop.

```
Scan(xs) body(x): y = Add(x, Exp(w))   ->   e = Exp(w);  Scan(xs) body(x): y = Add(x, e)
```
"""

from collections.abc import Iterable, Sequence

from primsplit import tracing
from primsplit.ir import Block, Op, Var, is_call, reads
from primsplit.rewrites.cse import Merging, is_deterministic
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.hooks import HOOKS


def hoist(ops: Sequence[Op], params: Iterable[Var]) -> tuple[list[Op], list[Op]]:
    """Return the ops that depend on none of the body's parameters, and the others. Random ops stay where they are."""
    varying = set(params)
    outside: list[Op] = []
    inside: list[Op] = []
    for op in ops:
        if any(v in varying for v in reads(op)) or not is_movable(op):
            varying.update(op.outputs)
            inside.append(op)
        else:
            outside.append(op)
    return outside, inside


def without_invariants(body: Block) -> Block:
    """Return the body without its invariant ops, which are recorded in front of the loop, each value once.

    A derivative sums over the steps for each value that a step reads from there, so that two of the same cost double.
    """
    before, inside = hoist(body.ops, body.params)
    merging, reading = Merging(), Rewriter()
    for op in merging.run(Block(body.name, (), tuple(before), ())).ops:
        tracing.append(op)
    reading.replaced = merging.replaced
    return reading.run(Block(body.name, body.params, tuple(inside), body.results))


HOOKS.without_invariants = without_invariants


def is_movable(op: Op) -> bool:
    """Whether the op returns the same whenever it runs."""
    if is_call(op) or any(op.blocks()):
        return all(is_movable(inner) for block in op.blocks() for inner in block.ops)
    return is_deterministic(op.kind)
