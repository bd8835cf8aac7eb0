"""The derivative of a loop: a Scan from the last step to the first.

A step's pullback reads a value of the step where it is already: a value around the loop is read there, an element of a
sequence is read again, a carry is the result of the step before. Of the rest, a value that has one shape in all steps
is stacked, and any other is recomputed. The gradient of a captured value is summed in a carry of its own. If a carry
changes its shape, no Scan can go back: see `growing`. (Reverse accumulation over a recurrence: Griewank and Walther,
Evaluating Derivatives, 2nd edition, section 3.2.)

`transforms.vectorized_loops.fission` then moves out of such a Scan what no carry needs.
"""

from collections.abc import Collection, Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Renaming, Type, Value, Var, dims, rename
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ir.dims import Dim, Size, SymbolKind
from primsplit.ir.errors import ShapeError
from primsplit.ir.parts import Split
from primsplit.rewrites.loops.cheap import cheap_captures
from primsplit.rewrites.loops.hoist import hoist
from primsplit.rewrites.recompute import recomputing
from primsplit.rules.activity import active_vars, needed_vars
from primsplit.rules.backward import Backward
from primsplit.rules.growing import GrowingBackward
from primsplit.rules.steps import Kept, Turns
from primsplit.rules.table import Pullback, Site
from primsplit.tracing.array import Array
from primsplit.tracing.handles.described import RANK_CURE
from primsplit.tracing.regions import Walk, same_everywhere, visible


def run_turns(site: Site, turns: Turns) -> tuple[list[Array], Pullback]:
    """Run the loop, keeping what its pullback needs; the pullback goes back over the steps."""
    outer = tuple(a.value for a in site.outer if isinstance(a.value, Var))
    whole = Block(turns.body.name, (*turns.body.params, *outer), turns.body.ops, turns.body.results)
    active = _varying(whole, _wanted(site, turns), turns.count)
    live = _live(whole, active, site.of, turns.count)
    known = visible([*turns.inits, *(v for v, _ in turns.sequences), *outer])
    changing = _changing(turns, known) if turns.again is not None else frozenset[int]()
    _check_steady(site, turns, set(live) - changing)
    split = site.split(whole, [i for i, v in enumerate(whole.params) if v in active], live)
    split = recomputing(split, lambda var: var.type.shape is not None and visible([var]) <= known)
    dear = {*split.captures} - cheap_captures(split, whole.params[len(turns.body.params) :])
    split = recomputing(split, dear.__contains__)
    is_growing = any(k in live or split.primal.params[k] in split.captures for k in changing)
    if is_growing:
        # No Scan goes back then, and what may change its shape need not keep it.
        changing = frozenset(_unlike(turns))
    kept = _keep(turns, split, outer, known, frozenset(split.primal.params[k] for k in changing))
    walked = GrowingBackward if is_growing else Backward

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        given = {i: c for i, c in enumerate(cotangents) if c is not None}
        found = walked(turns, split, kept, live, given).run()
        gradients: list[Array | None] = [None] * (len(site.inputs) + len(site.outer))
        captured = len(turns.body.params)
        for position, gradient in found.items():
            inside = position < captured
            gradients[turns.first + position if inside else len(site.inputs) + position - captured] = gradient
        return gradients

    return [Array(v) for v in kept.outputs[: len(site.op.outputs)]], pullback


def _wanted(site: Site, turns: Turns) -> list[int]:
    """Return the positions of `site.wrt` among the body's parameters followed by what it captures."""
    inputs, own = len(site.inputs), len(turns.body.params)
    return [own + i - inputs if i >= inputs else i - turns.first for i in site.wrt]


def _varying(whole: Block, wrt: Sequence[int], carries: int) -> set[Var]:
    """Return the Vars that vary with the parameters in `wrt`, in some step."""
    sources = {whole.params[i] for i in wrt}
    while True:
        active = active_vars(whole.ops, sources)
        grown = {whole.params[k] for k in range(carries) if whole.results[k] in active} - sources
        if not grown:
            return active
        sources |= grown


def _live(whole: Block, active: set[Var], of: Sequence[int], carries: int) -> list[int]:
    """Return the positions of the results that have a cotangent, in some step."""
    live = set(of)
    while True:
        needed = needed_vars(whole.ops, active, [whole.results[i] for i in live])
        grown = {k for k in range(carries) if whole.params[k] in needed} - live
        if not grown:
            return sorted(live)
        live |= grown


def _changing(turns: Turns, known: frozenset[str]) -> frozenset[int]:
    """Return the carries whose shape a step is known to change: in known sizes, or because it cuts them."""
    told = known | visible(turns.body.params)

    def is_told(k: int, a: Dim, b: Dim) -> bool:
        if isinstance(b, Size) and b.symbol in cuts[k]:
            return True
        is_known = dims.symbols(b) <= told or not _may_be_same(a, b) or SymbolKind.VARYING in dims.kinds_of(a)
        return is_known or _is_told_in(a, b)

    unlike = _unlike(turns)
    cuts = {k: _sizes_of_cuts(turns.body, turns.body.params[k]) for k in unlike}
    return frozenset(k for k, sizes in unlike.items() if any(is_told(k, a, b) for a, b in sizes))


def _sizes_of_cuts(body: Block, carry: Var) -> frozenset[str]:
    """Return the symbols of the sizes of what a Slice or Split takes of a carry.

    The backward pass of a loop in which a carry grew cuts off what was appended to it: see `growing`.
    """
    cuts = [o for step in body.ops if step.kind in {"Slice", "Split"} and step.inputs[0] is carry for o in step.outputs]
    return visible(cuts) - visible([carry])


def _unlike(turns: Turns) -> dict[int, list[tuple[Dim, Dim]]]:
    """Return the carries that a step may reshape: the sizes before and after it that may differ."""
    unlike = {}
    for k, (before, after) in enumerate(zip(turns.body.params, turns.body.results[: turns.count], strict=False)):
        if before.type.shape is None or after.type.shape is None or len(before.type.shape) != len(after.type.shape):
            continue
        sizes = [(a, b) for a, b in zip(before.type.shape, after.type.shape, strict=True) if not dims.same(a, b)]
        if sizes:
            unlike[k] = sizes
    return unlike


def _is_told_in(a: Dim, b: Dim) -> bool:
    """Whether a size after a step is an expression in the size before it, like n + k, of which only the run knows k."""
    return isinstance(a, Size) and a.symbol is not None and a.symbol in dims.symbols(b)


def _check_steady(site: Site, turns: Turns, live: Collection[int]) -> None:
    """Raise ShapeError if a carry with a cotangent certainly changes its shape from step to step.

    If only the run knows, onnxruntime refuses a Scan whose carry does.
    """
    for k in sorted(k for k in live if k < turns.count):
        start, before, after = turns.inits[k].type, turns.body.params[k].type, turns.body.results[k].type
        if not (_may_be_equal(before, start) and _may_be_equal(before, after)):
            raise ShapeError(
                f"the gradient through {site.op.kind} needs its carry {k} to keep its shape",
                place=site.op.place,
                because=(f"it starts as {start}; a step makes {after} of {before}",),
                cure="Stack what grows as a further output of the loop instead of carrying it."
                if start.rank is not None
                else RANK_CURE,
            )


def _may_be_equal(a: Type, b: Type) -> bool:
    """Whether the shapes may be equal; False if they differ for all sizes, or a rank is unknown."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return all(map(_may_be_same, a.shape, b.shape))


def _may_be_same(a: Dim, b: Dim) -> bool:
    """Whether the sizes may be equal; False if they differ for every size but 0 of their symbol, like n and 2 n."""
    names = dims.symbols(a) | dims.symbols(b)
    if dims.same(a, b) or len(names) != 1 or isinstance(a, int) or isinstance(b, int):
        return dims.could_be(a, b)
    (name,) = names
    return any(dims.evaluate(a, {name: n}) == dims.evaluate(b, {name: n}) for n in (1, 2, 3, 7))


def _keep(turns: Turns, split: Split, outer: Sequence[Var], known: frozenset[str], varying: frozenset[Var]) -> Kept:
    """Record the loop with what its steps must keep stacked. `known` are the symbols of sizes around the loop."""
    around: Renaming = {v: v for v in outer}
    params, results = split.primal.params[: len(turns.body.params)], split.primal.results
    around.update((p, init) for p, r, init in zip(params, results, turns.inits, strict=False) if p is r)
    inside = _move_out(turns, split, around, varying)
    _read_sizes(split, around, known)
    written = results[turns.count :]
    elsewhere = {*around, *params[turns.count :], *written, *varying}
    missing = [c for c in split.captures if c not in elsewhere]
    next_of = dict(zip(params, results[: turns.count], strict=False))
    late = _read_late(missing, next_of, written)
    stacked = [c for c in missing if c not in late]
    if turns.steps is None and not written and not stacked:
        stacked = [params[turns.count]]
    body = Block(turns.body.name, params, tuple(inside), (*results, *stacked))
    # As the first sequence is walked: a Scan that goes one way all through can be split up, see `passes.loops.fission`.
    way = Walk(reverse=bool(turns.sequences) and turns.sequences[0][1].reverse)
    writes = (*turns.writes, *(way for _ in stacked))
    outputs = turns.run(body, writes)
    for one, every in zip(stacked, outputs[turns.count + len(written) :], strict=True):
        if isinstance(every, Var) and isinstance(one, Var) and one.hint:
            every.hint = f"{one.hint}_steps"
    found = zip((*written, *stacked), zip(outputs[turns.count :], writes, strict=True), strict=True)
    along = {c: place for c, place in found if isinstance(c, Var)}
    later = {
        c: (next(place for known, place in along.items() if known is next_of[c]), turns.inits[params.index(c)])
        for c in late
    }
    return Kept(outputs, around, along, later, varying)


def _read_late(missing: Sequence[Var], next_of: dict[Var, Value], written: Sequence[Value]) -> list[Var]:
    """Return the carries that are read one step later in what is stacked, and so need no stack of their own.

    The value in which one of them is read is stacked itself: of carries that are passed around, (a, b) to (b, a), every
    other one.
    """
    late: list[Var] = []
    read: set[Var] = set()
    for carry in missing:
        after = next_of.get(carry)
        if not isinstance(after, Var) or carry in read:
            continue
        if after in written or (after in missing and after not in late):
            late.append(carry)
            read.add(after)
    return late


def _move_out(turns: Turns, split: Split, around: Renaming, varying: frozenset[Var]) -> list[Op]:
    """Record before the loop the ops that do not vary from step to step; return the others."""
    params = split.primal.params[: len(turns.body.params)]
    pairs = zip(params, turns.inits, strict=False)
    starts = {p: init for p, init in pairs if p not in varying and same_everywhere(p.type.shape, init.type.shape)}
    outside, inside = hoist(
        [_shape_of_start(step, starts) for step in split.primal.ops], [p for p in params if p not in around]
    )
    for step in outside:
        around.update({v: v for v in step.outputs})
        tracing.append(rename(step, around))
    return inside


def _shape_of_start(step: Op, starts: dict[Var, Value]) -> Op:
    """Return the op, with the shape of a carry that never changes read from its start."""
    source = step.inputs[0] if step.kind in SHAPES else None
    if not isinstance(source, Var) or source not in starts:
        return step
    return Op(step.kind, (starts[source],), step.outputs, step.attributes, step.place, step.remark)


def _read_sizes(split: Split, around: Renaming, known: frozenset[str]) -> None:
    """Read captured vectors of sizes from values around the loop, if these have them."""
    for capture in split.captures:
        sizes = capture.sizes
        if capture in around or sizes is None or capture.type.rank != 1:
            continue
        if visible([Var(Type(np.int64, sizes))]) <= known and all(map(tracing.is_readable, sizes)):
            around[capture] = tracing.size_vector(sizes)
