"""A path that ends in an error: values whose computation fails when the program is run, at the line that raised."""

from collections.abc import Iterable, Sequence

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.errors import Place
from primsplit.ir import Block, Op, Type, Value, Var, walk
from primsplit.nested import record
from primsplit.ops import op

RAISES = "call::raises"
OTHER_WAY = "raises BranchError: a branch goes another way than for the arrays that this was recorded for"
"""What the failing node of a path says that was not recorded."""


def raise_at_run_time(condition: Value, types: Sequence[Type], place: Place | None, told: str) -> list[Value]:
    """Values of these types which no run gets to see. `told` is what the failing node says of the reason.

    The standard has no operator that fails, so an element is read beyond the end of an array. That the index comes
    from the condition, a bool, keeps optimizers from reading it before the run.
    """

    def body(given: Array) -> list[Value]:
        into = tracing.current()
        into.place, into.remark = place, told
        beyond = op.Add(op.Cast(given, to=np.int64), 2)
        return [_beyond(beyond, t) for t in types]

    block = record("raises", [condition.type], body)
    outputs = tuple(Var(t) for t in types)
    tracing.append(Op(RAISES, (condition,), outputs, {"body": block}, place, told))
    return list(outputs)


def _beyond(index: Array, type: Type) -> Value:
    missing = op.Gather(tracing.constant(np.zeros(1, type.dtype)), index)
    if not type.shape:
        return missing.value
    # The sizes are never read: what is expanded fails before.
    sizes = op.Expand(op.Reshape(index, [1]), [len(type.shape)])
    return op.Expand(missing, sizes, types=[type]).value


def raising_op(ops: Iterable[Op]) -> Op | None:
    """The op that ends a path in an error, where one does."""
    return next((op for op in ops if op.kind == RAISES), None)


def is_settled(block: Block) -> bool:
    """True for a block with a branch that was recorded one way only, as the arrays at hand took it."""
    return any(op.kind == RAISES and op.remark == OTHER_WAY for op in walk(block))
