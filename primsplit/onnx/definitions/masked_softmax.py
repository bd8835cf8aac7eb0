"""Give a softmax with fully masked rows, as exporters write it, a derivative that is not NaN.

```
Where(masked, 0, Softmax(x))   ->   call::primsplit::MaskedSoftmax(x, masked)
```

A row of scores that are all -inf has a softmax of NaN. Attention's definition in the standard, and torch's exporter,
put zeros there. The value is then a number, and so is its derivative, 0; by the rules of the two operators it would be
0 * NaN. `with_masked_rows` finds the pair.
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Value, Var, same_types, walk
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to


def masked_softmax(x: Array, masked: Array, *, outputs: int = 1, axis: int = -1) -> Array:
    """Return the softmax of x along an axis, 0 in the rows that are masked: bool, the same along the whole row."""
    return op.Where(masked, np.zeros((), x.dtype), op.Softmax(x, axis=axis))


def _rule(x: Array, masked: Array, *, outputs: int, axis: int) -> tuple[Array, Any]:
    """y (dy - sum(y dy)), as for Softmax, from values that are 0 in the masked rows."""
    y = Array(record_call("primsplit::MaskedSoftmax", [x.value, masked.value], {"axis": axis})[0])

    def pullback(dy: Array) -> tuple[Array, None]:
        return y * (dy - op.ReduceSum(y * dy, [axis], keepdims=1)), None

    return y, pullback


defines("primsplit::MaskedSoftmax", rule=_rule)(masked_softmax)


def with_masked_rows(block: Block) -> Block:
    """Return the block with a masked softmax wherever it writes zeros into rows of one.

    Itself if it does so nowhere.
    """
    kinds = {step.kind for step in walk(block)}
    return _Masking().run(block) if {"Where", "Softmax"} <= kinds else block


class _Masking(Rewriter):
    """A walk that knows the op that defines each Var."""

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[Var, Op] = {}

    def visit(self, op: Op) -> Op | None:
        self.origins.update((v, op) for v in op.outputs)
        found = self.softmax_of(op) if op.kind == "Where" else None
        made = None if found is None else self.masked(op, found)
        if made is None or not self.replace(op.outputs[0], made):
            return super().visit(op)
        return None

    def origin(self, value: Value | None, kind: str) -> Op | None:
        """Return the op that defines a value, if it is of this kind."""
        found = self.origins.get(value) if isinstance(value, Var) else None
        return found if found is not None and found.kind == kind else None

    def before_casts(self, value: Value | None) -> Value | None:
        """Return the value before its casts."""
        while cast := self.origin(value, "Cast") or self.origin(value, "CastLike"):
            value = cast.inputs[0]
        return value

    def is_zero(self, value: Value | None) -> bool:
        """Whether it is a short constant of zeros."""
        value = self.before_casts(value)
        return isinstance(value, Const) and value.is_small and not np.any(value.numpy())

    def softmax_of(self, step: Op) -> Op | None:
        """Return the Softmax that a Where reads, perhaps in another dtype, and whose rows it sets to zero."""
        masked, zero, shares = step.inputs
        if masked is None or not self.is_zero(zero):
            return None
        softmax = self.origin(self.before_casts(shares), "Softmax")
        if softmax is None or shares is None or not same_types(step.outputs[0].type, shares.type):
            return None
        is_nan = self.origin(masked, "IsNaN")
        told = {*softmax.outputs, shares}
        return softmax if (is_nan and is_nan.inputs[0] in told) or _is_of_rows(masked, softmax) else None

    def masked(self, step: Op, softmax: Op) -> Value:
        """Return the replacement of a Where."""
        x, mask = softmax.inputs[0], step.inputs[0]
        axis = softmax.attributes.get("axis", -1)
        dtype = step.outputs[0].type.dtype
        with tracing.fresh_stack(), tracing.recording(place=step.place) as recorded:
            for known in (x, mask):
                if isinstance(known, Var):
                    recorded.learn(known)
            (made,) = record_call("primsplit::MaskedSoftmax", [x, mask], {"axis": axis})
            result: Value = cast_to(Array(made), dtype).value
        self.kept.extend(recorded.ops)
        return result


def _is_of_rows(masked: Value, softmax: Op) -> bool:
    """Whether a mask is known to be the same along the axis of the softmax."""
    rank, shape = softmax.outputs[0].type.rank, masked.type.shape
    if rank is None or shape is None or len(shape) > rank:
        return False
    place = softmax.attributes.get("axis", -1) % rank - (rank - len(shape))
    return place < 0 or bool(shape[place] == 1)
