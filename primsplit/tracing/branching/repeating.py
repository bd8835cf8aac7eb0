"""Compare two runs of a function along one path: where they record other programs, the function is refused.

What a run changes is undone before the next, but for what is written to files, taken from iterators, or changed by code
that is not converted. A counter of that kind has another number in each run:

    next(IDS)               first run: 0, second run: 1, so the path of x <= 0 would have another number
    if x > 0: ...
"""

from typing import Any

import numpy as np

from primsplit.ir import Block, Comparison, Op, Type
from primsplit.ir.errors import Place, TraceError
from primsplit.ir.values import same_array
from primsplit.tracing.branching.paths import Path


def not_repeatable(place: Place | None) -> TraceError:
    """Return the error of a function that does something else in each run."""
    return TraceError(
        "the function does something else when it is run again, so its branches cannot be explored",
        place=place,
        cure="Take random numbers, counters and other state as arguments. Or use ps.cond.",
    )


def check_repeats(path: Path, again: Path, begin: int) -> None:
    """Raise TraceError if two runs along a path, which record the same ops before `begin`, do not end alike."""
    comparison = _Runs()
    if len(path.ops) != len(again.ops):
        raise not_repeatable(_last_place(path.ops))
    for made, other in zip(path.ops[begin:], again.ops[begin:], strict=True):
        if not comparison.ops(made, other):
            raise not_repeatable(made.place)
    is_same = type(path.failure) is type(again.failure) and path.spec == again.spec
    values = zip(path.values, again.values, strict=False)
    if not is_same or len(path.values) != len(again.values) or not all(comparison.values(a, b) for a, b in values):
        raise not_repeatable(_last_place(path.ops))


def _last_place(ops: list[Op]) -> Place | None:
    return next((op.place for op in reversed(ops) if op.place is not None), None)


class _Runs(Comparison):
    """Compares the ops of two runs, each of which has names of its own for sizes that depend on the data."""

    def types(self, a: Type, b: Type) -> bool:
        return a.dtype == b.dtype and a.rank == b.rank

    def attributes(self, a: Any, b: Any) -> bool:
        if isinstance(a, Block):
            return isinstance(b, Block) and self.blocks(a, b)
        if isinstance(a, np.ndarray):
            return isinstance(b, np.ndarray) and same_array(a, b)
        return not isinstance(a, int | float | str | list | tuple) or bool(a == b)
