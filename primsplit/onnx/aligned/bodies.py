"""Record Loops and Scans that carry, read or stack values of unknown rank: as elements and ranks.

A carry becomes two: its elements with `MOST` axes, and its own number of axes, which steps may change.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from primsplit.ir import Type, Value
from primsplit.onnx.aligned.node import END, MOST, Aligned, Known, aligned, from_front, of_sizes
from primsplit.onnx.nested_bodies import after_steps, steady
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.regions import ScanForm, Walk, element, emit_loop, emit_scan

Inner = Callable[[onnx.GraphProto, Sequence[Value], Known], Sequence[Value]]
"""Records a graph's nodes here on these values; returns its outputs. It reads and learns aligned values."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The form of some values: those at the positions in `open` as elements and ranks, the others as they are.

    Those of a Scan are stacked or walked along, each as in `walks`.
    """

    open: frozenset[int]
    count: int
    walks: tuple[Walk, ...] = ()

    def told(self, values: Sequence[Value], known: Known) -> list[Value]:
        """Return the values in this form."""
        found: list[Value] = []
        for i, value in enumerate(values):
            if i not in self.open:
                found.append(value)
                continue
            side = widest(aligned(value, known))
            is_front = bool(self.walks) and self.walks[i].axis >= 0
            found += [(side.front() if is_front else side.wide).value, side.rank.value]
        return found

    def values(self, parts: Sequence[Value], known: Known, change: int = 0) -> list[Value]:
        """Return the values from this form; `change` is added to their ranks."""
        left = iter(parts)
        return [self._value(i, left, known, change) for i in range(self.count)]

    def _value(self, place: int, left: Iterator[Value], known: Known, change: int) -> Value:
        wide = next(left)
        if place not in self.open:
            return wide
        rank = op.Add(Array(next(left)), np.array([change])) if change else Array(next(left))
        is_front = bool(self.walks) and self.walks[place].axis >= 0
        side = from_front(Array(wide), rank) if is_front else Aligned(Array(wide), rank)
        own = side.own()
        known[own] = side
        return own


def widest(side: Aligned) -> Aligned:
    """Return a value with `MOST` axes; a run in which it has more of its own fails."""
    count = len(side.wide.shape)
    if count > MOST:
        sizes = op.Slice(op.Shape(side.wide), op.Sub(np.array([count]), side.rank), [END])
        return of_sizes(side.wide, sizes, side.rank, MOST)
    return Aligned(op.Unsqueeze(side.wide, list(range(MOST - count))) if count < MOST else side.wide, side.rank)


def is_open(*types: Type) -> bool:
    """Whether one of these types has no rank."""
    return any(t.rank is None for t in types)


def places(types: Sequence[Type]) -> frozenset[int]:
    """Return the positions of those that have no rank."""
    return frozenset(i for i, t in enumerate(types) if t.rank is None)


def record_open_loop(
    trips: Value | None,
    condition: Value | None,
    inits: Sequence[Value],
    told: Sequence[Type],
    graph: onnx.GraphProto,
    inner: Inner,
    known: Known,
) -> list[Value]:
    """Record a Loop whose carries have these types, or stacked values of unknown rank."""
    carried = Parts(places(told), len(inits))
    starts = carried.told(inits, known)
    stacked = Parts(frozenset(), 0)

    def body(*params: Array) -> list[Value]:
        nonlocal stacked
        found: Known = {}
        number, goes, *rest = (p.value for p in params)
        after, *made = inner(graph, [number, goes, *carried.values(rest, found)], found)
        carries, rows = made[: carried.count], made[carried.count :]
        stacked = Parts(places([v.type for v in rows]), len(rows), (Walk(),) * len(rows))
        return [after, *carried.told(carries, found), *stacked.told(rows, found)]

    counters = [Type(np.int64, ()), Type(np.bool_, ())]
    block, types = steady(lambda t: nested.record("loop", [*counters, *t], body), [v.type for v in starts], 2, 1)
    made = emit_loop(trips, condition, without_invariants(block), starts, after_steps(types, starts))
    ends = carried.values(made[: len(starts)], known)
    return [*ends, *_stacked(stacked, made[len(starts) :], known)]


def record_open_scan(
    values: Sequence[Value],
    told: Sequence[Type],
    graph: onnx.GraphProto,
    reads: Sequence[Walk],
    write: Callable[[int], tuple[Walk, ...]],
    inner: Inner,
    known: Known,
) -> list[Value]:
    """Record a Scan whose carries have these types; the values after those are walked along as in `reads`.

    `write` returns how so many values are stacked.
    """
    count = len(told)
    carried = Parts(places(told), count)
    walked = Parts(places([v.type for v in values[count:]]), len(reads), tuple(reads))
    starts = carried.told(values[:count], known)
    sequences, ranks = _apart(walked, walked.told(values[count:], known))
    stacked = Parts(frozenset(), 0)

    def body(*params: Array) -> list[Value]:
        nonlocal stacked
        found: Known = {}
        given = [p.value for p in params]
        left = iter(ranks)
        parts = [v for i, x in enumerate(given[len(starts) :]) for v in ([x, next(left)] if i in walked.open else [x])]
        own = [*carried.values(given[: len(starts)], found), *walked.values(parts, found, -1)]
        made = inner(graph, own, found)
        rows = made[count:]
        stacked = Parts(places([v.type for v in rows]), len(rows), write(len(rows)))
        return [*carried.told(made[:count], found), *stacked.told(rows, found)]

    elements = [element(v.type, w) for v, w in zip(sequences, reads, strict=True)]
    block, _ = steady(lambda t: nested.record("scan", [*t, *elements], body), [v.type for v in starts], 0, 0)
    writes = tuple(w for i, w in enumerate(stacked.walks) for w in ((w, Walk()) if i in stacked.open else (w,)))
    form = ScanForm(without_invariants(block), len(starts), tuple(reads), writes)
    made = emit_scan(form, starts, sequences)
    return [*carried.values(made[: len(starts)], known), *_stacked(stacked, made[len(starts) :], known)]


def _apart(parts: Parts, told: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Return the elements, and the ranks of those that are open."""
    wide, ranks = [], []
    left = iter(told)
    for i in range(parts.count):
        wide.append(next(left))
        if i in parts.open:
            ranks.append(next(left))
    return wide, ranks


def _stacked(parts: Parts, made: Sequence[Value], known: Known) -> list[Value]:
    """Return the values of all steps. If there is no step, they have no axis besides that of the steps."""
    found: list[Value] = []
    left = iter(made)
    for i in range(parts.count):
        found.append(next(left))
        if i in parts.open:
            ranks = op.Concat(np.zeros((1, 1), np.int64), Array(next(left)), axis=0)
            found.append(op.Gather(ranks, -1, axis=0).value)
    return parts.values(found, known, 1)
