"""Batch a program: the program of one example becomes the program of a batch, op by op.

Batched values have the batch axis in front; ops that no batched value reaches stay, and are computed once.

```
f(x: float32[3], w: float32[3,4]):           f(x: float32[B,3], w: float32[3,4]):
  y: float32[4] = MatMul(x, w)         ->      y: float32[B,4] = MatMul(x, w)
  return y                                     return y
```
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from primsplit import tracing
from primsplit.ir import Block, Op, Renaming, Type, Value, Var, free, has_blocks, is_call, reads, rename, renamed
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.ops.traits import sized_by
from primsplit.ops.verify import verified
from primsplit.rewrites.rematerialize import LATER, later
from primsplit.tracing import Recording
from primsplit.tracing.array import Array
from primsplit.transforms.batching.branches import chooses_between_sizes, without_unread_ranks
from primsplit.transforms.batching.derived import BatchedForward, BatchedRule
from primsplit.transforms.batching.each import each, variable_inputs
from primsplit.transforms.batching.loops import collects_steps_of_each
from primsplit.transforms.batching.ragged import KIND, contract, each_call, shaped, spoken
from primsplit.transforms.batching.random import draws
from primsplit.transforms.batching.rules import batched_call
from primsplit.transforms.batching.table import (
    BATCHING,
    RAGGED,
    REFUSED,
    Outputs,
    Shared,
    Site,
    batched_type,
    repeated,
)
from primsplit.transforms.boundaries import Bounded


def batch_block(
    block: Block, batched: Sequence[bool], size: Dim, *, wanted: Sequence[bool] = ()
) -> tuple[Block, list[bool]]:
    """Return the block for a batch of `size` examples, and which of its results are batched.

    `batched` says which parameters have the batch axis in front; what the block captures is shared. Results for which
    `wanted` is True are always batched. Raises ShapeError at the user's line if examples would differ in shape.
    """
    return _Batching(size, {}, set()).block(block, batched, wanted)


class _Batching:
    """One walk through a block, with the values that its Vars became, and which of those Vars are batched."""

    def __init__(self, size: Dim, values: Renaming, batched: set[Var]) -> None:
        self.size = size
        self.values = values
        self.batched = batched
        self.made: dict[Any, tuple[Block, tuple[Block, list[bool]]]] = {}

    def inside(self, block: Block, batched: Sequence[bool], wanted: Sequence[bool] = ()) -> tuple[Block, list[bool]]:
        """Batch an inner block; see `table.BatchBlock`.

        Cached, since loops are batched repeatedly until their carries settle.
        """
        key = (id(block), tuple(batched), tuple(wanted))
        if key not in self.made:
            # The block is kept too, so that its id stays its own.
            self.made[key] = (block, self.block(block, batched, wanted))
        return self.made[key][1]

    def block(self, block: Block, batched: Sequence[bool], wanted: Sequence[bool] = ()) -> tuple[Block, list[bool]]:
        """Return the block batched, in a recording of its own."""
        inner = _Batching(self.size, dict(self.values), set(self.batched))
        with tracing.recording() as recorded:
            params = [inner.param(p, recorded, is_batched=b) for p, b in zip(block.params, batched, strict=True)]
            inner.ops(without_unread_ranks(block.ops, block.results), block.results, recorded)
            flags = [self._is_wanted(i, wanted) or inner.has(r) for i, r in enumerate(block.results)]
            results = [inner.result(r, is_batched=f) for r, f in zip(block.results, flags, strict=True)]
        return verified(tracing.close(block.name, params, recorded, results)), flags

    @staticmethod
    def _is_wanted(position: int, wanted: Sequence[bool]) -> bool:
        return position < len(wanted) and wanted[position]

    def param(self, own: Var, recorded: Recording, *, is_batched: bool) -> Var:
        param = recorded.param(batched_type(own.type, self.size) if is_batched else own.type, own.hint)
        self.values[own] = param
        if is_batched:
            self.batched.add(own)
        else:
            param.sizes = own.sizes
        return param

    def has(self, value: Value | None) -> bool:
        """Whether the value is batched."""
        return isinstance(value, Var) and value in self.batched

    def value(self, value: Value) -> Value:
        return renamed(value, self.values)

    def result(self, own: Value, *, is_batched: bool) -> Value:
        value = self.value(own)
        return repeated(Array(value), self.size).value if is_batched and not self.has(own) else value

    def ops(self, ops: Sequence[Op], results: Sequence[Value], recorded: Recording) -> None:
        """Record these ops for the batch; a region of values that differ in size becomes one op."""
        for position, op in enumerate(ops):
            if self._is_ragged(op):
                self._region(ops[position:], results, recorded)
                return
            if not (has_blocks(op) or (is_call(op) and self._makes_sizes(op))):
                self.op(op, recorded)
                continue
            before = recorded.snapshot()
            try:
                self.op(op, recorded)
            except ShapeError as error:
                # What has no batch inside may have one around: with what reads its results, example by example.
                recorded.restore(before)
                try:
                    self._region(ops[position:], results, recorded)
                except ShapeError:
                    raise error from None
                return

    def _region(self, ops: Sequence[Op], results: Sequence[Value], recorded: Recording) -> None:
        """Record the region that the first op begins, and all other ops."""
        contracted = contract(ops, results, self._common(ops[0]), self.batched)
        later = [v for o in (contracted.region, *contracted.after) for v in reads(o)]
        self.ops(contracted.before, (*results, *later), recorded)
        self.op(contracted.region, recorded)
        self.ops(contracted.after, results, recorded)

    def _is_ragged(self, op: Op) -> bool:
        """Whether the op computes a size from what differs between examples."""
        if op.kind == "If":
            return self.has(op.inputs[0]) and self._makes_sizes(op) and chooses_between_sizes(op)
        if op.kind == "Loop":
            is_reached = any(v in self.batched for v in reads(op))
            return is_reached and self._makes_sizes(op) and collects_steps_of_each(self._site(op))
        deciding = range(len(op.inputs)) if op.kind in RAGGED else sized_by(op.kind, len(op.inputs))
        return any(self.has(v) for i, v in enumerate(op.inputs) if i in deciding) and self._makes_sizes(op)

    def _makes_sizes(self, op: Op) -> bool:
        """Whether the op's outputs may have sizes that no earlier value has."""
        return not shaped(op.outputs) <= self._common(op)

    def _common(self, op: Op) -> set[str]:
        """Return the sizes that all examples share: those of values, and those that shared integers hold."""
        read = reads(op)
        return shaped((*self.values, *read)) | spoken(v for v in read if not self.has(v))

    def _site(self, op: Op) -> Site:
        inputs = tuple(None if v is None else Array(self.value(v)) for v in op.inputs)
        return Site(op, inputs, tuple(self.has(v) for v in op.inputs), self.size, self.inside, self.captured)

    def captured(self, block: Block) -> list[tuple[Var, Array]]:
        """Return the batched values that a block reads from around it."""
        return [(v, Array(self.value(v))) for v in free(block) if self.has(v)]

    def op(self, op: Op, recorded: Recording) -> None:
        """Record one op for the batch."""
        if not any(v in self.batched for v in reads(op)) and ("rule" in op.attributes or not draws(op)):
            self._copy(op)
            return
        recorded.place, recorded.remark = op.place, op.remark
        first = len(recorded.ops)
        try:
            result = self._made(op)
        except PrimsplitError as error:
            error.place = error.place or op.place
            raise
        recorded.place, recorded.remark = None, ""
        fresh = {v for new in recorded.ops[first:] for v in new.outputs}
        outputs = [result] if isinstance(result, Array | Shared) else list(result)
        for own, output in zip(op.outputs, outputs, strict=True):
            is_shared = isinstance(output, Shared)
            value = output.array.value if isinstance(output, Shared) else output.value
            _settle(value, own.type if is_shared else batched_type(own.type, self.size), fresh, recorded, op)
            self.values[own] = value
            if not is_shared:
                self.batched.add(own)
            elif isinstance(value, Var) and value.sizes is None:
                value.sizes = own.sizes

    def _copy(self, op: Op) -> None:
        if not is_call(op):
            tracing.append(rename(op, self.values))
            return
        outputs = tuple(Var(v.type, v.hint, v.sizes) for v in op.outputs)
        inputs = tuple(renamed(v, self.values) for v in op.inputs)
        tracing.append(replace(op, inputs=inputs, outputs=outputs))
        self.values.update(zip(op.outputs, outputs, strict=True))

    def _made(self, op: Op) -> Array | Shared | Sequence[Array | Shared]:
        if op.kind == KIND:
            inputs = [Array(self.value(v)) for v in op.inputs if v is not None]
            return each_call(op, tuple(self.has(v) for v in op.inputs), self.size, inputs)
        return self._call(op) if is_call(op) else self._standard(op)

    def _standard(self, op: Op) -> Array | Shared | Sequence[Array | Shared]:
        if op.kind in REFUSED:
            raise _refused(op, REFUSED[op.kind])
        if any(self.has(op.inputs[i]) for i in sized_by(op.kind, len(op.inputs)) if i < len(op.inputs)):
            return self._each(op)
        rule: Callable[[Site], Outputs] | None = BATCHING.get(op.kind)
        result = None if rule is None else rule(self._site(op))
        return self._each(op) if result is None else result

    def _each(self, op: Op) -> list[Array | Shared]:
        """Record the fallback loop, as a call whose rule is the op's own, batched."""
        positions = variable_inputs(op)
        given = [v for i in positions if (v := op.inputs[i]) is not None]
        body = each(op, [self.has(v) for v in given], self.size)
        return self._made_call(f"call::each_{op.kind}", op, given, body, [True] * len(op.outputs), has_rule=True)

    def _call(self, op: Op) -> Sequence[Array | Shared]:
        """Record a call of the batched program; a rule of its own becomes the batch of its split."""
        given = [v for v in op.inputs if v is not None]
        if op.kind == LATER:
            return self._later(op, given)
        flags = [self.has(v) for v in given]
        has_rule = "rule" in op.attributes
        if not any(flags):
            # The body reads nothing that tells the size of the batch: it becomes part of what is around it.
            body, found = self.block(op.attributes["body"], flags)
            values = map(Array, tracing.inline(body, [self.value(v) for v in given]))
            return [y if f else Shared(y) for y, f in zip(values, found, strict=True)]
        # What has a cotangent or tangent by a rule has one for each example.
        wanted = [(has_rule or "frule" in op.attributes) and v.type.is_float for v in op.outputs]
        own = op.attributes.get("batch")
        if own is not None and own.primitive.is_named:
            # Recorded as it is, with rules of its own: a call of the same name, which is recognized as one.
            outputs: Sequence[Array | Shared] = own.outputs([Array(self.value(v)) for v in given], flags, self.size)
            return outputs
        with tracing.fresh_stack():
            if own is None:
                body, found = batch_block(op.attributes["body"], flags, self.size, wanted=wanted)
            else:
                body, found = batched_call(op, own, flags, self.size, wanted)
        return self._made_call(op.kind, op, given, body, found, has_rule=has_rule)

    def _later(self, op: Op, given: Sequence[Value]) -> list[Array | Shared]:
        """A deferred value is shared if its operand is."""
        values, count = [self.value(v) for v in given], len(op.outputs)
        wait = later(values[:count], values[count:])
        tracing.append(replace(wait, place=op.place, remark=op.remark))
        return [Array(y) if self.has(v) else Shared(Array(y)) for y, v in zip(wait.outputs, given, strict=False)]

    def _made_call(
        self, kind: str, op: Op, given: Sequence[Value], body: Block, found: Sequence[bool], *, has_rule: bool
    ) -> list[Array | Shared]:
        """Record the call of a batched body; `found` says which of its outputs are batched."""
        flags = tuple(map(self.has, given))
        attributes: dict[str, Any] = {k: v for k, v in op.attributes.items() if is_call(op) and k != "batch"}
        attributes["body"] = body
        if has_rule:
            own: object = op.attributes.get("rule")
            if isinstance(own, Bounded):
                attributes["rule"] = Bounded(own.name, body)
            else:
                attributes["rule"] = BatchedRule(op, flags, tuple(found), batch_block)
        if "frule" in attributes:
            attributes["frule"] = BatchedForward(op, flags, tuple(found), batch_block)
        outputs = tuple(Var(r.type, v.hint) for r, v in zip(body.results, op.outputs, strict=True))
        inputs = tuple(self.value(v) for v in given)
        tracing.append(op.beside(kind, inputs, outputs, attributes))
        return [Array(v) if f else Shared(Array(v)) for v, f in zip(outputs, found, strict=True)]


def _refused(op: Op, because: str) -> ShapeError:
    return ShapeError(
        f"{op.kind} has no batch: {because}",
        place=op.place,
        cure="Compute it outside of the function given to vmap, or from values that all examples share.",
    )


def _settle(value: Value, wanted: Type, fresh: set[Var], recorded: Recording, op: Op) -> None:
    """Declare an output to have one example's type with a batch axis, which may be more exact than inference."""
    if value.type.dtype != wanted.dtype or (wanted.rank is not None and value.type.rank not in {None, wanted.rank}):
        raise PrimsplitError(
            f"the batching rule of {op.kind.removeprefix('call::')} gave {value.type}, not {wanted}", place=op.place
        )
    if not isinstance(value, Var) or value not in fresh or value.type == wanted or wanted.shape is None:
        return
    for dim in value.type.shape or ():
        for name in _sources(dim):
            if name in recorded.sources and recorded.sources[name][0] is value:
                del recorded.sources[name]
    value.type = wanted
    recorded.learn(value)


def _sources(dim: Dim) -> set[str]:
    """Return the names under which a recording may know an axis of this size."""
    return {dim.text, *(str(a) for m, _ in dim.terms for a in m)} if isinstance(dim, Size) else set()
