"""Finds the ranges of a program's integer inputs, such as row numbers of a table, lengths and counts.

Gather(table, i)      # table [10, N]
gives i the bounds of a row number of the table
"""

from collections.abc import Callable, Mapping

from primsplit.ir import Block, Op, Value, Var
from primsplit.ir.dims import Dim
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.inline import inline_calls

Bounds = tuple[int, int]
"""The least and the greatest number."""

KEEPING = kinds_where(lambda t: t.moves == (0,) and not t.fills) | {"Cast"}
"""Operators whose results contain only numbers of the first input."""


def integer_bounds(block: Block) -> list[Bounds | None]:
    """For each parameter the bounds of its integers; None if the program's operators do not imply any."""
    origins: dict[Var, Var] = {p: p for p in block.params if p.type.dtype.kind in "iu"}
    found: dict[Var, Bounds] = {}
    for op in inline_calls(block).ops:
        first = op.inputs[0] if op.inputs else None
        if op.kind in KEEPING and isinstance(first, Var) and first in origins:
            origins.update((out, origins[first]) for out in op.outputs)
        for position, bounds in _told_by(op).items():
            value = op.inputs[position] if position < len(op.inputs) else None
            if bounds is not None and isinstance(value, Var) and value in origins:
                source = origins[value]
                known = found.get(source, bounds)
                found[source] = max(known[0], bounds[0]), min(known[1], bounds[1])
    return [bounds if (bounds := found.get(p)) is None or bounds[0] <= bounds[1] else None for p in block.params]


def _told_by(op: Op) -> Mapping[int, Bounds | None]:
    """The bounds that an operator implies for its inputs, by position."""
    reader = _READERS.get(op.kind)
    return {} if reader is None else reader(op)


def _below(op: Op, axis: int) -> Bounds | None:
    """The bounds of positions along an axis of the first input."""
    value: Value | None = op.inputs[0]
    shape = None if value is None else value.type.shape
    size: Dim | None = None if not shape or not -len(shape) <= axis < len(shape) else shape[axis]
    return (0, size - 1) if isinstance(size, int) and size > 0 else None


def _lengths(op: Op) -> Mapping[int, Bounds | None]:
    longest = _below(op, op.attributes.get("layout", 0))
    return {4: (1, 1 if longest is None else longest[1] + 1)}


def _picked(op: Op) -> Mapping[int, Bounds | None]:
    return {1: _below(op, op.attributes.get("axis", 0))}


def _classes(op: Op) -> Mapping[int, Bounds | None]:
    return {1: _below(op, 1)}


_READERS: Mapping[str, Callable[[Op], Mapping[int, Bounds | None]]] = {
    "Gather": _picked,
    "GatherElements": _picked,
    "GRU": _lengths,
    "LSTM": _lengths,
    "NegativeLogLikelihoodLoss": _classes,
    "RNN": _lengths,
    "ScatterElements": _picked,
    "SoftmaxCrossEntropyLoss": _classes,
    "TopK": lambda op: {1: (1, 1)},
}
