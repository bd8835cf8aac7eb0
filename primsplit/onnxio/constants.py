"""Nodes whose values are taken for constants, since the caller said so: no derivative goes through them."""

from collections.abc import Iterable

import onnx

from primsplit.array import Array
from primsplit.calls.primitive import stop_gradient
from primsplit.errors import SpecError
from primsplit.ir import Const, Var
from primsplit.onnxio.sequences import Entry


class Constants:
    """The names of such nodes, or of their operators, with the domain before them or without."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self.met: set[str] = set()

    def holds(self, node: onnx.NodeProto) -> bool:
        """True for a node of these."""
        found = self.names & {node.name, node.op_type, f"{node.domain}::{node.op_type}"}
        self.met |= found
        return bool(found)

    def check(self, path: str) -> None:
        """Raise SpecError for a name that no node of the model has."""
        for name in sorted(self.names - self.met):
            raise SpecError(f"{path} has no node and no operator {name}, which is to be taken for a constant")


def stopped(value: Entry) -> Entry:
    """The value, without a derivative where it is an array of floats."""
    return stop_gradient(Array(value)).value if isinstance(value, Var | Const) and value.type.is_float else value
