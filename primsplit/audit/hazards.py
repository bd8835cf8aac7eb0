"""List the places of a file where NaN or infinity can begin, integers can overflow, or float32 becomes float64.

```
x in [0, 1]      y = x - 0.5             y in [-0.5, 0.5]
                 z = sqrt(y)             square root of a negative number: can happen
```

The ranges of all values follow from those of the inputs by interval arithmetic, operator by operator: what happens for
some inputs in their ranges is listed. That something is listed does not prove that it happens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import Hazard
from primsplit.audit.intervals.ranges import Range, interval, unbounded
from primsplit.audit.intervals.walk import Walk
from primsplit.audit.whole import Whole, whole
from primsplit.audit.written import Written
from primsplit.ir import Op, Var
from primsplit.ir.errors import SpecError

Bounds = Mapping[str, tuple[float, float]]
FOLLOWING = frozenset({"inf - inf", "0 * inf", "inf / inf"})
"""Hazards of infinities that began at another place."""


def hazard_rows(file: Written, ranges: Bounds) -> dict[str, Any]:
    """Return a row for each kind of hazard of a line, those that always happen first.

    `ranges` are the bounds of inputs by name; others may be any finite numbers. `open` counts the nodes whose results
    may overflow only because an input has no range, `unknown` lists operators that the analysis does not know: of their
    results it knows nothing. Raises SpecError for a name that is no input.
    """
    graph = whole(file)
    walk = walk_file(graph, ranges)
    rows = _grouped(graph, walk.hazards)
    rows.sort(key=lambda r: (r["certainty"] != "always", r["follows"]))
    free = [n for n, p in zip(file.inputs, graph.block.params, strict=True) if n not in ranges and p.type.is_float]
    unknown = sorted({op.kind for op in walk.unknown})
    return {"rows": rows, "open": len(walk.open), "free": free, "unknown": unknown}


def walk_file(graph: Whole, ranges: Bounds) -> Walk:
    """Return the walk of a file's graph with these ranges of its inputs."""
    unknown = [n for n in ranges if n not in graph.file.inputs]
    if unknown:
        told = f"the inputs are {', '.join(graph.file.inputs)}"
        raise SpecError(f"there is no input {unknown[0]}", because=(told,))
    walk = Walk()
    with np.errstate(all="ignore"):
        named = zip(graph.file.inputs, graph.block.params, strict=True)
        walk.block(graph.block, [_of_input(walk, p, ranges.get(name)) for name, p in named])
    return walk


def _of_input(walk: Walk, param: Var, bounds: tuple[float, float] | None) -> Range:
    dtype, shape = walk.type_of(param)
    return unbounded(dtype, shape) if bounds is None else interval(*bounds, dtype, shape)


def _grouped(graph: Whole, hazards: Mapping[Op, Mapping[str, Hazard]]) -> list[dict[str, Any]]:
    """Return a row for each kind of hazard, line and operator, with the number of its nodes."""
    found: dict[tuple[str, str, str], list[tuple[Op, Hazard]]] = {}
    for op, kinds in hazards.items():
        for kind, hazard in kinds.items():
            at = graph.about(op)
            found.setdefault((kind, op.kind, at["place"] or at["node"]), []).append((op, hazard))
    return [_row(graph, kind, pairs) for (kind, _, _), pairs in found.items()]


def _row(graph: Whole, kind: str, pairs: Sequence[tuple[Op, Hazard]]) -> dict[str, Any]:
    always = any(hazard.always for _, hazard in pairs)
    op, hazard = next((pair for pair in pairs if pair[1].always), pairs[0])
    told = {"hazard": kind, "certainty": "always" if always else "can happen", "ranges": hazard.ranges}
    return {**told, "follows": kind in FOLLOWING, "nodes": len(pairs), **graph.about(op)}
