"""Read from the operands of a Concat what is sliced out of its result.

```
Gather(Concat(Unsqueeze(a), Unsqueeze(b)), 1)   ->   b
Slice(Concat(x: [3], y: [2]), 3, 5)             ->   y
```

So `a, b = np.array([f(x), g(x)])` concatenates nothing. States, rotations and Jacobians that are written down element
by element are passed on element by element, and so are their cotangents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np

from primsplit.ir import Const, Op, Type, Value, Var
from primsplit.rewrites.rewrites.table import Rewritten, Site, attribute, rewrite
from primsplit.rewrites.rewriting import integers


@dataclass(frozen=True, slots=True)
class _Join:
    """The operands of a Concat whose sizes along its axis are literals, and where each begins; the end comes last."""

    made: Op
    axis: int
    pieces: tuple[Value, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, site: Site, axis: int) -> Self | None:
        """Return the Concat that is the site's first input, if there is one along this axis."""
        made = site.maker(site.input(0), "Concat")
        rank = None if made is None else made.outputs[0].type.rank
        if made is None or rank is None or attribute(made, "axis") % rank != axis % rank:
            return None
        pieces = tuple(v for v in made.inputs if v is not None)
        sizes = [None if v.type.shape is None else v.type.shape[axis % rank] for v in pieces]
        literal = [s for s in sizes if isinstance(s, int)]
        if len(literal) < len(pieces):
            return None
        return cls(made, axis % rank, pieces, tuple(accumulate(literal, initial=0)))

    def between(self, site: Site, start: int, end: int) -> Value | None:
        """Return the elements from `start` to `end` if both are ends of operands: an operand, or a shorter Concat."""
        if start >= end or start not in self.starts or end not in self.starts:
            return None
        chosen = [
            p for p, s, e in zip(self.pieces, self.starts, self.starts[1:], strict=False) if start <= s < e <= end
        ]
        if len(chosen) == 1:
            return chosen[0]
        whole = self.made.outputs[0].type
        shape = [end - start if i == self.axis else d for i, d in enumerate(whole.shape or ())]
        var = Var(Type(whole.dtype, shape))
        site.add(self.made.beside("Concat", tuple(chosen), (var,), {"axis": self.axis}))
        return var


@rewrite("Gather")
def element_of_a_join(site: Site) -> Rewritten:
    """Read one element from the operand that it lies in."""
    join, index = _Join.of(site, site.attribute("axis")), site.input(1)
    known = integers(index)
    if join is None or index is None or index.type.rank != 0 or not known:
        return None
    place = known[0] + (join.starts[-1] if known[0] < 0 else 0)
    for piece, start, end in zip(join.pieces, join.starts, join.starts[1:], strict=False):
        if start <= place < end:
            if end - start == 1:
                return site.becomes("Squeeze", [piece, Const(np.array([join.axis]))])
            inside = Const(np.array(place - start, index.type.dtype))
            return site.becomes("Gather", [piece, inside], site.op.attributes)
    return None


@rewrite("Slice")
def slice_of_a_join(site: Site) -> Rewritten:
    """Replace a slice along the Concat's axis that begins and ends between operands."""
    starts, ends, axes = (integers(site.input(i)) for i in (1, 2, 3))
    steps = (1,) if site.input(4) is None else integers(site.input(4))
    if not (starts and ends and axes) or len(axes) != 1 or steps != (1,):
        return None
    join = _Join.of(site, axes[0])
    if join is None:
        return None
    start, end, _ = slice(starts[0], ends[0]).indices(join.starts[-1])
    return join.between(site, start, end)


@rewrite("Split")
def split_of_a_join(site: Site) -> Rewritten:
    """Replace the parts of a Concat that are its operands."""
    join, sizes = _Join.of(site, site.attribute("axis")), integers(site.input(1))
    if join is None or not sizes or not _ends_are_known(join, sizes):
        return None
    ends = list(accumulate(sizes))
    parts = [join.between(site, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    found = tuple(p for p in parts if p is not None)
    return found if len(found) == len(parts) else None


def _ends_are_known(join: _Join, sizes: Sequence[int]) -> bool:
    """Whether every part, none of them empty, ends where an operand does; asked before anything is written."""
    return 0 not in sizes and set(accumulate(sizes)) <= set(join.starts)
