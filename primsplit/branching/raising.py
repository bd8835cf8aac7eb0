"""A path that ends in an error: values whose computation fails when the program is run, at the line that raised."""

from collections.abc import Iterable, Sequence

import numpy as np

from primsplit import tracing
from primsplit.array import Array, implements
from primsplit.errors import Place
from primsplit.ir import Block, Op, Type, Value, Var, walk
from primsplit.nested import record
from primsplit.ops import op
from primsplit.reasons import Reason

RAISES = "call::raises"
CHECK = "call::check"
"""An op that gives an int64 0 where its condition holds nowhere; elsewhere the run fails."""
FAILING = frozenset({RAISES, CHECK})
"""Ops that fail in some runs. Their remark names the error."""
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


def zero_unless(wrong: Array, error: Exception) -> Array:
    """An int64 0 without axes; a run in which an element of `wrong` is True fails with this error.

    `wrong` is a bool array of any shape. Where the user's function catches such an error, it is raised on a path of its
    own. Where the elements are known, it is raised at once.
    """
    known = wrong.known()
    if known is not None:
        if known.any():
            raise error
        return Array(tracing.constant(np.zeros((), np.int64)))
    if tracing.is_caught(type(error)) and bool(Array(_count(wrong).value) > 0):
        raise error
    into = tracing.current()
    remark = Reason.of(error)

    def body(given: Array) -> list[Value]:
        inner = tracing.current()
        inner.place, inner.remark = place, remark
        # The standard has no operator that fails: an element is read beyond the end of an array.
        return [op.Gather(tracing.constant(np.zeros(1, np.int64)), _count(given)).value]

    place = into.place or tracing.user_place()
    block = record("check", [wrong.type], body)
    zero = Var(Type(np.int64, ()))
    tracing.append(Op(CHECK, (wrong.value,), (zero,), {"body": block}, place, remark))
    return Array(zero)


def _count(answers: Array) -> Array:
    """How many of the answers are True."""
    numbers: Array = op.Cast(answers, to=np.int64)
    return op.ReduceSum(numbers, keepdims=0) if answers.type.shape != () else numbers


@implements("checked")
def checked(x: Array, wrong: Array, error: Exception) -> Array:
    """`x` bit for bit; a run in which an element of `wrong` is True fails with this error."""
    if (zero := zero_unless(wrong, error)).known() is not None:
        return x
    if x.dtype == np.bool_:
        return op.Xor(x, op.Cast(zero, to=np.bool_))
    # Subtracting 0 keeps the sign of a zero, which adding it does not.
    return op.Sub(x, op.Cast(zero, to=x.dtype), types=[x.type])


def raising_op(ops: Iterable[Op]) -> Op | None:
    """The op that ends a path in an error, where one does."""
    return next((op for op in ops if op.kind == RAISES), None)


def is_settled(block: Block) -> bool:
    """True for a block with a branch that was recorded one way only, as the arrays at hand took it."""
    return any(op.kind == RAISES and op.remark == OTHER_WAY for op in walk(block))
