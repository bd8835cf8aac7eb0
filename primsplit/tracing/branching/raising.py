"""Record a path that ends in an error as values whose computation fails in the run, at the line that raised.

```
if x < 0: raise ValueError("x")        c = Less(x, 0)
return np.sqrt(x)                  ->   If(c): then call::raises(c)   # raises ValueError: x
                                               else Sqrt(x)
```
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Type, Value, Var, walk
from primsplit.ir.analysis.orders import role_of
from primsplit.ir.errors import Place, TraceError
from primsplit.ir.reasons import Reason
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.regions import record

RAISES = "call::raises"
CHECK = "call::check"
"""An op that returns an array, or an int64 0, if its condition holds nowhere; otherwise the run fails."""


def raise_at_run_time(condition: Value, types: Sequence[Type], place: Place | None, told: str) -> list[Value]:
    """Return values of these types whose computation fails; `told` is the remark of the failing node.

    The standard has no operator that fails, so an element is read beyond the end of an array. The index comes from the
    condition, a bool, which keeps optimizers from reading it before the run.
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
    """Return an int64 0 without axes; a run in which an element of `wrong` is True fails with this error.

    `wrong` is a bool array of any shape. If the user's function catches such an error, it is raised on a path of its
    own. If the elements are known, it is raised at once.
    """
    if _never(wrong, error):
        return Array(tracing.constant(np.zeros((), np.int64)))
    return _check(_zero, [wrong], Type(np.int64, ()), error)


def checked(x: Array, wrong: Array, error: Exception, *, is_pythons: bool = True) -> Array:
    """Return `x` bit for bit.

    A run in which an element of `wrong` is True fails with this error, as in `zero_unless`. An error that Python would
    not raise there, which is not `is_pythons`, is none that the function catches.
    """
    return x if _never(wrong, error, is_pythons=is_pythons) else _check(_unchanged, [x, wrong], x.type, error)


HOOKS.checked = checked


def checked_array(made: Op) -> Value | None:
    """Return the array that a check passes on; None for any other op."""
    return made.inputs[0] if made.kind == CHECK and len(made.inputs) == 2 else None


def _never(wrong: Array, error: Exception, *, is_pythons: bool = True) -> bool:
    """Whether no element is known to be True. Raises the error if one is, or on a path of its own."""
    known = wrong.known()
    if known is not None:
        if known.any():
            raise error if is_pythons else TraceError(str(error), place=tracing.user_place())
        return True
    if is_pythons and tracing.is_caught(type(error)) and bool(Array(_count(wrong).value) > 0):
        raise error
    return False


def _check(body: Callable[..., Array], inputs: Sequence[Array], made: Type, error: Exception) -> Array:
    """Record a check as one op, whose body has the remark and place that a failing run reports."""
    into = tracing.current()
    place, remark = into.place or tracing.user_place(), Reason.of(error)

    def recorded(*given: Array) -> list[Value]:
        inner = tracing.current()
        inner.place, inner.remark = place, remark
        return [body(*given).value]

    block = record("check", [x.type for x in inputs], recorded)
    result = Var(made)
    tracing.append(Op(CHECK, tuple(x.value for x in inputs), (result,), {"body": block}, place, remark))
    return Array(result)


def _zero(wrong: Array) -> Array:
    # The standard has no operator that fails: an element is read beyond the end of an array.
    zero: Array = op.Gather(tracing.constant(np.zeros(1, np.int64)), _count(wrong))
    return zero


def _unchanged(x: Array, wrong: Array) -> Array:
    zero = _zero(wrong)
    if x.dtype == np.bool_:
        same: Array = op.Xor(x, op.Cast(zero, to=np.bool_))
        return same
    # Subtracting 0 keeps the sign of a zero, which adding it does not.
    return op.Sub(x, op.Cast(zero, to=x.dtype), types=[x.type])


def _count(answers: Array) -> Array:
    """Return how many of the answers are True."""
    numbers: Array = op.Cast(answers, to=np.int64)
    return op.ReduceSum(numbers, keepdims=0) if answers.type.shape != () else numbers


MAY_RAISE = frozenset({RAISES, CHECK, "Gather"})
"""The kinds among which `may_raise` finds ops."""


def may_raise(op: Op) -> bool:
    """Whether the op stands for an error of the function, or is the node of a check that was inlined."""
    return op.kind in {RAISES, CHECK} or (op.kind == "Gather" and isinstance(op.remark, Reason))


def raising_op(ops: Iterable[Op]) -> Op | None:
    """Return the op that ends a path in an error, if one does."""
    return next((op for op in ops if op.kind == RAISES), None)


def is_settled(block: Block) -> bool:
    """Whether the block has a branch of which only the way of the arrays at hand was recorded."""
    return any(op.kind == RAISES and role_of(op.remark) == "another way" for op in walk(block))
