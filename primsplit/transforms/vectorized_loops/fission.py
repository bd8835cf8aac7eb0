"""Split Scans up: ops of a step that do not need the step before run for all steps at once, around the Scan.

An operator on little data costs about as much in a Scan's body as it does outside for all steps together. So ops that
depend on the elements alone are batched in front; ops that no carry depends on are batched behind; and a carry that
only sums is summed behind, products of matrices in one product over all steps.

Ops on many elements of a step stay in the Scan, where these are in the cache. A Scan over a few directions at a time
(`chunk=`) stays whole.

```
Scan(h, xs): a = MatMul(x, w); h = Tanh(Add(a, h))   ->   as = MatMul(xs, w); Scan(h, as): h = Tanh(Add(a, h))
```
"""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, BodyRole, Const, Op, Type, Value, Var, dims, has_blocks, is_call, readers, reads
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.analysis.dependence import dependent
from primsplit.ir.dims import Dim, product
from primsplit.ops import op as operators
from primsplit.ops.traits import sized_by, traits
from primsplit.rewrites.cse import is_deterministic
from primsplit.rewrites.loops.step_sums import Sum, Term, summing_ops, sums_of
from primsplit.rewrites.products.addends import PRODUCTS
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.regions import ScanForm, Walk, emit_scan, visible
from primsplit.transforms.batching.table import forms
from primsplit.transforms.batching.transform import batch_block


def split_up_scans(block: Block) -> Block:
    """Return the block with less inside of its Scans; itself if there are none."""
    return _SplittingUp().run(block)


class _SplittingUp(Rewriter):
    """The walk. `zeros` are the values that are zero everywhere, where sums may begin."""

    kinds = frozenset({"Scan"})

    def __init__(self) -> None:
        super().__init__()
        self.zeros: set[Var] = set()

    def visit(self, op: Op) -> Op | None:
        """Return the op, or None for a Scan that has been replaced."""
        if op.kind == "ConstantOfShape" and not np.any(op.attributes.get("value", 0.0)):
            self.zeros.update(op.outputs)
        parts = _parts_of(op) if op.kind == "Scan" else None
        if parts is None:
            return super().visit(op)
        self.replace_by(op, _Recording(parts, self.zeros).outputs)
        return None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A Scan and the parts of its body. `front` and `behind` are batched; the rest stays."""

    scan: Op
    body: Block
    count: int
    walk: Walk
    front: list[Op]
    inside: list[Op]
    behind: list[Op]
    sums: list[Sum]

    @property
    def carries(self) -> list[int]:
        """The positions of the carries that stay."""
        summed = {s.carry for s in self.sums}
        return [k for k in range(self.count) if k not in summed]

    @property
    def elements(self) -> tuple[Var, ...]:
        """The body's parameters after the carries."""
        return self.body.params[self.count :]


def _parts_of(scan: Op) -> _Parts | None:
    """Return how a Scan is split up; None if it stays whole."""
    body: Block = scan.attributes["body"]
    _, count = lead_and_carries(scan)
    walk = one_walk(scan, count)
    if walk is None or body.name is BodyRole.DIRECTIONS:
        return None
    known = visible(v for v in scan.inputs if v is not None) | visible(v for v in reads(scan))
    batched = batchable(body, known)
    front = _front(body, count, batched)
    sums = sums_of(body, count, known)
    while True:
        behind = _behind(body, count, sums, set(map(id, front)), batched)
        kept = [s for s in sums if all(_is_behind(term, body, behind) for term in s.terms)]
        if len(kept) == len(sums):
            break
        sums = kept
    if not _is_worth(body, count, front, behind, sums):
        behind, sums = [], []
    moved = {id(op) for op in (*front, *behind)} | {id(op) for op in summing_ops(body, sums)}
    if not moved:
        return None
    inside = [op for op in body.ops if id(op) not in moved]
    return _Parts(scan, body, count, walk, front, inside, behind, sums)


def one_walk(scan: Op, count: int) -> Walk | None:
    """Return how all sequences are read and written, along the first axis; None if they differ."""
    sequences, stacked = len(scan.inputs) - count, len(scan.outputs) - count
    given = scan.attributes
    axes = [*given.get("scan_input_axes", [0] * sequences), *given.get("scan_output_axes", [0] * stacked)]
    directions = [
        *given.get("scan_input_directions", [0] * sequences),
        *given.get("scan_output_directions", [0] * stacked),
    ]
    if any(axes) or len(set(directions)) > 1 or any(v is None or v.type.shape is None for v in scan.inputs):
        return None
    return Walk(0, bool(directions[0]))


def batchable(body: Block, known: frozenset[str]) -> set[int]:
    """Return the ops, by id, that can be batched over steps. Inputs that decide sizes must be the same in all steps."""
    moving = dependent(body.ops, body.params)

    def is_sized_alike(op: Op) -> bool:
        deciding = sized_by(op.kind, len(op.inputs))
        return moving.isdisjoint(v for i, v in enumerate(op.inputs) if i in deciding and isinstance(v, Var))

    return {id(op) for op in body.ops if _is_batched(op, known) and is_sized_alike(op)}


def _is_batched(op: Op, known: frozenset[str]) -> bool:
    """Whether the op has a batching rule, and its results have one shape in all steps."""
    if has_blocks(op) or is_call(op) or not is_deterministic(op.kind) or forms(op.kind) != ("rule",):
        return False
    return all(v.type.shape is not None and visible([v]) <= known for v in op.outputs)


def _size(values: Iterable[Value | None]) -> Dim:
    """Return the number of elements of these values together."""
    return sum((product(v.type.shape) for v in values if v is not None and v.type.shape is not None), start=0)


def _front(body: Block, count: int, batched: Collection[int]) -> list[Op]:
    """Return the ops that depend on the elements alone, and whose results are at most a few times as large.

    Elementwise ops on much data at each step stay in the body, where operands and results are in the cache, unless
    something in front needs them, or they add a bias to a product there, which costs nothing.
    """
    given = set(body.params[count:])
    varying = set(body.params)
    found: list[Op] = []
    for op in body.ops:
        read = [v for v in reads(op) if v in varying]
        varying.update(op.outputs)
        grows = not dims.at_least(GROWTH * _size(read), _size(op.outputs))
        if read and all(v in given for v in read) and id(op) in batched and not grows:
            given.update(op.outputs)
            found.append(op)
    in_front: list[Op] = []
    needed: set[Var] = set()
    products = {v for op in found if op.kind in PRODUCTS for v in op.outputs}
    for op in reversed(found):
        stays = traits(op.kind).elementwise and is_much(op.outputs[0]) and needed.isdisjoint(op.outputs)
        if not stays or _adds_bias(op, products, varying):
            needed.update(reads(op))
            in_front.append(op)
    return in_front[::-1]


def _adds_bias(op: Op, products: Collection[Value], varying: Collection[Value]) -> bool:
    """Whether the op adds a product and a vector that is the same in each step."""
    return op.kind == "Add" and any(
        a in products and b is not None and b not in varying and b.type.rank == 1
        for a, b in (op.inputs, op.inputs[::-1])
    )


GROWTH = 8
"""An op in front may produce at most so many elements from one."""
MUCH = 2**13
"""From so many bytes a step on, passes over memory for all steps cost more than ops in the body."""


def is_much(value: Value) -> bool:
    """Whether a value of a step has certainly so many bytes."""
    size = value.type.literal_nbytes()
    return size is not None and size >= MUCH


def _behind(body: Block, count: int, sums: Sequence[Sum], front: set[int], batched: Collection[int]) -> list[Op]:
    """Return the ops that no carry depends on, and that can be batched with all their readers."""
    summed = {s.carry for s in sums}
    wanted = {r for k, r in enumerate(body.results[:count]) if k not in summed and isinstance(r, Var)}
    adding = {id(op) for op in summing_ops(body, sums)}
    read_by = readers(body.ops, body.results)
    found: set[int] = set(adding)
    behind: list[Op] = []
    for op in reversed(body.ops):
        if id(op) in adding:
            continue
        if any(v in wanted for v in op.outputs):
            wanted.update(reads(op))
            continue
        free_of_carries = all(r is None or id(r) in found for v in op.outputs for r in read_by.get(v, []))
        if id(op) not in front and free_of_carries and id(op) in batched:
            found.add(id(op))
            behind.append(op)
        else:
            wanted.update(reads(op))
    return behind[::-1]


def _is_behind(term: Term, body: Block, behind: Sequence[Op]) -> bool:
    """Whether summing a term behind is no more work: it is a product of matrices, or no larger than its operands."""
    if term.factors is not None:
        return True
    made = next((op for op in body.ops if term.value in op.outputs), None)
    if made is None or made not in behind:
        return made is None or is_little(term.value)
    return dims.at_least(_size(v for v in reads(made) if v.type.is_float), _size([term.value]))


def is_little(value: Value) -> bool:
    """Whether a value of a step has certainly so few elements that an op's overhead exceeds its work."""
    return dims.at_least(SMALL, _size([value]))


SMALL = 64
"""Terms of so many elements are always worth stacking, and those of all steps are added before they are summed."""


def _is_worth(body: Block, count: int, front: Sequence[Op], behind: Sequence[Op], sums: Sequence[Sum]) -> bool:
    """Whether the values stacked for the ops behind are no more than those that they stack, or than the sums' operands.

    For small values, an op in the body costs more than a value that is stacked.
    """
    new = _to_stack(body, count, front, behind, sums)
    removed = [r for r in body.results[count:] if any(r in op.outputs for op in behind)]
    summed = {v for s in sums for v in s.sources}
    extra = [v for v in new if v not in summed]
    if not extra or dims.at_least(_size(removed), _size(extra)):
        return True
    are_fewer = len(extra) < len(behind) + len(summing_ops(body, sums))
    return are_fewer and all(map(is_little, extra))


def _to_stack(body: Block, count: int, front: Sequence[Op], behind: Sequence[Op], sums: Sequence[Sum]) -> list[Var]:
    """The values of the steps that the ops behind and the sums read, and that are not read or stacked already."""
    there = {*body.params[count:], *(v for op in front for v in op.outputs), *(v for op in behind for v in op.outputs)}
    stacked = {r for r in body.results[count:] if isinstance(r, Var)}
    defined = {*body.params, *(v for op in body.ops for v in op.outputs)}
    wanted = [v for op in behind for v in reads(op)] + [v for s in sums for v in s.sources]
    return [v for v in dict.fromkeys(wanted) if v in defined and v not in there and v not in stacked]


def stepwise(body: Block, count: int, elements: Mapping[Var, Value], length: Dim) -> dict[Var, Value]:
    """Record for all steps at once the ops of a body that depend on its elements alone; return their values by step's.

    `elements` are the sequences by the body's parameters after the carries.
    """
    given: set[Var] = set(elements)
    ops: list[Op] = []
    moving = dependent(body.ops, body.params[:count])
    for op in body.ops:
        if moving.isdisjoint(op.outputs) and not given.isdisjoint(reads(op)):
            given.update(op.outputs)
            ops.append(op)
    results = [v for op in ops for v in op.outputs]
    read = dict.fromkeys(v for op in ops for v in reads(op) if v in elements)
    if not results:
        return dict(elements)
    block = Block("steps", tuple(read), tuple(ops), tuple(results))
    batched, _ = batch_block(block, [True] * len(read), length, wanted=[True] * len(results))
    return {**elements, **dict(zip(results, tracing.inline(batched, [elements[v] for v in read]), strict=True))}


class _Recording:
    """The recorded parts. `all_steps` maps values of a step to those of all steps, where these are known."""

    def __init__(self, parts: _Parts, zeros: set[Var]) -> None:
        self.parts = parts
        self.zeros = zeros
        self.inputs = [v for v in parts.scan.inputs if v is not None]
        self.sequences = self.inputs[parts.count :]
        shape = self.sequences[0].type.shape
        self.length: Dim = 0 if shape is None else shape[0]
        self.all_steps: dict[Var, Value] = dict(zip(parts.elements, self.sequences, strict=True))

    def outputs(self) -> list[Value]:
        """Record everything; return the Scan's outputs."""
        parts, body = self.parts, self.parts.body
        self.batch(parts.front, [v for op in parts.front for v in op.outputs])
        last = self.scan()
        wanted = [r for r in body.results[parts.count :] if isinstance(r, Var)]
        wanted += [v for s in parts.sums for v in s.sources]
        self.batch(parts.behind, wanted)
        sums = {s.carry: self.total(s) for s in parts.sums}
        stacked = body.results[parts.count :]
        carries = [sums[k] if k in sums else last[k] for k in range(parts.count)]
        return [*carries, *(self.stack_of(r) for r in stacked)]

    def batch(self, ops: Sequence[Op], wanted: Sequence[Var]) -> None:
        """Record ops for all steps at once; remember the wanted values."""
        made = {v for op in ops for v in op.outputs}
        results = [v for v in dict.fromkeys(wanted) if v in made and v not in self.all_steps]
        if not results:
            return
        read = dict.fromkeys(v for op in ops for v in reads(op) if v in self.all_steps and v not in made)
        block = Block("steps", tuple(read), tuple(ops), tuple(results))
        batched, _ = batch_block(block, [True] * len(read), self.length, wanted=[True] * len(results))
        found = tracing.inline(batched, [self.all_steps[v] for v in read])
        self.all_steps.update(zip(results, found, strict=True))

    def scan(self) -> dict[int, Value]:
        """Record the rest of the Scan; return the last carries by position."""
        parts, body = self.parts, self.parts.body
        outside = {v for op in parts.behind for v in op.outputs}
        new = _to_stack(body, parts.count, parts.front, parts.behind, parts.sums)
        kept = [r for r in body.results[parts.count :] if isinstance(r, Var)]
        stacked = [v for v in dict.fromkeys((*kept, *new)) if v not in self.all_steps and v not in outside]
        if not parts.carries and not parts.inside and not stacked:
            return {}
        results = [body.results[k] for k in parts.carries]
        used = {v for op in parts.inside for v in reads(op)} | {v for v in (*results, *stacked) if isinstance(v, Var)}
        walked = [v for v in self.all_steps if v in used] or [parts.elements[0]]
        params = tuple(body.params[k] for k in parts.carries)
        inner = Block(body.name, (*params, *walked), tuple(parts.inside), (*results, *stacked))
        form = ScanForm(inner, len(params), (parts.walk,) * len(walked), (parts.walk,) * len(stacked))
        starts = [self.inputs[k] for k in parts.carries]
        types = [self.batched_type(v) for v in stacked]
        outputs = emit_scan(form, starts, [self.all_steps[v] for v in walked], types)
        self.all_steps.update(zip(stacked, outputs[len(params) :], strict=True))
        return dict(zip(parts.carries, outputs, strict=False))

    def batched_type(self, var: Var) -> Type:
        """Return the type of a value of all steps."""
        return Type(var.type.dtype, (self.length, *(var.type.shape or ())))

    def stack_of(self, result: Value) -> Value:
        """Return a result of all steps; one that is the same in each is repeated."""
        if isinstance(result, Var) and result in self.all_steps:
            return self.all_steps[result]
        whole = tracing.size_vector((self.length, *(result.type.shape or ())))
        wanted = self.batched_type(result) if isinstance(result, Var) else _stacked_const(result, self.length)
        return operators.Expand(Array(result), whole, types=[wanted]).value

    def total(self, each: Sum) -> Value:
        """Return the value of a summing carry after the last step."""
        start = self.inputs[each.carry]
        little = [t for t in each.terms if t.factors is None and is_little(t.value)]
        totals = [self.sum_of(t) for t in each.terms if t not in little]
        if little:
            together = functools.reduce(operators.Add, [Array(self.all_steps[t.value]) for t in little])
            totals.append(operators.ReduceSum(together, [0], keepdims=0))
        is_zero = start in self.zeros if isinstance(start, Var) else _is_zero(start)
        return functools.reduce(operators.Add, totals if is_zero else [Array(start), *totals]).value

    def sum_of(self, term: Term) -> Array:
        """Return a term of all steps together."""
        if term.factors is None:
            return operators.ReduceSum(Array(self.all_steps[term.value]), [0], keepdims=0)
        a, b = (self.flat(v) for v in term.factors)
        return operators.MatMul(operators.Transpose(a, perm=[1, 0]), b)

    def flat(self, var: Var) -> Array:
        """Stack the rows of the matrices of all steps."""
        array = Array(self.all_steps[var])
        steps, rows, columns = array.shape
        return reshape_to(array, (steps * rows, columns))


def _is_zero(start: Const) -> bool:
    return not start.is_weight and not np.any(start.numpy())


def _stacked_const(const: Value, length: Dim) -> Type:
    assert isinstance(const, Const)
    return Type(const.type.dtype, (length, *const.data.shape))
