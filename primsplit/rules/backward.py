"""Record the backward pass of a loop: a Scan from its last step to its first.

```
h = Scan(h0, xs): h' = Tanh(h + x)   ->   dh0, dxs = Scan(dh, hs, reverse): da = dh * (1 - h'*h'); return da, da
```
"""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Renaming, Type, Value, Var, rename, renamed
from primsplit.ir.errors import TraceError
from primsplit.ir.parts import Split
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.rules.branches import zeros_of
from primsplit.rules.faint import least_beside, may_be_faint, without_faint
from primsplit.rules.steps import Along, Kept, Turns
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_first
from primsplit.tracing.handles.described import RANK_CURE
from primsplit.tracing.regions import ScanForm, Walk, as_declared, element, emit_scan, record


class Backward:
    """The Scan from the last step to the first.

    Its carries are the cotangents of the carries in `live`, then one sum for each captured value; it reads the
    cotangents of what was stacked and the captures, and stacks the gradients of the elements.
    """

    def __init__(self, turns: Turns, split: Split, kept: Kept, live: Sequence[int], given: dict[int, Array]) -> None:
        self.turns = turns
        self.split = split
        self.kept = kept
        self.live = live
        self.given = given
        self.carried = [k for k in live if k < turns.count]
        own = len(turns.body.params)
        self.summed = [t for t in split.targets if t >= own]
        self.written = [t for t in split.targets if turns.count <= t < own]
        self.least: dict[int, Array] = {}

    def run(self) -> dict[int, Array]:
        """Record it; return the gradient of each target, by its position among the body's parameters and captures.

        Raises TraceError for a gradient of unknown rank, which onnxruntime's Scan neither carries nor stacks.
        """
        params = self.split.primal.params
        carries = [self._start(k) for k in self.carried] + [zeros_of(params[t]) for t in self.summed]
        places = self._walked()
        self.least = self._least(carries, places)
        form = ScanForm(
            body=without_invariants(self._body(carries, places)),
            carries=len(carries),
            reads=tuple(walk for _, walk in places.values()),
            writes=tuple(self._sequence(t)[1].reversed() for t in self.written),
        )
        if any(r.type.shape is None for r in form.body.results):
            raise TraceError("the gradient through a loop needs the ranks of the values that it reads", cure=RANK_CURE)
        types = [self._sequence(t)[0].type for t in self.written]
        outputs = emit_scan(form, carries, [value for value, _ in places.values()], types)
        for i, k in enumerate(self.carried):
            outputs[i] = as_declared(outputs[i], self.turns.inits[k].type)
        return dict(zip((*self.carried, *self.summed, *self.written), map(Array, outputs), strict=True))

    def _least(self, carries: Sequence[Value], places: dict[Var, Along]) -> dict[int, Array]:
        """Return below which magnitude a carry's cotangent counts as 0, for those of long loops: see `faint`."""
        value, walk = next(iter(places.values()))
        if value.type.shape is None:
            return {}
        pairs = zip(self.carried, carries, strict=False)
        length, fed = value.type.shape[walk.axis], any(k >= self.turns.count for k in self.live)
        types = {k: c.type for k, c in pairs if may_be_faint(c.type, length, fed=fed)}
        seeds = [c for k, c in self.given.items() if k in self.live and c.type.is_float]
        least = {dtype: least_beside(seeds, dtype) for dtype in {t.dtype for t in types.values()} if seeds}
        return {k: least[t.dtype] for k, t in types.items() if t.dtype in least}

    def _sequence(self, target: int) -> Along:
        return self.turns.sequences[target - self.turns.count]

    def _start(self, position: int) -> Value:
        """Return the cotangent of the last carry."""
        if position in self.given:
            return self.given[position].value
        is_varying = self.split.primal.params[position] in self.kept.varying
        return self._nothing(position, self.kept.outputs[position] if is_varying else None)

    def _nothing(self, position: int, like: Value | None) -> Value:
        """Return zeros in the shape of a carry: that of `like`, else the one that it has in every step."""
        model = self.turns.inits[position] if like is None else like
        return zeros_of(model) if isinstance(model, Var) else tracing.constant(np.zeros_like(model.numpy()))

    def _walked(self) -> dict[Var, Along]:
        """The sequences to read backwards: cotangents of what was stacked, and captures that vary from step to step."""
        turns, split = self.turns, self.split
        sequences: dict[Var, Along] = {}
        for position, seed in zip(self.live, split.cotangents, strict=True):
            if position >= turns.count:
                sequences[seed] = (self.given[position].value, turns.writes[position - turns.count].reversed())
        for capture in split.captures:
            if capture in self.kept.around or capture in self.kept.varying:
                continue
            value, walk = self._capture(capture)
            sequences[capture] = (value, walk.reversed())
        if not sequences:
            sequences[Var(Type(np.int64, ()))] = (
                op.Range(np.int64(0), op.Squeeze(self._steps(), [0]), np.int64(1)).value,
                Walk(),
            )
        return sequences

    def _capture(self, capture: Var) -> Along:
        if capture in self.kept.along:
            return self.kept.along[capture]
        if capture in self.kept.later:
            return _one_step_later(*self.kept.later[capture])
        return self.turns.element(self.split.primal.params.index(capture) - self.turns.count, self._steps())

    def _steps(self) -> Array:
        """Return the number of steps that were run, a vector of one element."""
        if self.turns.steps is not None:
            return self.turns.steps()
        value, walk = next(iter(self.kept.along.values()))
        return op.Shape(Array(value), start=walk.axis, end=walk.axis + 1)

    def _body(self, carries: Sequence[Value], places: dict[Var, Along]) -> Block:
        types = [c.type for c in carries] + [element_type(v, place) for v, place in places.items()]

        def body(*params: Array) -> list[Value]:
            values = [p.value for p in params]
            names: Renaming = {**self.kept.around, **dict(zip(places, values[len(carries) :], strict=True))}
            return self._pulled(values[: len(carries)], names)

        return record(f"{self.split.primal.name}.pullback", types, body)

    def _pulled(self, carries: Sequence[Value], names: Renaming) -> list[Value]:
        """Record one step's pullback; return the carries after it, and the cotangents that the loop stacks.

        `names` holds the step's captures.
        """
        split = self.split
        varying = {k: names[p] for k, p in enumerate(split.primal.params) if p in self.kept.varying and p in names}
        seeds = dict(zip(self.live, split.cotangents, strict=True))
        names.update((seeds[k], as_declared(carries[i], seeds[k].type)) for i, k in enumerate(self.carried))
        for step in split.pullback.ops:
            tracing.append(rename(step, names))
        gradients = {t: renamed(r, names) for t, r in zip(split.targets, split.pullback.results, strict=True)}
        before = [gradients[k] if k in gradients else self._nothing(k, varying.get(k)) for k in self.carried]
        for i, k in enumerate(self.carried):
            if k in self.least and before[i] is not carries[i]:
                before[i] = without_faint(Array(before[i]), self.least[k]).value
        sums = carries[len(self.carried) :]
        after = [op.Add(Array(s), Array(gradients[t])).value for s, t in zip(sums, self.summed, strict=True)]
        return [*before, *after, *(gradients[t] for t in self.written)]


def element_type(var: Var, place: Along) -> Type:
    """Return the type of one step's capture or cotangent."""
    return element(place[0].type, place[1]) if var.type.shape is None else var.type


def _one_step_later(place: Along, init: Value) -> Along:
    """Return the values of a carry before each step, from its values after each."""
    array, first = axis_first(Array(place[0]), place[1].axis), op.Unsqueeze(Array(init), [0])
    if place[1].reverse:
        whole = op.Concat(array, first, axis=0)
        earlier = op.Slice(whole, [1], [np.iinfo(np.int64).max], [0], types=[array.type])
    else:
        whole = op.Concat(first, array, axis=0)
        earlier = op.Slice(whole, [0], [-1], [0], types=[array.type])
    return earlier.value, Walk(reverse=place[1].reverse)
