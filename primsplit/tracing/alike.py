"""Which values of a recording are the same, by the way they were made."""

from collections.abc import Hashable, Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ops.schema import schema


class Alike:
    """The first of the values of a recording that the same operators made of the same values.

    It is asked with the recording's ops and reads those that came since; what was forgotten in between, it forgets.
    """

    def __init__(self) -> None:
        self._forget(())

    def _forget(self, ops: Sequence[Op]) -> None:
        self._ops = ops
        self._count = 0
        self._first: dict[Hashable, Var] = {}
        self._stands_for: dict[Var, Var] = {}

    def made_by(self, ops: Sequence[Op], kind: str, value: Value) -> Var | None:
        """The output of the first op of this kind, without attributes, of this value or of one that is the same."""
        self._read(ops)
        return self._first.get((kind, (), (self._named(value),)))

    def _read(self, ops: Sequence[Op]) -> None:
        if ops is not self._ops or len(ops) < self._count:
            self._forget(ops)
        for done in ops[self._count :]:
            if _is_a_function(done):
                told = tuple(sorted((n, repr(v)) for n, v in done.attributes.items()))
                output = done.outputs[0]
                first = self._first.setdefault((done.kind, told, tuple(map(self._named, done.inputs))), output)
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
    """True for an op of one output that is the same whenever its inputs and attributes are."""
    return (
        len(op.outputs) == 1
        and "::" not in op.kind
        and schema(op.kind).deterministic
        and not any(isinstance(v, Block | np.ndarray) for v in op.attributes.values())
    )
