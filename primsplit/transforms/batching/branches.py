"""Batch branches: a condition that differs between examples runs both sides, each for the examples that take it.

```
If(c): then Sqrt(x), else Neg(x)   ->   a = If(any c): Sqrt(x of takers);  b = If(any not c): Neg(x of takers)
                                        y = Where(c, a, b)
```
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from primsplit import tracing
from primsplit.ir import Block, Op, Type, Value, Var, reads
from primsplit.ir.dims import Dim, same
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.rewrites.untaken_sides import BRANCHES, is_kept_size
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import raise_at_run_time, raising_op
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.regions import emit_if, record, same_everywhere
from primsplit.transforms.batching.table import Outputs, Shared, Site, any_of, batched_type, batching, of_takers, spread


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


def without_unread_ranks(ops: Sequence[Op], results: Sequence[Value]) -> list[Op]:
    """Remove unread outputs of unknown rank from Ifs: each has a copy of known rank beside it."""
    read = {v for op in ops for v in reads(op)} | {v for v in results if isinstance(v, Var)}
    return [_without_unread_ranks(op, read) if op.kind == "If" else op for op in ops]


def _without_unread_ranks(op: Op, read: Container[Var]) -> Op:
    kept = [i for i, v in enumerate(op.outputs) if v.type.shape is not None or v in read]
    if len(kept) == len(op.outputs) or not kept:
        return op
    sides = {n: op.attributes[n] for n in BRANCHES}
    fewer = {n: replace(b, results=tuple(b.results[i] for i in kept)) for n, b in sides.items()}
    return replace(op, outputs=tuple(op.outputs[i] for i in kept), attributes={**op.attributes, **fewer})


def _chosen(site: Site, branches: Sequence[Block]) -> list[Array | Shared]:
    if chooses_between_sizes(site.op):
        raise ShapeError(
            "vmap: the two branches give values that may differ in shape, and the condition differs between examples",
            cure="Give them one shape, or reduce them inside of the branches.",
        )
    condition = reshape_to(site.input(0), [site.size])
    owners = [_kept_by(v, *sides) for v, *sides in zip(site.op.outputs, *(b.results for b in branches), strict=True)]
    sides = []
    for i, (block, taken) in enumerate(zip(branches, (condition, op.Not(condition)), strict=True)):
        wanted = {k: owner is None for k, owner in enumerate(owners) if owner in {None, i}}
        sides.append(dict(zip(wanted, _side(site, block, taken, wanted), strict=True)))
    then, other = sides
    types = site.results()
    return [
        sides[owner][k] if owner is not None else _either(condition, then[k], other[k], types[k])
        for k, owner in enumerate(owners)
    ]


def _either(condition: Array, then: Array | Shared, other: Array | Shared, type: Type) -> Array:
    """Return the result of each example's own branch."""
    assert isinstance(then, Array)
    assert isinstance(other, Array)
    return op.Where(spread(condition, len(then.shape)), then, other, types=[type])


def chooses_between_sizes(op: Op) -> bool:
    """Whether the branches of an If return values that may differ in size."""
    sides = (op.attributes[name].results for name in BRANCHES)
    return any(
        not _is_kept(v) and not same_everywhere(a.type.shape, b.type.shape)
        for v, a, b in zip(op.outputs, *sides, strict=True)
    )


def _kept_by(output: Var, *sides: Value) -> int | None:
    """Return the one branch that keeps this output for its pullback; the other one returns an empty array.

    If an example does not take that branch, nobody reads the value for it: the pullback chooses in the same way.
    """
    axes = [i for i, d in enumerate(output.type.shape or ()) if is_kept_size(d)]
    empty = [all(same((v.type.shape or ())[i], 0) for i in axes) for v in sides]
    return empty.index(False) if axes and empty.count(True) == 1 else None


def _is_kept(output: Var) -> bool:
    """Whether a branch keeps the value for its pullback, or it is the tangent or cotangent of such a value.

    In a batch of batches it has the inner batch's axis beside its own.
    """
    return any(map(is_kept_size, output.type.shape or ()))


def _side(site: Site, block: Block, taken: Array, wanted: Mapping[int, bool]) -> list[Array | Shared]:
    """Return some results of a branch for all examples; those of examples that do not take it are arbitrary.

    The branch runs if any example takes it, and then only on values of examples that do: it meets no value that a
    single run would not meet, so that no infinity or error spoils the rest. `wanted` maps the results' positions to
    whether they must be batched.
    """
    error = raising_op(block.ops)
    captured = site.captured(block)
    own = Block(block.name, tuple(v for v, _ in captured), block.ops, tuple(block.results[k] for k in wanted))
    made, flags = site.batch(own, [True] * len(captured), list(wanted.values()))
    is_any = any_of(taken)
    outputs = [(site.op.outputs[k], is_met, f) for (k, is_met), f in zip(wanted.items(), flags, strict=True)]
    types = [_side_type(v, site.size, is_met=m, is_batched=f) for v, m, f in outputs]

    def body() -> list[Value]:
        if error is not None:
            return raise_at_run_time(is_any.value, types, error.place, error.remark)
        return tracing.inline(made, [of_takers(x, taken).value for _, x in captured])

    def nobody() -> list[Value]:
        return [_nothing(v, site.size, is_met=m, is_batched=f).value for v, m, f in outputs]

    found = map(Array, emit_if(is_any.value, record(block.name, [], body), record("nobody", [], nobody), types))
    return [y if f else Shared(y) for y, f in zip(found, flags, strict=True)]


def _side_type(output: Var, size: Dim, *, is_met: bool, is_batched: bool) -> Type:
    """Return the type of a side's result.

    A kept size that both sides return has size 1 where no example takes the side.
    """
    whole = batched_type(output.type, size) if is_batched else output.type
    if is_met and _is_kept(output):
        return Type(whole.dtype, [fresh("side") for _ in whole.shape or ()])
    return whole


def _nothing(output: Var, size: Dim, *, is_met: bool, is_batched: bool) -> Array:
    """Return the result of a branch that no example takes: zeros, or no elements if one branch keeps it."""
    stand_in = 1 if is_met else 0
    shape = [stand_in if is_kept_size(d) else d for d in output.type.shape or ()]
    return zeros((size, *shape) if is_batched else shape, output.type.dtype)
