"""The derivative of a loop: a Scan from the last step to the first.

What a step's pullback reads of the step is taken from where it is already: a value around the loop is read there, an
element of a sequence is walked again, a carry is the result of the step before. Of the rest, what has one shape in all
steps is stacked, and what has not is computed again. The gradient of what the body captures is summed in a carry of its
own. (Reverse accumulation over a recurrence: Griewank and Walther,
Evaluating Derivatives, 2nd edition, section 3.2.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit import dims, tracing
from primsplit.activity import active_vars, needed_vars
from primsplit.array import Array
from primsplit.dims import Dim
from primsplit.errors import ShapeError
from primsplit.ir import Block, Op, Renaming, Type, Value, Var, rename
from primsplit.nested import ScanForm, Walk, as_declared, element, emit_scan, record, visible
from primsplit.ops import op
from primsplit.parts import Split
from primsplit.passes.hoist import hoist
from primsplit.passes.recompute import recomputing
from primsplit.rules.branches import zeros_like
from primsplit.rules.table import Pullback, Site

Along = tuple[Value, Walk]


@dataclass(frozen=True, slots=True)
class Turns:
    """What a Scan and a Loop have in common.

    The body's parameters are the carries, then each step's own values (the elements); its results the carries, then
    what is stacked. `run` records the loop with another body and further writes, and returns all outputs. `steps`
    records the number of steps, a vector of one element; None where only what was stacked tells it. `element` says
    where an element is walked, given that number. `first` is the position of the first carry among the op's inputs;
    `sequences` are the inputs after the carries.
    """

    body: Block
    inits: tuple[Value, ...]
    writes: tuple[Walk, ...]
    run: Callable[[Block, tuple[Walk, ...]], list[Value]]
    steps: Callable[[], Array] | None
    element: Callable[[int, Array], Along]
    first: int
    sequences: tuple[Along, ...]

    @property
    def count(self) -> int:
        """The number of carries."""
        return len(self.inits)

    @property
    def elements(self) -> tuple[Var, ...]:
        """The parameters after the carries."""
        return self.body.params[self.count :]


def run_turns(site: Site, turns: Turns) -> tuple[list[Array], Pullback]:
    """Run the loop, keeping what its pullback needs; the pullback walks back over it."""
    outer = tuple(a.value for a in site.outer if isinstance(a.value, Var))
    whole = Block(turns.body.name, (*turns.body.params, *outer), turns.body.ops, turns.body.results)
    active = _varying(whole, _wanted(site, turns), turns.count)
    live = _live(whole, active, site.of, turns.count)
    _check_steady(site, turns, live)
    split = site.split(whole, [i for i, v in enumerate(whole.params) if v in active], live)
    known = visible([*turns.inits, *(v for v, _ in turns.sequences), *outer])
    split = recomputing(split, lambda var: var.type.shape is not None and visible([var]) <= known)
    kept = _keep(turns, split, outer, known)

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        given = {i: c for i, c in enumerate(cotangents) if c is not None}
        found = _Backward(turns, split, kept, live, given).run()
        gradients: list[Array | None] = [None] * (len(site.inputs) + len(site.outer))
        captured = len(turns.body.params)
        for position, gradient in found.items():
            inside = position < captured
            gradients[turns.first + position if inside else len(site.inputs) + position - captured] = gradient
        return gradients

    return [Array(v) for v in kept.outputs[: len(site.op.outputs)]], pullback


def _wanted(site: Site, turns: Turns) -> list[int]:
    """The positions of `site.wrt` among the body's parameters followed by what it captures."""
    inputs, own = len(site.inputs), len(turns.body.params)
    return [own + i - inputs if i >= inputs else i - turns.first for i in site.wrt]


def _varying(whole: Block, wrt: Sequence[int], carries: int) -> set[Var]:
    """The Vars that vary with the parameters in `wrt`, in some step."""
    sources = {whole.params[i] for i in wrt}
    while True:
        active = active_vars(whole.ops, sources)
        grown = {whole.params[k] for k in range(carries) if whole.results[k] in active} - sources
        if not grown:
            return active
        sources |= grown


def _live(whole: Block, active: set[Var], of: Sequence[int], carries: int) -> list[int]:
    """The positions of the results that have a cotangent, in some step."""
    live = set(of)
    while True:
        needed = needed_vars(whole.ops, active, [whole.results[i] for i in live])
        grown = {k for k in range(carries) if whole.params[k] in needed} - live
        if not grown:
            return sorted(live)
        live |= grown


def _check_steady(site: Site, turns: Turns, live: Sequence[int]) -> None:
    """Raise ShapeError where a carry with a cotangent surely changes its shape from step to step.

    Where only the run knows, onnxruntime refuses a Scan whose carry does.
    """
    for k in (k for k in live if k < turns.count):
        start, before, after = turns.inits[k].type, turns.body.params[k].type, turns.body.results[k].type
        if not (_may_be_equal(before, start) and _may_be_equal(before, after)):
            raise ShapeError(
                f"the gradient through {site.op.kind} needs its carry {k} to keep its shape",
                place=site.op.place,
                because=(f"it starts as {start}; a step makes {after} of {before}",),
                cure="Stack what grows as a further output of the loop instead of carrying it.",
            )


def _may_be_equal(a: Type, b: Type) -> bool:
    """False for shapes that differ whatever the sizes are, or whose number of axes nobody knows."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return all(map(_may_be_same, a.shape, b.shape))


def _may_be_same(a: Dim, b: Dim) -> bool:
    """False for sizes that differ for every size but 0 of the value that they are told in, as n and 2 n do."""
    names = dims.symbols(a) | dims.symbols(b)
    if dims.same(a, b) or len(names) != 1:
        return dims.could_be(a, b)
    (name,) = names
    return any(dims.evaluate(a, {name: n}) == dims.evaluate(b, {name: n}) for n in (1, 2, 3, 7))


@dataclass(frozen=True, slots=True)
class _Kept:
    """All outputs of the loop, and where each capture is found: around the loop, along one of these, or one step later.

    `later` tells of a carry where its next value is walked, and its first one.
    """

    outputs: list[Value]
    around: Renaming
    along: dict[Var, Along]
    later: dict[Var, tuple[Along, Value]]


def _keep(turns: Turns, split: Split, outer: Sequence[Var], known: frozenset[str]) -> _Kept:
    """Record the loop with what its steps must keep stacked. `known` are the symbols of sizes around the loop."""
    around: Renaming = {v: v for v in outer}
    params, results = split.primal.params[: len(turns.body.params)], split.primal.results
    around.update((p, init) for p, r, init in zip(params, results, turns.inits, strict=False) if p is r)
    inside = _move_out(turns, split, around)
    _read_sizes(split, around, known)
    written = results[turns.count :]
    missing = [c for c in split.captures if c not in around and c not in params[turns.count :] and c not in written]
    next_of = dict(zip(params, results[: turns.count], strict=False))
    stacked = [c for c in missing if not (c in next_of and next_of[c] in {*missing, *written})]
    if turns.steps is None and not written and not stacked:
        stacked = [params[turns.count]]
    body = Block(turns.body.name, params, tuple(inside), (*results, *stacked))
    writes = (*turns.writes, *(Walk() for _ in stacked))
    outputs = turns.run(body, writes)
    found = zip((*written, *stacked), zip(outputs[turns.count :], writes, strict=True), strict=True)
    along = {c: place for c, place in found if isinstance(c, Var)}
    later = {
        c: (next(place for known, place in along.items() if known is next_of[c]), turns.inits[params.index(c)])
        for c in missing
        if c not in along
    }
    return _Kept(outputs, around, along, later)


def _move_out(turns: Turns, split: Split, around: Renaming) -> list[Op]:
    """Record in front of the loop the ops that do not vary from step to step; return the others."""
    params = split.primal.params[: len(turns.body.params)]
    starts = dict(zip(params, turns.inits, strict=False))
    outside, inside = hoist(
        [_shape_of_start(step, starts) for step in split.primal.ops], [p for p in params if p not in around]
    )
    for step in outside:
        around.update({v: v for v in step.outputs})
        tracing.append(rename(step, around))
    return inside


def _shape_of_start(step: Op, starts: dict[Var, Value]) -> Op:
    """A carry has one shape in every step: it is read from the first."""
    source = step.inputs[0] if step.kind in {"Shape", "Size"} else None
    if not isinstance(source, Var) or source not in starts:
        return step
    return Op(step.kind, (starts[source],), step.outputs, step.attributes, step.place, step.remark)


def _read_sizes(split: Split, around: Renaming, known: frozenset[str]) -> None:
    """Read the vectors of sizes that are captured from values around the loop, where these tell them."""
    for capture in split.captures:
        sizes = capture.sizes
        if capture in around or sizes is None or capture.type.rank != 1:
            continue
        if visible([Var(Type(np.int64, sizes))]) <= known:
            around[capture] = tracing.size_vector(sizes)


def _one_step_later(place: Along, init: Value) -> Along:
    """What a carry was before each step, from what it was after each."""
    value, walk = place
    if walk.axis or walk.reverse:
        value = _from_front(value, walk)
    first = op.Unsqueeze(Array(init), [0])
    whole = op.Concat(first, Array(value), axis=0)
    return op.Slice(whole, [0], [-1], [0], types=[value.type]).value, Walk()


def _from_front(value: Value, walk: Walk) -> Value:
    """A stacked value with its steps in order along the first axis."""
    array = Array(value)
    if walk.reverse:
        array = op.Slice(array, [-1], [np.iinfo(np.int64).min], [walk.axis], [-1])
    rank = len(array.shape)
    axis = walk.axis % rank
    return op.Transpose(array, perm=[axis, *(i for i in range(rank) if i != axis)]).value if axis else array.value


class _Backward:
    """The Scan from the last step to the first.

    Its carries are the cotangents of the carries in `live`, then one sum for each captured value; it walks the
    cotangents of what was stacked and the captures, and writes the gradients of the elements.
    """

    def __init__(self, turns: Turns, split: Split, kept: _Kept, live: Sequence[int], given: dict[int, Array]) -> None:
        self.turns = turns
        self.split = split
        self.kept = kept
        self.live = live
        self.given = given
        self.carried = [k for k in live if k < turns.count]
        own = len(turns.body.params)
        self.summed = [t for t in split.targets if t >= own]
        self.written = [t for t in split.targets if turns.count <= t < own]

    def run(self) -> dict[int, Array]:
        """Record it; return the gradient of each target, by its position among the body's parameters and captures."""
        params = self.split.primal.params
        carries = [self._start(k) for k in self.carried] + [zeros_like(params[t]) for t in self.summed]
        places = self._walked()
        form = ScanForm(
            body=self._moved_out(self._body(carries, places)),
            carries=len(carries),
            reads=tuple(walk for _, walk in places.values()),
            writes=tuple(self._sequence(t)[1].reversed() for t in self.written),
        )
        types = [self._sequence(t)[0].type for t in self.written]
        found = emit_scan(form, carries, [value for value, _ in places.values()], types)
        for i, k in enumerate(self.carried):
            found[i] = as_declared(found[i], self.turns.inits[k].type)
        return dict(zip((*self.carried, *self.summed, *self.written), map(Array, found), strict=True))

    def _sequence(self, target: int) -> Along:
        return self.turns.sequences[target - self.turns.count]

    def _start(self, position: int) -> Value:
        """The cotangent that the last carry was given."""
        if position in self.given:
            return self.given[position].value
        return self._nothing(position)

    def _nothing(self, position: int) -> Value:
        """Zeros in the shape of a carry."""
        init = self.turns.inits[position]
        return zeros_like(init) if isinstance(init, Var) else tracing.constant(np.zeros_like(init.numpy()))

    def _walked(self) -> dict[Var, Along]:
        """What is walked backwards: cotangents of what was stacked, then the captures that vary from step to step."""
        turns, split = self.turns, self.split
        found: dict[Var, Along] = {}
        for position, seed in zip(self.live, split.cotangents, strict=True):
            if position >= turns.count:
                found[seed] = (self.given[position].value, turns.writes[position - turns.count].reversed())
        for capture in split.captures:
            if capture in self.kept.around:
                continue
            value, walk = self._capture(capture)
            found[capture] = (value, walk.reversed())
        if not found:
            found[Var(Type(np.int64, ()))] = (
                op.Range(np.int64(0), op.Squeeze(self._steps(), [0]), np.int64(1)).value,
                Walk(),
            )
        return found

    def _capture(self, capture: Var) -> Along:
        if capture in self.kept.along:
            return self.kept.along[capture]
        if capture in self.kept.later:
            return _one_step_later(*self.kept.later[capture])
        return self.turns.element(self.split.primal.params.index(capture) - self.turns.count, self._steps())

    def _steps(self) -> Array:
        """The number of steps that were run, a vector of one element."""
        if self.turns.steps is not None:
            return self.turns.steps()
        value, walk = next(iter(self.kept.along.values()))
        return op.Shape(Array(value), start=walk.axis, end=walk.axis + 1)

    def _body(self, carries: Sequence[Value], places: dict[Var, Along]) -> Block:
        split = self.split
        types = [c.type for c in carries] + [_element_type(v, place) for v, place in places.items()]

        def body(*params: Array) -> list[Value]:
            values = [p.value for p in params]
            known: Renaming = dict(self.kept.around)
            known.update(zip(places, values[len(carries) :], strict=True))
            seeds = dict(zip(self.live, split.cotangents, strict=True))
            known.update((seeds[k], values[i]) for i, k in enumerate(self.carried))
            for step in split.pullback.ops:
                tracing.append(rename(step, known))
            found = {
                t: known.get(r, r) if isinstance(r, Var) else r
                for t, r in zip(split.targets, split.pullback.results, strict=True)
            }
            before = [found[k] if k in found else self._nothing(k) for k in self.carried]
            sums = values[len(self.carried) : len(carries)]
            after = [op.Add(Array(s), Array(found[t])).value for s, t in zip(sums, self.summed, strict=True)]
            return [*before, *after, *(found[t] for t in self.written)]

        return record(f"{split.primal.name}.pullback", types, body)

    def _moved_out(self, body: Block) -> Block:
        """The body without what does not vary, which is recorded in front."""
        outside, inside = hoist(body.ops, body.params)
        for step in outside:
            tracing.append(step)
        return Block(body.name, body.params, tuple(inside), body.results)


def _element_type(var: Var, place: Along) -> Type:
    """The type of the capture or cotangent that is walked; for one that nobody reads, that of the elements."""
    return element(place[0].type, place[1]) if var.type.shape is None else var.type
