"""Transpose a linear list: its own pullback is the list of the transposed map.

A pullback, which maps cotangents of results to those of parameters, becomes the tangent list; a tangent list becomes a
pullback. The captures are constants. Of the values that the list is applied to, only the shapes remain.

```
linear(a, dz): dx = Mul(dz, a)       ->       transposed(a, t): s = Mul(t, a)
linear(dz):    dx = ReduceSum(dz)    ->       transposed(t):    s = Expand(t, shape of dz)
```
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from primsplit.ir import Block, Op, Renaming, Value, Var, live_ops, reads, rename_reads, renamed
from primsplit.ir.analysis.dependence import SHAPES, dependent
from primsplit.ir.dims import same_shape
from primsplit.ir.errors import RuleError
from primsplit.ir.parts import Split
from primsplit.rewrites import optimize
from primsplit.rewrites.rewrites.table import number
from primsplit.rules.activity import active_vars
from primsplit.transforms.split import split_block
from primsplit.transforms.tangents.choices import join_choices


@dataclass(frozen=True, slots=True)
class Transposed:
    """The ops of a transposed list, its seeds (one for each result of the list), and its results by position.

    The positions are those of the list's seeds; one that no result depends on is left out.
    """

    ops: tuple[Op, ...]
    seeds: tuple[Var, ...]
    results: dict[int, Value]


def transpose(linear: Block, count: int, stand_ins: Sequence[Value], at_hand: Sequence[Value], what: str) -> Transposed:
    """Transpose a list that is linear in its last `count` parameters.

    `stand_ins` have the types of these, and `at_hand` are further values whose shapes may be read. Raises RuleError if
    the list's ops show that it is not linear; `what` names the list in the error. Raises MissingRule.
    """
    first = len(linear.params) - count
    seeds = linear.params[first:]
    _check_smooth(linear, seeds, what)
    back = split_block(linear, range(first, len(linear.params)), range(len(linear.results)))
    given = dict(zip(seeds, stand_ins, strict=True))
    ops = _without_seeds([*back.primal.ops, *back.pullback.ops], back, given, (*at_hand, *back.cotangents), what)
    unmarked = tuple(replace(op, remark="") for op in ops)
    lean = join_choices(optimize(Block("", (), unmarked, back.pullback.results)))
    results = {i - first: r for i, r in zip(back.targets, lean.results, strict=True)}
    return Transposed(lean.ops, back.cotangents, results)


def _check_smooth(block: Block, seeds: Sequence[Var], what: str) -> None:
    """Raise RuleError if a seed goes through an op without a tangent, or a number is added: either would be lost."""
    active = active_vars(block.ops, seeds)
    depends = dependent(block.ops, seeds)
    wanted = {v for op in block.ops for v in reads(op)} | {r for r in block.results if isinstance(r, Var)}
    for op in block.ops:
        if op.attributes.get("measures"):
            continue
        if any(v in depends and v in wanted and v not in active for v in op.outputs):
            raise _not_linear(what, op)
        if op.kind in {"Add", "Sub"} and not active.isdisjoint(op.outputs) and any(map(number, op.inputs)):
            raise _not_linear(what, op, "adds a number to")


def _not_linear(what: str, op: Op, does: str = "reads") -> RuleError:
    return RuleError(
        f"{what} is not linear: {op.kind} {does} what it should be linear in",
        because=("forward mode transposes a pullback, and reverse mode a pushforward",),
        cure="Write it as sums and products with what it captures, or give both rules: ps.rrule and ps.frule.",
    )


def _without_seeds(ops: Sequence[Op], back: Split, seeds: Renaming, at_hand: Sequence[Value], what: str) -> list[Op]:
    """Return the live ops; the shape of a value that depends on a seed is read from another value.

    Raises RuleError if anything else than a shape depends on a seed.
    """
    results = back.pullback.results
    live = live_ops(ops, results)
    depends = dependent(live, seeds)
    if any(r in depends for r in results):
        raise _not_linear(what, next(op for op in back.pullback.ops if any(v in depends for v in reads(op))))
    names: Renaming = {}
    for op in live:
        if op.kind in SHAPES and isinstance(source := op.inputs[0], Var) and source in depends:
            names[source] = seeds.get(source) or _of_same_shape(source, at_hand)
    live = live_ops([_renamed_inputs(op, names) if op.kind in SHAPES else op for op in live], results)
    if not any(v in depends for op in live for v in reads(op)):
        return live
    # What has the shape, or is computed by a loop beside something else, is computed from the stand-ins.
    return [rename_reads(op, seeds) for op in live]


def _of_same_shape(source: Var, at_hand: Sequence[Value]) -> Value:
    """Return a value at hand of provably the same shape; the Var itself if there is none."""
    shape = source.type.shape
    same = (v for v in at_hand if shape is not None and v.type.shape is not None and same_shape(v.type.shape, shape))
    return next(same, source)


def _renamed_inputs(op: Op, names: Renaming) -> Op:
    return replace(op, inputs=tuple(renamed(v, names) for v in op.inputs))
