"""Batching of branches: what differs between examples is computed for those that take the branch, and chosen."""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.batching.table import Outputs, Shared, Site, any_of, batched_type, batching, of_takers, spread
from primsplit.broadcasting import reshape_to, zeros
from primsplit.dims import symbols
from primsplit.errors import ShapeError
from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.nested import emit_if, record, same_everywhere
from primsplit.ops import op
from primsplit.raising import raise_at_run_time, raising_op
from primsplit.rules.branches import BRANCHES

KEPT = "kept"
"""The stem of the sizes of what a branch keeps for its pullback."""


@batching("If")
def branch(site: Site) -> Outputs:
    """A condition that all share still runs one branch; for one that differs, both are run and chosen from."""
    branches: list[Block] = [site.op.attributes[name] for name in BRANCHES]
    if site.is_batched(0):
        return _chosen(site, branches)
    wanted = [any(flags) for flags in zip(*(site.batch(b, [])[1] for b in branches), strict=True)]
    then, other = (site.batch(b, [], wanted)[0] for b in branches)
    types = [batched_type(v.type, site.size) if w else v.type for v, w in zip(site.op.outputs, wanted, strict=True)]
    made = map(Array, emit_if(site.input(0).value, then, other, types))
    return [y if w else Shared(y) for y, w in zip(made, wanted, strict=True)]


def _chosen(site: Site, branches: Sequence[Block]) -> list[Array]:
    if chooses_between_sizes(site.op):
        raise ShapeError(
            "vmap: the two branches give values that may differ in shape, and the condition differs between examples",
            cure="Give them one shape, or reduce them inside of the branches.",
        )
    condition = reshape_to(site.input(0), [site.size])
    owners = [_kept_by(v, *sides) for v, *sides in zip(site.op.outputs, *(b.results for b in branches), strict=True)]
    sides = []
    for i, (block, taken) in enumerate(zip(branches, (condition, op.Not(condition)), strict=True)):
        positions = [k for k, owner in enumerate(owners) if owner in {None, i}]
        sides.append(dict(zip(positions, _side(site, block, taken, positions), strict=True)))
    then, other = sides
    return [
        op.Where(spread(condition, len(then[k].shape)), then[k], other[k]) if owner is None else sides[owner][k]
        for k, owner in enumerate(owners)
    ]


def chooses_between_sizes(op: Op) -> bool:
    """True for an If whose branches give values that may differ in size."""
    sides = (op.attributes[name].results for name in BRANCHES)
    return any(
        _kept_by(v, a, b) is None and not same_everywhere(a.type.shape, b.type.shape)
        for v, a, b in zip(op.outputs, *sides, strict=True)
    )


def _kept_by(output: Var, *sides: Value) -> int | None:
    """The branch that alone keeps this output, for its pullback; the other one gives an empty array.

    Where an example does not take that branch, nobody reads what it keeps: the pullback chooses likewise.
    """
    empty = [isinstance(v, Const) and not any(v.data.shape) for v in sides]
    return empty.index(False) if _is_kept(output) and empty.count(True) == 1 else None


def _is_kept(output: Var) -> bool:
    return {name.rpartition("_")[0] for d in output.type.shape or () for name in symbols(d)} == {KEPT}


def _side(site: Site, block: Block, taken: Array, positions: Sequence[int]) -> list[Array]:
    """Some results of a branch for all examples: what those have that do not take it is of no account.

    The branch is run where any example takes it, and then for no other values than of examples that do: it meets
    nothing that it would not meet in a run of its own, so that no infinity or error of its making spoils the rest.
    """
    types = [batched_type(site.op.outputs[k].type, site.size) for k in positions]
    error = raising_op(block.ops)
    captured = site.captured(block)
    own = Block(block.name, tuple(v for v, _ in captured), block.ops, tuple(block.results[k] for k in positions))
    is_any = any_of(taken)

    def body() -> list[Value]:
        if error is not None:
            return raise_at_run_time(is_any.value, types, error.place, error.remark)
        made, _ = site.batch(own, [True] * len(captured), [True] * len(positions))
        return tracing.inline(made, [of_takers(x, taken).value for _, x in captured])

    def nobody() -> list[Value]:
        return [_nothing(site.op.outputs[k], site).value for k in positions]

    return list(map(Array, emit_if(is_any.value, record(block.name, [], body), record("nobody", [], nobody), types)))


def _nothing(output: Var, site: Site) -> Array:
    """What stands for an output of a branch that no example takes; no elements where only its pullback reads it."""
    shape = output.type.shape or ()
    if _is_kept(output):
        return Array(tracing.constant(np.zeros((0,) * (len(shape) + 1), output.type.dtype)))
    return zeros((site.size, *shape), output.type.dtype)
