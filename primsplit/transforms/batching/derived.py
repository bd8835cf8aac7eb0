"""Batch the derivatives of calls: split the call of one example, and batch what results."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from primsplit import tracing
from primsplit.ir import NOWHERE, Block, Op, Type, Value, Var, free, is_call, live_ops
from primsplit.ir.dims import Dim
from primsplit.ops import op as operators
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.transforms.batching.each import variable_inputs
from primsplit.transforms.batching.table import repeated
from primsplit.transforms.split import split_op

Inner = Callable[..., list[Array | None]]


class Batch(Protocol):
    """The signature of `transform.batch_block`."""

    def __call__(
        self, block: Block, batched: Sequence[bool], size: Dim, *, wanted: Sequence[bool] = ()
    ) -> tuple[Block, list[bool]]: ...


class _OfBatch:
    """The rule of a call that replaces `op` in a batch.

    `batched` says which of its inputs, small constants aside, are batched; `made` says so for its outputs, and is True
    for all that have a cotangent.
    """

    def __init__(self, op: Op, batched: tuple[bool, ...], made: tuple[bool, ...], batch: Batch) -> None:
        self.op = op
        self.batched = batched
        self.made = made
        self.batch = batch

    def size_of(self, inputs: Sequence[Array]) -> Dim:
        """Return the size of the batch."""
        return next(x.shape[0] for x, b in zip(inputs, self.batched, strict=True) if b)

    def primal(self, block: Block, inputs: Sequence[Array]) -> tuple[list[Array], list[bool]]:
        """Return the results of a primal, batched, of which the outputs are the first; and which are batched.

        If a rule computes an output that examples share where it should differ, or the reverse, the op's body computes
        it.
        """
        batched_block, flags = self.batch(block, self.batched, self.size_of(inputs), wanted=self.made)
        values = [Array(v) for v in tracing.inline(batched_block, [x.value for x in inputs])]
        unlike = [i for i, is_batched in enumerate(self.made) if flags[i] != is_batched]
        if unlike:
            own, _ = self.batch(self.op.attributes["body"], self.batched, self.size_of(inputs), wanted=self.made)
            outputs = tracing.inline(own, [x.value for x in inputs])
            for i in unlike:
                values[i] = Array(outputs[i])
        return values, flags

    def of_one(self, inputs: Sequence[Array]) -> tuple[Op, list[int]]:
        """Return the op on inputs of one example's types, and the positions of those inputs."""
        op = self.op
        positions = [i for i, v in enumerate(op.inputs) if v is not None] if is_call(op) else variable_inputs(op)
        given = list(op.inputs)
        for i, x, is_batched in zip(positions, inputs, self.batched, strict=True):
            own = op.inputs[i]
            if isinstance(own, Var):
                given[i] = Var(Type(x.dtype, x.shape[1:] if is_batched else x.shape), own.hint, own.sizes)
        return replace(op, inputs=tuple(given)), positions


class BatchedRule(_OfBatch):
    """The rule of a call that replaces a batch of one op: the op's own split, batched.

    Inputs that all examples share get the sum of the examples' cotangents.
    """

    def __call__(self, *inputs: Array) -> tuple[tuple[Array, ...], Inner]:
        size = self.size_of(inputs)
        op, positions = self.of_one(inputs)
        wrt = tuple(i for i in positions if (v := op.inputs[i]) is not None and v.type.is_float)
        of = tuple(i for i, v in enumerate(op.outputs) if v.type.is_float)
        split = split_op(op, wrt, of)
        primal = split.primal
        count = len(op.outputs)
        whole = Block(primal.name, primal.params, primal.ops, (*primal.results[:count], *split.captures))
        values, flags = self.primal(whole, inputs)

        def pullback(*cotangents: Array | None) -> list[Array | None]:
            seeds = [(cotangents[i], values[i]) for i in split.of]
            given = [zeros_like(y) if dy is None else dy for dy, y in seeds]
            back, found = self.batch(split.pullback, [*flags[count:], *[True] * len(given)], size)
            made = tracing.inline(back, [x.value for x in (*values[count:], *given)])
            gradients = {i: (Array(v), f) for i, v, f in zip(split.targets, made, found, strict=True)}
            pairs = zip(positions, inputs, self.batched, strict=True)
            return [_gradient(*gradients[i], x, is_batched=b) if i in gradients else None for i, x, b in pairs]

        return tuple(values[:count]), pullback


def _gradient(found: Array, was_batched: bool, x: Array, *, is_batched: bool) -> Array:
    """Return the cotangent of an input from that of the batch."""
    if is_batched:
        return found if was_batched else repeated(found, x.shape[0])
    return operators.ReduceSum(found, [0], keepdims=0) if was_batched else found


class BatchedForward(_OfBatch):
    """The forward rule of a call in a batch: the call's own, batched."""

    def __call__(self, *inputs: Array) -> tuple[tuple[Array, ...], Inner]:
        size = self.size_of(inputs)
        op, _ = self.of_one(inputs)
        floats = [i for i, v in enumerate(op.inputs) if v is not None and v.type.is_float]
        primal, ahead, positions = _recorded(op, floats)
        count = len(op.outputs)
        values, flags = self.primal(primal, inputs)

        def pushforward(*tangents: Array | None) -> list[Array | None]:
            given = [zeros_like(inputs[i]) if (t := tangents[i]) is None else t for i in floats]
            seeds = [self.batched[i] for i in floats]
            moved, _ = self.batch(ahead, [*flags[count:], *seeds], size, wanted=[True] * len(positions))
            results = tracing.inline(moved, [x.value for x in (*values[count:], *given)])
            told = dict(zip(positions, map(Array, results), strict=True))
            return [told.get(i) for i in range(count)]

        return tuple(values[:count]), pushforward


def _recorded(op: Op, floats: Sequence[int]) -> tuple[Block, Block, list[int]]:
    """Run a forward rule for one example; return the primal, the tangent list, and the outputs that have a tangent.

    The second block takes the values that the primal kept and then a tangent for each of the inputs `floats`.
    """
    with tracing.recording(place=NOWHERE) as primal:
        params = [primal.param(v.type) for v in op.inputs if v is not None]
        outputs, pushforward = op.attributes["frule"](*map(Array, params))
        results = [y.value for y in outputs]
        with tracing.recording(place=NOWHERE) as ahead:
            seeds = {i: ahead.param(params[i].type) for i in floats}
            told = pushforward(*(Array(seeds[i]) if i in seeds else None for i in range(len(params))))
            moved: dict[int, Value] = {i: t.value for i, t in enumerate(told) if t is not None}
    block = Block("pushforward", (), tuple(live_ops(ahead.ops, moved.values())), tuple(moved.values()))
    defined = {*params, *(v for step in primal.ops for v in step.outputs)}
    kept = tuple(v for v in free(block) if v in defined)
    whole = Block("primal", tuple(params), tuple(primal.ops), (*results, *kept))
    return whole, Block(block.name, (*kept, *seeds.values()), block.ops, block.results), list(moved)
