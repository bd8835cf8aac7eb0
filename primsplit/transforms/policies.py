"""Choose the values that the forward pass keeps for the pullback; the pullback recomputes all others.

A policy is one of

* `"default"`: keep what the rules capture, and change nothing.
* `"save_all"`: capture also values that the pullback would recompute although the primal computes them.
* `"recompute_cheap"`: recompute a capture if that costs less than keeping it, by the table of `costs`; with
  another table it is `recompute_cheap(costs)`.
* `"nothing"`: recompute all from the parameters and results, one segment of the forward pass after the other.
  A file of both passes then keeps about the square root of what it would: see `rewrites.segments`.
* names, as in a listing: keep these values, and recompute the rest.
* a function of an op: keep the outputs of ops for which it returns True, and recompute the rest.

No number changes: the same ops are run once more, on the same operands. Values that a second run would change, random
draws and whatever is not known to be deterministic, are kept under every policy. Vectors of sizes are read again from
arrays, for `recompute_cheap` only if the pullback has an array of that size. A policy applies to the ops of the program
itself: a loop is one of them, and what it keeps from step to step is decided by its own `checkpoint`.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import NOWHERE, Block, Comparison, Op, Type, Value, Var, dims, free, is_call, live_ops, reads
from primsplit.ir.analysis.costs import COSTS, THRESHOLD, cost
from primsplit.ir.analysis.orders import AGAIN
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import SpecError
from primsplit.ir.notation.listing import names_of
from primsplit.ir.parts import Split
from primsplit.ir.surgery import rebind
from primsplit.ops.verify import verified
from primsplit.rewrites.cse import Merging
from primsplit.rewrites.loops.hoist import is_movable
from primsplit.rewrites.recompute import recomputing
from primsplit.rewrites.rematerialize import computed_late
from primsplit.rewrites.segments import cut_values
from primsplit.tracing import fresh_stack, recording

POLICIES = ("default", "save_all", "recompute_cheap", "nothing")


class Cheap:
    """The policy `recompute_cheap`, with a table of its own."""

    def __init__(self, costs: Mapping[str, float]) -> None:
        self.costs = dict(costs)

    def depends_on(self) -> tuple[Any, ...]:
        """Return the table."""
        return (self.costs,)


Policy = str | Collection[str] | Callable[[Op], bool] | Cheap


def recompute_cheap(costs: Mapping[str, float]) -> Cheap:
    """Return the policy of this name, with these costs in place of those in `costs.COSTS`."""
    return Cheap({**COSTS, **costs})


def check_policy(policy: Any) -> None:
    """Raise SpecError for what is no policy."""
    if isinstance(policy, str):
        is_known = policy in POLICIES
    else:
        is_names = isinstance(policy, list | tuple | set | frozenset) and all(isinstance(n, str) for n in policy)
        is_known = is_names or callable(policy) or isinstance(policy, Cheap)
    if not is_known:
        raise SpecError(
            f"policy={policy!r} is no policy",
            place=tracing.user_place(),
            cure=f"The policies are {', '.join(POLICIES)}, a list of names of values, and a function of an op.",
        )


def with_policy(
    split: Split, policy: Policy, *, names: Mapping[Var, str] | None = None, is_part: bool = False
) -> Split:
    """Return the split that keeps what the policy says.

    `names` are the user's names of values. Results exist after the forward pass anyway, but those of a part of a larger
    program (`is_part`) are kept only if the policy says so. The split of a part is two calls under the policy, so that
    a second derivative keeps no more of them. Raises SpecError for another policy, and for a name that no value has.
    """
    check_policy(policy)
    if policy == "default":
        return split
    if policy == "save_all":
        return _saving_all(split)
    chosen = Cheap(COSTS) if policy == "recompute_cheap" else policy
    told = _told_sizes(split, _given(split))
    results = () if is_part else split.primal.results
    at_hand = {*_given(split), *told, *(r for r in results if isinstance(r, Var))}
    drawn = {v for op in split.primal.ops if not is_movable(op) for v in op.outputs}
    kept = at_hand | drawn | _kept(split, chosen, at_hand, names)
    cuts = _cuts(split, kept) if policy == "nothing" and not is_part else set()
    found = _put_off(split, recomputing(split, (kept | cuts).__contains__))
    # The values at the cuts are computed at once: in a file of both passes they are those of the forward pass.
    found = recomputing(found, kept.__contains__) if cuts else found
    arrays = [v for v in (*found.captures, *found.cotangents) if v not in told]
    found = _with_sizes_read(found, arrays if isinstance(chosen, Cheap) else [*arrays, *_given(split)])
    lean = _without_idle_ops(split, found)
    verified(lean.joint())
    return _as_calls(lean, policy) if is_part else lean


def _kept(split: Split, policy: Policy, at_hand: Set[Var], names: Mapping[Var, str] | None) -> set[Var]:
    """Return the values that the policy stores for the pullback; parameters and results exist anyway."""
    if isinstance(policy, Cheap):
        return _dear(split, policy.costs, at_hand)
    if isinstance(policy, str):
        return set()
    if callable(policy):
        return {v for op in split.primal.ops if policy(op) for v in op.outputs}
    return _named(split, policy, names_of(split.primal, split.pullback).of if names is None else names)


def _cuts(split: Split, kept: Set[Var]) -> set[Var]:
    """Return the values from which segments of the forward pass are recomputed, one after the other."""
    made_by = _made_by(split)
    wanted = {v for v in split.captures if v in made_by and v not in kept}
    again = {id(op) for v in wanted for op in _chain(v, made_by, kept | set(_given(split)))}
    return cut_values([op for op in split.primal.ops if id(op) in again], wanted)


def _named(split: Split, wanted: Collection[str], names: Mapping[Var, str]) -> set[Var]:
    """Return the values of these names. Raises SpecError, with the nearest names, for an unknown one."""
    values = {names[v]: v for v in (*split.primal.params, *_made_by(split)) if v in names}
    for name in wanted:
        if name not in values:
            near = get_close_matches(name, [*values, *POLICIES], n=4, cutoff=0.4) or list(values)[:4]
            raise SpecError(
                f"policy keeps {name!r}, and no value is called so",
                because=(f"the nearest names are {', '.join(map(repr, near))}",) if near else (),
                cure="The names are those of the listing of the split.",
            )
    return {values[name] for name in wanted}


def _saving_all(split: Split) -> Split:
    """Return the split whose pullback reads from the primal whatever it would recompute."""
    merged = _MergingCalls().run(split.joint())
    made = _made_by(split)
    gradients = merged.results[len(split.primal.results) :]
    ops = live_ops((op for op in merged.ops if op.outputs[0] not in made), gradients)
    return _of_pullback(split, Block(split.pullback.name, (), tuple(ops), gradients))


# What is cheap.


def _dear(split: Split, costs: Mapping[str, float], at_hand: Set[Var]) -> set[Var]:
    """Return the captures that are kept because recomputing them is no cheaper."""
    return {v for v, _, price in _prices(split, split.captures, costs, at_hand) if price >= THRESHOLD}


def recomputed(before: Split, after: Split, policy: Policy) -> list[tuple[Var, int, float]]:
    """Return the captures of `before` that `after`, the same split under a policy, recomputes.

    With each comes the number of ops that recompute it from what is kept and from those above it in the list, and their
    cost: infinity if the table lacks one of them.
    """
    if policy == "save_all":
        return []
    told = _told_sizes(before, _given(before))
    at_hand = {*_given(before), *told, *after.captures, *after.primal.results}
    gone = [v for v in before.captures if v not in after.captures]
    read = [(v, 0, 0.0) for v in gone if v in told]
    costs = policy.costs if isinstance(policy, Cheap) else COSTS
    return [*_prices(before, gone, costs, at_hand, limit=math.inf), *read]


def _prices(
    split: Split,
    wanted: Collection[Var],
    costs: Mapping[str, float],
    at_hand: Collection[Value],
    *,
    limit: float = THRESHOLD,
) -> Iterator[tuple[Var, int, float]]:
    """Yield for each of these values the number of ops that compute it from what exists or precedes it, and their cost.

    They are counted until the limit is reached.
    """
    here = {*at_hand}
    made_by = _made_by(split)
    asked = set(wanted) - here
    for var in (v for v in made_by if v in asked):
        count, total = 0, 0.0
        for op in _chain(var, made_by, here):
            if total > limit:
                break
            count, total = count + 1, total + _cost(op, var.type, costs)
        yield var, count, total
        here.add(var)


def _chain(var: Var, made_by: Mapping[Var, Op], here: Collection[Value]) -> Iterator[Op]:
    """Yield the ops that compute a value from what exists, the last first."""
    seen: set[int] = set()
    open_values = [var]
    while open_values:
        op = made_by[open_values.pop()]
        if id(op) not in seen:
            seen.add(id(op))
            yield op
            open_values += [v for v in reads(op) if v not in here]


def _cost(op: Op, wanted: Type, costs: Mapping[str, float]) -> float:
    """Return the op's cost for an element of the wanted value: infinity if it computes more elements than that has."""
    if not is_movable(op) or not all(_is_no_larger(v.type, wanted) for v in op.outputs):
        return math.inf
    if is_call(op) and op.kind not in costs:
        body: Block = op.attributes["body"]
        return sum(_cost(inner, wanted, costs) for inner in body.ops)
    return cost(op.kind, costs)


def _is_no_larger(a: Type, b: Type) -> bool:
    """Whether a has provably no more elements than b, or is broadcast to it."""
    if a.shape is None or b.shape is None:
        return False
    pairs = zip(reversed(a.shape), reversed(b.shape), strict=False)
    is_row = len(a.shape) <= len(b.shape) and all(dims.is_one(m) or dims.same(m, n) for m, n in pairs)
    return is_row or dims.at_least(dims.product(b.shape), dims.product(a.shape))


# Sizes, and what is left.


def _given(split: Split) -> list[Var]:
    """Return what the primal does not compute: its parameters and captures."""
    return [*split.primal.params, *free(split.primal)]


def _told_sizes(split: Split, sources: Iterable[Var]) -> set[Var]:
    """Return the vectors of sizes that can be read from these arrays."""
    with fresh_stack(), recording() as room:
        for var in sources:
            room.learn(var)
        readable = tracing.readable_sizes()

    def is_told(size: Dim) -> bool:
        return not isinstance(size, Size) or size.text in readable or dims.symbols(size) <= readable

    vectors = (v for v in _made_by(split) if v.sizes is not None and v.type.rank == 1 and v.type.dtype == np.int64)
    return {v for v in vectors if all(map(is_told, v.sizes or ()))}


def _with_sizes_read(split: Split, sources: Sequence[Var]) -> Split:
    """Return the split whose pullback reads vectors of sizes from these arrays, the first that have them."""
    told = _told_sizes(split, sources)
    wanted = [c for c in split.captures if c in told]
    if not wanted:
        return split
    with fresh_stack(), recording(place=NOWHERE, remark=AGAIN) as recorded:
        for var in sources:
            recorded.learn(var)
        vectors = {c: tracing.size_vector(c.sizes or ()) for c in wanted}
    back = rebind(Block(split.pullback.name, (), split.pullback.ops, split.pullback.results), vectors)
    return _of_pullback(split, Block(back.name, (), (*recorded.ops, *back.ops), back.results))


def _put_off(before: Split, after: Split) -> Split:
    """Return the split whose pullback recomputes a value when it is needed, and not before."""
    ops = after.pullback.ops
    count = len(ops) - len(before.pullback.ops)
    for var in (v for op in ops[:count] for v in op.outputs if v.hint):
        var.hint = f"{var.hint}_again"
    late = computed_late(ops[:count], ops[count:], after.pullback.results, after.cotangents)
    return _of_pullback(after, Block(after.pullback.name, (), tuple(late), after.pullback.results))


class _MergingCalls(Merging):
    """Computes every value once, those of equal calls too, but for calls inside of branches and loops."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Op] = []

    def visit(self, op: Op) -> Op | None:
        """Return None for a call whose outputs exist already."""
        if len(self.scopes) > 1 or not is_call(op) or not is_movable(op):
            return super().visit(op)
        known = next((c for c in self.calls if Comparison().ops(c, op)), None)
        if known is None:
            self.calls.append(op)
            return op
        self.replaced.update(zip(op.outputs, known.outputs, strict=True))
        return None


def _of_pullback(split: Split, pullback: Block) -> Split:
    """Return the split with this pullback, which has no parameters yet."""
    captures = tuple(v for v in free(pullback) if v not in split.cotangents)
    return replace(split, pullback=replace(pullback, params=(*captures, *split.cotangents)), captures=captures)


def _without_idle_ops(before: Split, after: Split) -> Split:
    """Return the split without the ops of the primal that only computed former captures."""
    primal = after.primal
    had = set(map(id, live_ops(primal.ops, (*primal.results, *before.captures))))
    has = set(map(id, live_ops(primal.ops, (*primal.results, *after.captures))))
    ops = tuple(op for op in primal.ops if id(op) in has or id(op) not in had)
    return replace(after, primal=replace(primal, ops=ops))


def _as_calls(split: Split, policy: Policy) -> Split:
    """Return the split whose forward pass is one call, and whose pullback is another."""
    forward, name = split.forward, split.primal.name
    if free(forward) or free(split.pullback):
        return split
    values, gradients = _like(forward.results), _like(split.pullback.results)
    known: dict[Value, Var] = dict(zip(forward.results, values, strict=True))
    captures = tuple(c if c in forward.params else known[c] for c in split.captures)
    # What the names of a policy keep is given to the pullback, which need not know them.
    under = policy if isinstance(policy, str | Cheap) or callable(policy) else "nothing"
    given = (*captures, *split.cotangents)
    run = Op(f"call::{name}", forward.params, values, {"body": forward, "policy": policy})
    back = Op(f"call::{name}__pullback", given, gradients, {"body": split.pullback, "policy": under})
    return replace(
        split,
        primal=Block(name, forward.params, (run,), values[: len(split.primal.results)]),
        pullback=Block(split.pullback.name, given, (back,), gradients),
        captures=captures,
    )


def _like(values: Iterable[Value]) -> tuple[Var, ...]:
    """Return new Vars of these types and names."""
    return tuple(Var(v.type, v.hint if isinstance(v, Var) else "", v.sizes) for v in values)


def _made_by(split: Split) -> dict[Var, Op]:
    return {v: op for op in split.primal.ops for v in op.outputs}
