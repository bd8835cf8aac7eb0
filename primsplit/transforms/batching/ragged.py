"""Batch values whose size differs between examples, such as what a mask picks: a loop over the examples holds them.

Such a value cannot be stacked. The ops between those that produce one and those whose results have one size again, a
sum say, are a *region*: it becomes one op, which is computed for one example after the other.

```
i = NonZero(m)
v = GatherND(x, i)     ->     s = call::ragged(m, x), in a Loop over the examples
s = ReduceSum(v)
```
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from primsplit import tracing
from primsplit.ir import Block, Op, Value, Var, live_ops, reads, rename_block
from primsplit.ir.analysis.dependence import dependent
from primsplit.ir.dims import Dim, Size, symbols
from primsplit.ir.errors import ShapeError
from primsplit.ir.parts import Split
from primsplit.ops import op as operators
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.transforms.batching.each import each
from primsplit.transforms.split import split_block

KIND = "call::ragged"


def shaped(values: Iterable[Value]) -> set[str]:
    """Return the symbols in the sizes of values."""
    return {s for v in values for d in v.type.shape or () for s in symbols(d)}


def spoken(values: Iterable[Value]) -> set[str]:
    """Return the symbols in the sizes that integer values hold."""
    return {s for v in values for d in v.sizes or () for s in symbols(d)}


@dataclass(frozen=True, slots=True)
class Contracted:
    """Ops with a region replaced by one op: what can run before it, the region, and what follows."""

    before: list[Op]
    region: Op
    after: list[Op]


def contract(ops: Sequence[Op], results: Sequence[Value], common: Set[str], batched: Set[Var]) -> Contracted:
    """Replace the region that the first op begins by one op.

    `common` are the sizes that all examples share before it, `batched` the values that differ between examples. Raises
    ShapeError if a result has a size that differs between examples.
    """
    differing = _differing(ops, common, batched)
    inside, grown, needed = set[int](), {0}, set[int]()
    while grown != inside:
        inside = grown
        touched = _touched(ops, inside, common, differing)
        needed = _needed(ops, touched)
        grown = touched | (_followers(ops, touched) & needed) | _read_after(ops, touched, needed, differing)
    region = [op for i, op in enumerate(ops) if i in inside]
    defined = {v for op in region for v in op.outputs}
    read = {v for i, op in enumerate(ops) if i not in inside for v in reads(op)}
    read |= {r for r in results if isinstance(r, Var)}
    exits = tuple(v for op in region for v in op.outputs if v in read)
    whole = Block("ragged", (), tuple(region), exits)
    outer = tuple(dict.fromkeys(v for op in region for v in reads(op) if v not in defined))
    _check(exits, common | shaped(outer), ops[0])
    body = rename_block(Block(whole.name, outer, whole.ops, exits), {})
    one = ops[0].beside(KIND, outer, exits, {"body": body})
    # What the region does not need comes after it: another region there may need what this one gives.
    before = [op for i, op in enumerate(ops) if i in needed and i not in inside]
    after = [op for i, op in enumerate(ops) if i not in needed and i not in inside]
    return Contracted(before, one, after)


def _differing(ops: Sequence[Op], common: Set[str], batched: Set[Var]) -> set[str]:
    """Return the sizes that ops compute from what differs between examples."""
    reached = dependent(ops, batched)
    return {
        s for op in ops if not reached.isdisjoint(op.outputs) for s in shaped(op.outputs) - common - shaped(reads(op))
    }


def _sizes_of(op: Op) -> set[str]:
    """Return the symbols in the sizes that an op reads, produces or holds."""
    met = (*reads(op), *op.outputs)
    return shaped(met) | spoken(met)


def _touched(ops: Sequence[Op], begun: Set[int], common: Set[str], differing: Set[str]) -> set[int]:
    """The ops `begun`, and those that use a size which these produce, or use and which differs between examples."""
    ragged = {s for i in begun for s in _sizes_of(ops[i]) if s in differing}
    inside: set[int] = set()
    for position, op in enumerate(ops):
        read = reads(op)
        if position in begun or not ragged.isdisjoint(_sizes_of(op)):
            inside.add(position)
            ragged |= shaped(op.outputs) - common - (shaped(read) - ragged)
    return inside


def _followers(ops: Sequence[Op], inside: set[int]) -> set[int]:
    """Return the ops outside that depend on those inside."""
    known: set[Var] = set()
    positions: set[int] = set()
    for position, op in enumerate(ops):
        if position in inside:
            known.update(op.outputs)
        elif any(v in known for v in reads(op)):
            known.update(op.outputs)
            positions.add(position)
    return positions


def _read_after(ops: Sequence[Op], inside: set[int], needed: set[int], differing: Set[str]) -> set[int]:
    """Return the ops of another region that those inside need, if what follows both uses its sizes too.

    So the pullbacks of a product of two regions each need the other one's sum.
    """
    after = {s for i, op in enumerate(ops) if i not in inside and i not in needed for s in _sizes_of(op)} & differing
    return {i for i in needed - inside if not after.isdisjoint(_sizes_of(ops[i]))} if after else set()


def _needed(ops: Sequence[Op], inside: set[int]) -> set[int]:
    """Return the ops outside that those inside depend on."""
    wanted: set[Var] = set()
    positions: set[int] = set()
    for position in reversed(range(len(ops))):
        op = ops[position]
        if position in inside:
            wanted.update(reads(op))
        elif any(v in wanted for v in op.outputs):
            wanted.update(reads(op))
            positions.add(position)
    return positions


def _check(exits: Sequence[Var], common: Set[str], first: Op) -> None:
    for var in exits:
        if not shaped([var]) <= common:
            raise ShapeError(
                f"{first.kind} has no batch: the size of a result that depends on it would differ between examples",
                place=first.place,
                because=(f"the result is {var.type} for one example",),
                cure="Let all examples share what tells it, by in_axes=None, or reduce the result."
                if traits(first.kind).sizes
                else "Choose by np.where, which keeps the size, or reduce what was picked.",
            )


class RaggedRule:
    """The rule of a region that is computed example by example; its pullback is so too, and recomputes the region.

    Values that a region would keep for its pullback may differ in size between examples, and could not be stacked.
    """

    def __init__(self, op: Op, batched: tuple[bool, ...], size: Dim) -> None:
        self.op = op
        self.batched = batched
        self.size = size

    @property
    def body(self) -> Block:
        """The region of one example, whose derivative the rule computes."""
        body: Block = self.op.attributes["body"]
        return body

    def __call__(self, *inputs: Array) -> tuple[tuple[Array, ...], Callable[..., list[Array | None]]]:
        values = each_call(self.op, self.batched, self.size, inputs)

        def pullback(*cotangents: Array | None) -> list[Array | None]:
            body = self.body
            wrt = [i for i, p in enumerate(body.params) if p.type.is_float]
            split = split_block(body, wrt, [i for i, r in enumerate(body.results) if r.type.is_float])
            seeds = [zeros_like(values[i]) if (dy := cotangents[i]) is None else dy for i in split.of]
            given, flags = (*inputs, *seeds), (*self.batched, *[True] * len(seeds))
            found: dict[int, Array] = {}
            for pulled in _pulled(body, split, self.op):
                chosen = [given[i] for i in pulled.reads]
                made = each_call(pulled.op, tuple(flags[i] for i in pulled.reads), self.size, chosen)
                found.update(zip(pulled.targets, made, strict=True))
            return [
                None if i not in found else found[i] if b else operators.ReduceSum(found[i], [0], keepdims=0)
                for i, b in enumerate(self.batched)
            ]

        return tuple(values), pullback


@dataclass(frozen=True, slots=True)
class Pulled:
    """An op that computes the cotangents of some `targets`, and the inputs and cotangents that it reads."""

    op: Op
    reads: tuple[int, ...]
    targets: tuple[int, ...]


def _pulled(body: Block, split: Split, region: Op) -> list[Pulled]:
    """Return the cotangents of one example; those that read the same values are one op.

    What is linear in a cotangent has a derivative that does not read it, as long as it is an op of its own.
    """
    joint = split.joint()
    groups: dict[tuple[int, ...], list[tuple[int, Value]]] = {}
    for target, result in zip(split.targets, joint.results[len(body.results) :], strict=True):
        read = {v for op in live_ops(joint.ops, [result]) for v in reads(op)} | {result}
        groups.setdefault(tuple(i for i, p in enumerate(joint.params) if p in read), []).append((target, result))
    return [_pulled_op(body, joint, positions, wanted, region) for positions, wanted in groups.items()]


def _pulled_op(
    body: Block, joint: Block, positions: tuple[int, ...], wanted: Sequence[tuple[int, Value]], region: Op
) -> Pulled:
    targets, results = zip(*wanted, strict=True)
    params = tuple(joint.params[i] for i in positions)
    whole = Block(f"{body.name}_pullback", params, tuple(live_ops(joint.ops, results)), tuple(results))
    made = rename_block(whole, {})
    outputs = tuple(Var(body.params[i].type) for i in targets)
    return Pulled(Op(f"{KIND}_pullback", made.params, outputs, {"body": made}, region.place), positions, targets)


def each_call(op: Op, batched: tuple[bool, ...], size: Dim, inputs: Sequence[Array]) -> list[Array]:
    """Record the op for each example, as a call with a derivative rule; all its outputs are batched."""
    body = each(op, batched, size)
    sizes: dict[str, Dim] = {}
    for param, given in zip(body.params, inputs, strict=True):
        for wanted, dim in zip(param.type.shape or (), given.shape, strict=True):
            if isinstance(wanted, Size) and wanted.symbol is not None:
                sizes.setdefault(wanted.symbol, dim)
    outputs = tuple(Var(r.type.substitute(sizes)) for r in body.results)
    attributes = {"body": rename_block(body, {}, sizes), "rule": RaggedRule(op, batched, size)}
    kind = f"call::each_{op.kind.removeprefix('call::')}"
    tracing.append(op.beside(kind, tuple(x.value for x in inputs), outputs, attributes))
    return [Array(v) for v in outputs]
