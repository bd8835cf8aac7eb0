"""Find values of a recording that are equal because the same operators computed them from the same values."""

from collections.abc import Hashable, Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ops.schema import schema


class Alike:
    """For each value of a recording, the first one that the same operators computed from the same values.

    It is called with the recording's ops, and reads those that are new; if the recording was reset, it starts again.
    """

    def __init__(self) -> None:
        self._forget(())

    def _forget(self, ops: Sequence[Op]) -> None:
        self._ops = ops
        self._count = 0
        self._first: dict[Hashable, Var] = {}
        self._stands_for: dict[Var, Var] = {}

    def made_by(self, ops: Sequence[Op], kind: str, value: Value) -> Var | None:
        """Return the output of the first op of this kind, without attributes, of this value or an equal one."""
        self._read(ops)
        return self._first.get((kind, (), (self._named(value),)))

    def _read(self, ops: Sequence[Op]) -> None:
        if ops is not self._ops or len(ops) < self._count:
            self._forget(ops)
        for op in ops[self._count :]:
            if _is_a_function(op):
                attributes = tuple(sorted((n, repr(v)) for n, v in op.attributes.items()))
                output = op.outputs[0]
                first = self._first.setdefault((op.kind, attributes, tuple(map(self._named, op.inputs))), output)
                if first is not output:
                    self._stands_for[output] = first
        self._count = len(ops)

    def _named(self, value: Value | None) -> Hashable:
        if isinstance(value, Var):
            return self._stands_for.get(value, value)
        if isinstance(value, Const) and value.is_small:
            return value.type.dtype.name, value.type.shape, value.numpy().tobytes()
        return value


def _is_a_function(op: Op) -> bool:
    """Whether the op has one output, which depends on its inputs and attributes alone."""
    return (
        len(op.outputs) == 1
        and "::" not in op.kind
        and schema(op.kind).deterministic
        and not any(isinstance(v, Block | np.ndarray) for v in op.attributes.values())
    )
