"""The backward pass of a loop whose carries change their shape: a Loop, since a Scan's carries keep theirs.

The values of such a carry are not kept, since arrays of several shapes cannot be stacked. If a step only appends parts
whose sizes are the same in each step, the backward pass cuts them off again, from the last step on. Else the steps
before are run again: n**2 / 2 in all.
"""

from typing import NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Renaming, Type, Value, Var, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.rules.backward import Backward, element_type
from primsplit.rules.branches import zeros_of
from primsplit.rules.steps import Along
from primsplit.tracing.array import Array
from primsplit.tracing.regions import VARYING, as_declared, emit_loop, outside, record, visible


class Appended(NamedTuple):
    """A carry to which each step appends: along which axis, and how much before it and after it."""

    position: int
    axis: int
    before: Dim
    after: Dim


class GrowingBackward(Backward):
    """The Loop from the last step to the first.

    Its carries are those of the Scan, then the carries that are appended to.
    """

    def run(self) -> dict[int, Array]:
        """Record it; return the gradient of each target, by its position among the body's parameters and captures."""
        params = self.split.primal.params
        known = visible([*self.turns.inits, *(c for c in self.kept.around.values() if isinstance(c, Var))])
        appended = self._appended(known)
        carries = [self._start(k) for k in self.carried] + [zeros_of(params[t]) for t in self.summed]
        carries += [self.kept.outputs[a.position] for a in appended]
        places = self._walked()
        steps = op.Squeeze(self._steps(), [0])
        body = without_invariants(self._loop_body(carries, places, steps, appended, known))
        types = [self.turns.inits[k].type for k in self.carried] + [params[t].type for t in self.summed]
        types += [self.turns.inits[a.position].type for a in appended]
        outputs = emit_loop(steps.value, None, body, carries, types)
        return dict(zip((*self.carried, *self.summed), map(Array, outputs), strict=False))

    def _loop_body(
        self,
        carries: list[Value],
        places: dict[Var, Along],
        steps: Array,
        appended: list[Appended],
        known: frozenset[str],
    ) -> Block:
        count = len(carries) - len(appended)
        types = [Type(np.int64, ()), Type(np.bool_, ()), *(c.type for c in carries[:count])]
        for i, k in enumerate(self.carried):
            types[2 + i] = outside(self.turns.body.params[k].type, known, VARYING)
        types += [outside(self.turns.body.params[a.position].type, known, VARYING) for a in appended]
        margins = [(tracing.size_vector((a.before,)), tracing.size_vector((a.after,))) for a in appended]

        def body(turn: Array, going: Array, *params: Array) -> list[Value]:
            step = op.Sub(op.Sub(steps, 1), turn)
            left = [
                _without(whole, a, Array(begin), Array(end))
                for whole, a, (begin, end) in zip(params[count:], appended, margins, strict=True)
            ]
            names: Renaming = {**self.kept.around, **self._states(step, appended, left)}
            for var, (value, walk) in places.items():
                part = op.Gather(Array(value), step if walk.reverse else turn, axis=walk.axis)
                names[var] = as_declared(part.value, element_type(var, (value, walk)))
            return [going.value, *self._pulled([p.value for p in params[:count]], names), *left]

        return record(f"{self.split.primal.name}.pullback", types, body)

    def _states(self, step: Array, appended: list[Appended], left: list[Value]) -> Renaming:
        """Return the values before a step of the carries that change."""
        params = self.split.primal.params
        known = {params[a.position]: v for a, v in zip(appended, left, strict=True)}
        if self._asked() - known.keys():
            if self.turns.again is None:
                raise ShapeError("a loop whose carries change their shape cannot be run again")
            run = dict(zip(params, self.turns.again(step), strict=False))
            known.update((p, v) for p, v in run.items() if p in self.kept.varying and p not in known)
        return {p: as_declared(v, p.type) for p, v in known.items()}

    def _asked(self) -> set[Var]:
        """Return the carries that change and of which a step's pullback reads something, their shape at least."""
        params, targets = self.split.primal.params, set(self.split.targets)
        unreached = {params[k] for k in self.carried if k not in targets}
        return {p for p in self.kept.varying if p in self.split.captures or p in unreached}

    def _appended(self, known: frozenset[str]) -> list[Appended]:
        """Return those of them that are only appended to."""
        primal, asked = self.split.primal, self._asked()
        made_by = {o: made for made in primal.ops for o in made.outputs}
        pairs = enumerate(zip(primal.params, primal.results[: self.turns.count], strict=False))
        appended = [
            _appends(k, carry, made_by[after], known)
            for k, (carry, after) in pairs
            if carry in asked and isinstance(after, Var) and after in made_by
        ]
        return [a for a in appended if a is not None]


def _appends(position: int, carry: Var, made: Op, known: frozenset[str]) -> Appended | None:
    """Return how the op appends to the carry, None if it does not, or by sizes that are unknown around the loop."""
    parts = [v for v in made.inputs if v is not None]
    if made.kind != "Concat" or parts.count(carry) != 1 or carry.type.shape is None:
        return None
    axis = int(made.attributes["axis"]) % len(carry.type.shape)
    place = parts.index(carry)
    sizes = [None if p.type.shape is None else p.type.shape[axis] for p in parts]
    others = [s for i, s in enumerate(sizes) if i != place]
    if any(s is None or not dims.symbols(s) <= known for s in others):
        return None
    before, after = (sum((s for s in half if s is not None), 0) for half in (sizes[:place], sizes[place + 1 :]))
    return Appended(position, axis, before, after)


def _without(whole: Array, appended: Appended, begin: Array, end: Array) -> Value:
    """Return the carry before it was appended to."""
    size = op.Shape(whole, start=appended.axis, end=appended.axis + 1)
    return op.Slice(whole, begin, op.Sub(size, end), [appended.axis]).value
