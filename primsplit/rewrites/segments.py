"""Choose where to cut a recomputed forward pass into segments, of which one at a time is in memory.

```
200 ops, each captures 1 MB   ->   cuts after about every 14 ops: 14 MB at the cuts and 14 MB in a segment, not 200 MB
```

From the values at the cuts each segment is recomputed when the backward pass reaches it. With segments of about the
square root of all that is captured, the values at the cuts and one segment are all that exists at once.
"""

import itertools
import math
from collections.abc import Collection, Sequence

from primsplit.ir import Op, Type, Var, dims, reads

LARGE = 1024
"""The stand-in for a size that only the run knows."""
WORTH = 0.8
"""Cuts are made if they leave at most this share of the memory."""


def cut_values(ops: Sequence[Op], captured: Collection[Var]) -> set[Var]:
    """Return the values of these ops at the cuts; none if cuts save little.

    `ops` are recomputed in this order, and the pullback reads the values in `captured`.
    """
    wanted = [sum(_bytes(v) for v in op.outputs if v in captured) for op in ops]
    alive = _alive(ops)
    widths = [sum(map(_bytes, live)) for live in alive]
    total = sum(wanted)
    if not total or len(ops) < 3:
        return set()
    narrow = sorted(w for w in widths if w)
    usual = narrow[len(narrow) // 2] if narrow else total
    cuts = _cuts(wanted, widths, math.sqrt(total * usual))
    found = {v for position in cuts for v in alive[position]}
    ends = [0, *(position + 1 for position in cuts), len(ops)]
    segments = [sum(wanted[a:b]) for a, b in itertools.pairwise(ends)]
    is_worth = sum(map(_bytes, found)) + max(segments) <= WORTH * total
    return found if is_worth else set()


def _alive(ops: Sequence[Op]) -> list[list[Var]]:
    """Return for each op the values of the ops up to it that later ones read."""
    last = {v: position for position, op in enumerate(ops) for v in reads(op)}
    found: list[list[Var]] = []
    live: list[Var] = []
    for position, op in enumerate(ops):
        live = [v for v in (*live, *op.outputs) if last.get(v, -1) > position]
        found.append(live)
    return found


def _cuts(wanted: Sequence[float], widths: Sequence[float], size: float) -> list[int]:
    """Return after which ops to cut: where least is alive, in the second half of each stretch of this size."""
    cuts, begin, gathered = [], 0, 0.0
    halfway = None
    for position, given in enumerate(wanted):
        gathered += given
        if halfway is None and gathered >= size / 2:
            halfway = position
        if gathered >= size and position + 1 < len(wanted):
            first = max(begin, position if halfway is None else halfway)
            cuts.append(min(range(first, position + 1), key=lambda p: (widths[p], -p)))
            begin, halfway = cuts[-1] + 1, None
            gathered = sum(wanted[begin : position + 1])
    return cuts


def _bytes(var: Var) -> float:
    return _elements(var.type) * var.type.dtype.itemsize


def _elements(type: Type) -> float:
    """Return the number of elements, about, if sizes are open."""
    found = 1.0
    for size in type.shape or (LARGE,):
        found *= (
            size if isinstance(size, int) else max(dims.evaluate(size, dict.fromkeys(dims.symbols(size), LARGE)), 0)
        )
    return found
