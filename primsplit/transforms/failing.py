"""Make derivatives fail where their function fails, also if they do not depend on the failing part.

If the gradient's program needs nothing of what fails, the check would be dropped as dead code, and with it the
function's guarantee about its arguments. So the derivative adds the sum of an empty part of the results that need it.

```
f: check(x); y = x**2; z = c   ->   dx = Add(2 x dy, ReduceSum(Slice(z, [0], [0])))    # the empty sum is 0
```
"""

import functools
from collections.abc import Sequence

from primsplit.ir import Block, Op, Value, Var, live_ops, reads, walk
from primsplit.ir.errors import Place
from primsplit.ops import op as operators
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import may_raise


def failing_alike(
    derivatives: Sequence[Array],
    sources: Sequence[Value | None],
    linear: Sequence[Op],
    block: Block,
    results: Sequence[Value],
) -> list[Array]:
    """Return derivatives of a block's results by its parameters, which fail where the results do.

    `sources` are the results of the `linear` ops that they come from, None for zeros. `results` are the values of the
    block's results here.
    """
    failing = _failing(block)
    if not failing:
        return list(derivatives)
    found = []
    for derivative, source in zip(derivatives, sources, strict=True):
        errors_seen = set() if source is None else _errors(live_ops(linear, [source]))
        missed = {op for op, errors in failing.items() if not errors <= errors_seen}
        zeros = [_nothing_of(Array(results[i]), derivative) for i in _reached(block, missed)]
        found.append(functools.reduce(operators.Add, zeros, derivative))
    return found


Errors = set[tuple[Place | None, str]]


def _failing(block: Block) -> dict[Op, Errors]:
    """Return the ops that may fail, and how. A body that many calls share is read once."""
    known: dict[int, Errors] = {}
    failing: dict[Op, Errors] = {}
    for op in block.ops:
        if may_raise(op):
            failing[op] = _errors([op])
        for inner in op.blocks():
            if id(inner) not in known:
                known[id(inner)] = _errors(inner.ops)
            if known[id(inner)]:
                failing[op] = failing.get(op, set()) | known[id(inner)]
    return failing


def _errors(ops: Sequence[Op]) -> Errors:
    inner = [o for op in ops for block in op.blocks() for o in walk(block)]
    return {(op.place, op.remark) for op in (*ops, *inner) if may_raise(op)}


def _reached(block: Block, ops: set[Op]) -> list[int]:
    """Return the positions of the results that need one of these ops."""
    reached: set[Var] = set()
    for op in block.ops:
        if op in ops or any(v in reached for v in reads(op)):
            reached.update(op.outputs)
    return [i for i, r in enumerate(block.results) if isinstance(r, Var) and r in reached]


def _nothing_of(result: Array, derivative: Array) -> Array:
    """Return zero, as the sum over an empty part of the result."""
    flat = operators.Reshape(result, [-1])
    none = operators.Cast(operators.Slice(flat, [0], [0], [0]), to=derivative.dtype)
    zero: Array = operators.ReduceSum(none, keepdims=0)
    return zero
