"""Take nodes for constants, by the caller's choice: no derivative goes through them."""

from collections.abc import Iterable, Sequence

import onnx

from primsplit.ir import Value
from primsplit.ir.errors import SpecError
from primsplit.onnx.sequences.forms import Entry, leaves, rebuilt
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import stop_gradient


class Constants:
    """The names of such nodes, or of their operators, with or without their domain."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self.met: set[str] = set()

    def holds(self, node: onnx.NodeProto) -> bool:
        """Whether a node is one of these."""
        return self.holds_one_of(node.name, node.op_type, f"{node.domain}::{node.op_type}")

    def holds_one_of(self, *names: str) -> bool:
        """Whether one of the names was said to be a constant."""
        found = self.names.intersection(names)
        self.met |= found
        return bool(found)

    def check(self, path: str) -> None:
        """Raise SpecError for a name that no node of the model has."""
        for name in sorted(self.names - self.met):
            raise SpecError(f"{path} has no node and no operator {name}, which is to be taken for a constant")


def stopped(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries with no derivative through their floating-point tensors."""
    return tuple(rebuilt(entries, map(_stopped, leaves(entries))))


def _stopped(value: Value) -> Value:
    return stop_gradient(Array(value)).value if value.type.is_float else value
