"""Find conditions that a model computes from constants alone, so that one side of a choice always runs.

Conditions computed from shapes do not count: an exporter may know a size.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import onnx

from primsplit import tracing
from primsplit.ir import Block, Const, Value, Var, free, live_backwards, walk
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ir.errors import Place, PrimsplitError
from primsplit.ir.frozen_branches import FrozenBranch
from primsplit.ir.names import NamedBlock
from primsplit.onnx.known import known_number
from primsplit.onnx.versions import domain_of
from primsplit.rewrites.cse import is_deterministic
from primsplit.tracing import fresh_stack
from primsplit.tracing.hooks import HOOKS

CONDITIONS: Mapping[str, int] = {"If": 0, "Loop": 1, "Where": 0}
"""The input of a node that chooses what runs. No trait: the choices that this module freezes."""
RUNS = 16
"""The most conditions of a model that onnxruntime computes because constant folding cannot."""
LARGEST = 65536
"""The most bytes of a value that is read or computed for that."""


class FrozenChoices:
    """Learns, node by node in their order, which names are of constants alone, and finds choices by such names.

    A file may use a name again in another graph; the last meaning counts.
    """

    def __init__(self) -> None:
        self.fixed: set[str] = set()
        self._found: dict[tuple[str, str], FrozenBranch] = {}
        self._runs = RUNS

    @property
    def found(self) -> tuple[FrozenBranch, ...]:
        """The choices that are frozen, each once."""
        return tuple(self._found.values())

    def enter(self, inputs: Iterable[str], stored: Iterable[str]) -> None:
        """Learn the names of a graph's inputs and of the initializers that no input replaces."""
        self.fixed.difference_update(inputs)
        self.fixed.update(stored)

    def look(self, node: onnx.NodeProto, values: Mapping[str, object], place: Place) -> bool | None:
        """Note a node that chooses by constants alone, before it is recorded; return its condition, if it does."""
        position = CONDITIONS.get(node.op_type)
        if position is None or domain_of(node.domain) or len(node.input) <= position:
            return None
        name = node.input[position]
        condition = values.get(name) if name in self.fixed else None
        if not isinstance(condition, Var | Const) or not self._chooses(node, condition):
            return None
        value = self._value(condition)
        if value is not None and (runs := _runs(node.op_type, value=value)):
            called = node.name or next(filter(None, node.output), "")
            found = FrozenBranch(node.op_type, called, name, value, runs, place)
            self._found.setdefault((called, name), found)
        return value

    def learn(self, node: onnx.NodeProto, value: bool | None) -> None:
        """Learn whether the outputs of a recorded node are of constants alone; `value` is the result of `look`."""
        graphs = {a.name: a.g for a in node.attribute if a.HasField("g")}
        if node.op_type == "If" and value is not None:
            taken = graphs["then_branch" if value else "else_branch"]
            are_fixed = [v.name in self.fixed for v in taken.output]
        else:
            is_fixed = not graphs and not domain_of(node.domain) and node.op_type not in SHAPES
            is_fixed = is_fixed and is_deterministic(node.op_type) and self.fixed.issuperset(filter(None, node.input))
            are_fixed = [is_fixed] * len(node.output)
        for name, is_fixed in zip(node.output, are_fixed, strict=False):
            (self.fixed.add if is_fixed else self.fixed.discard)(name)

    def _chooses(self, node: onnx.NodeProto, condition: Value) -> bool:
        """Whether it is not a Where that selects elements by a mask, or from constants."""
        if node.op_type != "Where":
            return True
        return condition.type.rank == 0 and not self.fixed.issuperset(node.input)

    def _value(self, condition: Value) -> bool | None:
        if isinstance(condition, Const) and (condition.type.literal_nbytes() or 0) > LARGEST:
            return None
        number = known_number(condition)
        if number is None and self._runs:
            self._runs -= 1
            number = _computed(condition)
        return None if number is None else bool(number)


def _runs(kind: str, *, value: bool) -> str:
    """Return the consequence of a choice's condition; "" if nothing is lost."""
    if kind == "If":
        return f"only its {'then_branch' if value else 'else_branch'} ever runs"
    if kind == "Where":
        return f"only its {'second' if value else 'third'} input is ever taken"
    return "" if value else "its body never runs"


def _computed(condition: Value) -> int | None:
    """Return the one number of a value of constants alone, also of weights, by onnxruntime.

    None if that is much work.
    """
    ops = live_backwards(tracing.ops_backwards(), [condition])
    block = Block("condition", (), tuple(ops), (condition,))
    values = [v for op in walk(block) for v in (*op.inputs, *op.outputs) if v is not None]
    sizes = [v.type.literal_nbytes() for v in values]
    if free(block) or any(size is None or size > LARGEST for size in sizes):
        return None
    try:
        with fresh_stack():
            (found,) = HOOKS.make_session(NamedBlock(block, (), ("condition",)))()
    except PrimsplitError:
        return None
    return int(found.reshape(-1)[0]) if np.size(found) == 1 else None
