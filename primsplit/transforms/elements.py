"""Take a parameter apart into the elements and rows that a function reads: each becomes a parameter of its own.

```
y = Gather(p, 0); z = Slice(p, [1], [3])   becomes   parameters y and z, called [0] and [1:3]
```
"""

from dataclasses import replace
from itertools import pairwise

from primsplit.ir import Block, Op, Var, walk
from primsplit.rewrites.rewriting import Rewriter, integers

TAKING = frozenset({"Gather", "Slice"})
"""The operators that take elements."""
Rows = tuple[int, int]
"""The first row that an op takes, and the row after the last."""


def in_elements(block: Block, position: int) -> tuple[Block, dict[int, str]] | None:
    """Return the block with a parameter for each element that it takes out of one, and their names by position.

    None if the block reads the parameter otherwise, or rows that overlap.
    """
    param = block.params[position]
    taken: dict[Rows, Op] = {}
    rows_of: dict[Var, Rows] = {}
    if param in block.results:
        return None
    for op in walk(block):
        if param in op.inputs:
            rows = _rows_taken(op, param)
            if rows is None:
                return None
            taken.setdefault(rows, op)
            rows_of[op.outputs[0]] = rows
    ranges = sorted(taken)
    if not ranges or any(last > first for (_, last), (first, _) in pairwise(ranges)):
        return None
    elements = {rows: Var(taken[rows].outputs[0].type) for rows in ranges}
    made = _Replacing({var: elements[rows] for var, rows in rows_of.items()}).run(block)
    names = {
        len(block.params) + i: f"[{first}]" if taken[first, last].kind == "Gather" else f"[{first}:{last}]"
        for i, (first, last) in enumerate(ranges)
    }
    return replace(made, params=(*block.params, *elements.values())), names


def element_taken(op: Op, param: Var) -> int | None:
    """Return the index of the element, or row, that a Gather takes out of a parameter; None for others, or for none."""
    if op.kind != "Gather" or op.inputs[0] is not param or op.attributes.get("axis", 0) != 0:
        return None
    index, size = op.inputs[1], (param.type.shape or (None,))[0]
    at = integers(index) if index is not None and index.type.shape == () else None
    if at is None or not isinstance(size, int) or not -size <= at[0] < size:
        return None
    return at[0] % size


class _Replacing(Rewriter):
    """Puts parameters in the place of the ops that take elements."""

    kinds = TAKING

    def __init__(self, elements: dict[Var, Var]) -> None:
        super().__init__()
        self.elements = elements

    def visit(self, op: Op) -> Op | None:
        """Return the op, or None if a parameter stands for its output."""
        element = self.elements.get(op.outputs[0]) if op.kind in self.kinds else None
        return None if element is not None and self.replace(op.outputs[0], element) else super().visit(op)


def _rows_taken(op: Op, param: Var) -> Rows | None:
    """Return the rows that an op takes out of a parameter, if these are known."""
    index, size = element_taken(op, param), (param.type.shape or (None,))[0]
    if index is not None:
        return index, index + 1
    if op.kind != "Slice" or not isinstance(size, int) or op.inputs[0] is not param:
        return None
    starts, ends, *others = map(integers, op.inputs[1:])
    if starts is None or ends is None or len(starts) != 1 or others + [(0,), (1,)][len(others) :] != [(0,), (1,)]:
        return None
    first, last, _ = slice(starts[0], ends[0]).indices(size)
    return (first, last) if first < last else None
