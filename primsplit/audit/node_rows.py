"""Tell of each node of a file what it is, for JSON: operator, operands with types, attributes, place, section, rule."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.audit.frozen import array_digest
from primsplit.audit.review.statements import StatementPrinter
from primsplit.audit.sections import FORWARD, part_told
from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Type, Value, walk

MOST_SHOWN = 64
"""The most numbers of an attribute that are told; of a longer one their count."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """A node with its section, its function ("" for the graph), and the node and graph that it is inside of."""

    op: Op
    section: str
    function: str
    parent: Op | None
    graph: str


def node_rows(file: Written) -> list[dict[str, Any]]:
    """Return a row for each node, in the order of the file.

    `parent` is the position of the node in whose graph `graph` a node is, None outside of branches and loops.
    """
    spots = [*_spots(file)]
    positions = {spot.op: i for i, spot in enumerate(spots)}
    printer = StatementPrinter(file, {})
    return [_row(file, printer, spot, None if spot.parent is None else positions[spot.parent]) for spot in spots]


def ordered_ops(file: Written) -> list[Op]:
    """Return the nodes in the order of the rows."""
    return [spot.op for spot in _spots(file)]


def _spots(file: Written) -> Iterator[_Spot]:
    for section in file.sections:
        for op in section.ops:
            yield from _inside(_Spot(op, section.name, "", None, ""))
    for kind, block in file.functions.items():
        whole = part_told(Op(kind, (), ())) or (FORWARD if file.is_ours else "")
        for op in block.ops:
            yield from _inside(_Spot(op, part_told(op) or whole, kind, None, ""))


def _inside(spot: _Spot) -> Iterator[_Spot]:
    yield spot
    for name, block in spot.op.attributes.items():
        for op in block.ops if isinstance(block, Block) else ():
            yield from _inside(_Spot(op, spot.section, spot.function, spot.op, name))


def _row(file: Written, printer: StatementPrinter, spot: _Spot, parent: int | None) -> dict[str, Any]:
    op, place = spot.op, spot.op.place
    where = {"place": "", "source": ""} if place is None else {"place": str(place), "source": place.source}
    return {
        "section": spot.section,
        "function": spot.function,
        "parent": parent,
        "graph": spot.graph,
        "name": file.nodes[op],
        "operator": op.kind,
        "inputs": [_value(file, v) for v in op.inputs],
        "outputs": [_value(file, v) for v in op.outputs],
        "attributes": {name: _attribute(value) for name, value in op.attributes.items()},
        "statement": printer.head(op),
        **where,
        "rule": op.remark,
    }


def _value(file: Written, value: Value | None) -> dict[str, str]:
    """Return the name and the type of an operand; empty texts for one that is left out."""
    if value is None:
        return {"name": "", "type": ""}
    told = str(value.type) if isinstance(value, Const) else file.told.get(value, "")
    return {"name": file.names.get(value, ""), "type": told}


def _attribute(value: Any) -> Any:
    """Return an attribute in short: numbers and texts as they are, an array with its digest, a graph with its size."""
    if isinstance(value, Block):
        return {"nodes": sum(1 for _ in walk(value))}
    if isinstance(value, np.ndarray):
        return {"type": str(Type(value.dtype, value.shape)), "sha256": array_digest(value)}
    if isinstance(value, list):
        return [_attribute(v) for v in value] if len(value) <= MOST_SHOWN else f"{len(value)} values"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
