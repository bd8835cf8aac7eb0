"""Divide the ops of a file into its forward pass, its backward pass and its tangents.

A file says of a node what it is a part of: `pullback of Tanh`, `tangent of Mul`, `computed again`. What says nothing
belongs to the forward pass, unless it stands between nodes of a derivative and for no line of the user's. A gradient
that the function itself takes, such as a sampler's, is a part of its forward pass.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from primsplit.ir import Block, Op, Value, Var, reads
from primsplit.ir.analysis.orders import AGAIN

FORWARD, BACKWARD, TANGENT = "forward", "backward", "tangent"
NO_LINE = "no line"
"""The place of nodes that stand for no line of the user's."""
GRADS = {BACKWARD: "Grad of: ", TANGENT: "Tangent of: "}
"""The words before a line of the user's in a listing of its derivative, by section."""
IN_ORDER = (FORWARD, BACKWARD, TANGENT)
BEGINNINGS = {"pullback of ": BACKWARD, AGAIN: BACKWARD, "tangent of ": TANGENT}
"""The section of an op by the beginning of its remark, if it is a part of a derivative."""
SECOND = {"__pullback": BACKWARD, "__tangent": TANGENT}
"""The section of a model-local function by the end of its name, in a file of two functions."""


@dataclass(frozen=True, slots=True)
class Section:
    """Some ops of a file, in its order; `name` is "" for a file that says nothing of its parts."""

    name: str
    ops: tuple[Op, ...]

    def read_of(self, others: Sequence["Section"]) -> list[Var]:
        """Return the values of other sections that this one reads, in the order in which they are computed."""
        made = [v for section in others for op in section.ops for v in op.outputs]
        read = {v for op in self.ops for v in reads(op)}
        return [v for v in made if v in read]


def sections_of(block: Block, derivatives: Collection[Value] = ()) -> tuple[Section, ...]:
    """Return the sections of a block, each once if they can run one after the other, else as they alternate.

    `derivatives` are the results that are gradients or tangents.
    """
    parts = _with_inner(block, _parts(block), derivatives)
    last: dict[Var, int] = {}
    is_apart = True
    for op in block.ops:
        own = IN_ORDER.index(parts[op])
        is_apart = is_apart and all(last.get(v, 0) <= own for v in reads(op))
        last.update(dict.fromkeys(op.outputs, own))
    if is_apart:
        found = [Section(name, tuple(op for op in block.ops if parts[op] == name)) for name in IN_ORDER]
        return tuple(section for section in found if section.ops)
    return tuple(_runs(block.ops, parts))


def _runs(ops: Sequence[Op], parts: dict[Op, str]) -> Iterator[Section]:
    start = 0
    for i, op in enumerate(ops):
        if i + 1 == len(ops) or parts[op] != parts[ops[i + 1]]:
            yield Section(parts[op], tuple(ops[start : i + 1]))
            start = i + 1


def _parts(block: Block) -> dict[Op, str]:
    """Return the part of each op: as its remark says, else forward if it has a line, else that of what it reads."""
    found: dict[Op, str] = {}
    of: dict[Var, str] = {}
    for op in block.ops:
        told = part_told(op)
        if not told:
            read = [of[v] for v in reads(op) if v in of] if op.place is None else []
            told = max(read, key=IN_ORDER.index, default=FORWARD)
        found[op] = told
        of.update(dict.fromkeys(op.outputs, told))
    if set(found.values()) == {FORWARD}:
        return found
    # What has no line and is read by derivatives alone, such as a cotangent of ones, is a part of them.
    read_by: dict[Var, set[str]] = {v: {FORWARD} for v in block.results if isinstance(v, Var) and of.get(v) == FORWARD}
    for op in reversed(block.ops):
        readers = set().union(*(read_by.get(v, set()) for v in op.outputs))
        if op.place is None and not part_told(op) and readers and FORWARD not in readers:
            found[op] = min(readers, key=IN_ORDER.index)
        for v in reads(op):
            read_by.setdefault(v, set()).add(found[op])
    return found


def _with_inner(block: Block, parts: dict[Op, str], derivatives: Collection[Value]) -> dict[Op, str]:
    """Return the parts of ops, where derivatives that results of the forward pass are computed of belong to it."""
    of = {v: part for op, part in parts.items() for v in op.outputs}
    wanted = {v for v in block.results if isinstance(v, Var) and of.get(v) == FORWARD and v not in derivatives}
    found = dict(parts)
    for op in reversed(block.ops):
        if not wanted.isdisjoint(op.outputs):
            found[op] = FORWARD
            wanted.update(reads(op))
    return found


def order_told(op: Op) -> int:
    """Return the order of the derivative that an op is a part of: 2 for `pullback of Mul (order 2)`, 0 for none."""
    told = re.search(r" \(order (\d+)\)$", op.remark)
    return int(told[1]) if told else int(bool(part_told(op)))


def part_of(op: Op, section: str) -> str:
    """Return the part that an op in a section is of: a gradient inside of the forward pass is one of its own."""
    return part_told(op) or section


def part_told(op: Op) -> str:
    """Return the part that an op says it belongs to; "" for none."""
    found = next((part for text, part in BEGINNINGS.items() if op.remark.startswith(text)), "")
    return found or next((part for text, part in SECOND.items() if "::" in op.kind and op.kind.endswith(text)), "")
