"""Put recurrent layers, Einsum, and sums along axes from the run, of arrays that may be empty in an If.

```
GRU(x: [N,B,3], ...)   ->   If(Size(x) == 0): zeros, else GRU(x, ...)
```

onnxruntime ends the process at a GRU or LSTM of a batch of 0, at a GRU of no steps and, before 1.26, an RNN of none,
and at an Einsum that transposes an empty operand. The If returns the zeros that the other recurrent layers, and sums of
nothing, return for such arrays. A ReduceSum along axes that only the run knows sums, up to 1.28, along all of them if
the array is empty and there are none.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Value, Var
from primsplit.ir.dims import Dim
from primsplit.ir.errors import TraceError
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.inference import infer
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.tracing.array import Array
from primsplit.tracing.regions import record

FAULTS = {
    "Einsum": ("einsum_of_nothing",),
    "GRU": ("gru_of_no_steps", "gru_of_no_sequences"),
    "LSTM": ("lstm_of_no_sequences",),
    "ReduceSum": ("sum_of_nothing_along_no_axes",),
    "RNN": ("rnn_of_no_steps",),
}
"""The faults of each operator. No trait: facts about kernels of onnxruntime."""


@fault(
    "gru_of_no_steps",
    kind="aborts",
    operators=("GRU",),
    says="A GRU of no steps, without sequence_lens, ends the process.",
)
@fault(
    "gru_of_no_sequences",
    kind="aborts",
    operators=("GRU",),
    says="A GRU of a batch of 0 ends the process.",
)
@fault(
    "lstm_of_no_sequences",
    kind="aborts",
    operators=("LSTM",),
    says="An LSTM of a batch of 0 ends the process.",
)
@fault(
    "rnn_of_no_steps",
    kind="aborts",
    operators=("RNN",),
    says="An RNN of no steps ends the process.",
    before="1.26",
)
@fault(
    "einsum_of_nothing",
    kind="aborts",
    operators=("Einsum",),
    says="An Einsum that has to transpose an empty operand ends the process.",
)
@fault(
    "sum_of_nothing_along_no_axes",
    kind="wrong",
    operators=("ReduceSum",),
    says="A ReduceSum of an empty array, with noop_with_empty_axes=1 and an input of no axes, sums along all axes.",
    before="1.30",
)
def guard_empty_layers(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with each of these ops whose input may be empty inside an If."""
    return _Guarding(runtime).run(block)


class _Guarding(SizeRewriter):
    kinds = frozenset(FAULTS)

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.hit = {kind for kind, names in FAULTS.items() if any(map(runtime.has, names))}

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the If that replaces it."""
        if op.kind not in self.hit or not _is_guarded(op) or self.is_never_empty(op):
            return super().visit(op)
        of_nothing = _summed if op.kind == "ReduceSum" else _zeros
        *before, guarded = unless_empty(op, _arrays(op), nothing=functools.partial(of_nothing, op))
        self.kept.extend(before)
        return guarded

    def is_never_empty(self, layer: Op) -> bool:
        """Whether no array that the op reads can be empty where it stands."""
        shapes = [v.type.shape for v in _arrays(layer)]
        return all(shape is not None and all(self.above(d, 0) for d in shape) for shape in shapes)


def _is_guarded(op: Op) -> bool:
    return op.kind != "ReduceSum" or _is_chosen_sum(op)


def _is_chosen_sum(op: Op) -> bool:
    """Whether it is a ReduceSum along axes that may turn out to be none, which then returns the array."""
    chosen = op.inputs[1] if op.kind == "ReduceSum" and len(op.inputs) > 1 else None
    return isinstance(chosen, Var) and op.attributes.get("noop_with_empty_axes", 0) == 1


def _arrays(layer: Op) -> list[Value]:
    """Return the sequence that a layer reads; all operands of an Einsum."""
    found = [v for v in layer.inputs[: None if layer.kind == "Einsum" else 1] if v is not None]
    if not found:
        raise TraceError(f"a {layer.kind} lacks its input")
    return found


class GuardingFirst(SizeRewriter):
    """Put ops of the kinds `hit` in an If, where their first input may lack what their kernel needs.

    `needs(op, source)` returns the sizes that must not be 0; None if they are not known, which counts as an empty
    array. `nothing(op, source)` records the results for an empty input.
    """

    def __init__(
        self,
        hit: frozenset[str],
        needs: Callable[[Op, Value], Sequence[Dim] | None],
        nothing: Callable[[Op, Value], Sequence[Value]],
    ) -> None:
        super().__init__()
        self.hit, self.needs, self.nothing = hit, needs, nothing

    def concerns(self, block: Block) -> bool:
        """Whether a block has ops of these kinds."""
        return not self.hit.isdisjoint(block.kinds)

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the If that replaces it."""
        source = op.inputs[0] if op.kind in self.hit else None
        if source is None:
            return super().visit(op)
        needed = self.needs(op, source)
        if needed is not None and all(self.above(size, 0) for size in needed):
            return super().visit(op)
        *before, guarded = unless_empty(op, [source], nothing=functools.partial(self.nothing, op, source))
        self.kept.extend(before)
        return guarded


def unless_empty(
    layer: Op,
    arrays: Iterable[Value],
    *,
    whole: Block | None = None,
    nothing: Callable[[], Iterable[Value]] | None = None,
) -> list[Op]:
    """Return ops that compute an op's outputs without running it if one of these arrays is empty; the last is an If.

    They are zeros then, or the values that `nothing` records; else those of `whole`, by default the op alone.
    """
    with recorded_beside(layer) as around:
        is_empty = op.Equal(functools.reduce(op.Mul, [op.Size(Array(v)) for v in arrays]), 0).value
        zeros = record("no_elements", [], nothing or functools.partial(_zeros, layer))
    attributes = {"then_branch": zeros, "else_branch": whole or alone(layer)}
    return [*around.ops, layer.beside("If", (is_empty,), layer.outputs, attributes)]


def alone(layer: Op, before: Sequence[Op] = ()) -> Block:
    """Return a block of an op, with new outputs, and of the ops before it."""
    inner = replace(layer, outputs=tuple(Var(v.type, v.hint) for v in layer.outputs))
    return Block("layer", (), (*before, inner), inner.outputs)


def _summed(total: Op) -> Sequence[Value]:
    """Return the sum along these axes and a new one in front, so that there is one."""
    x, axes = (Array(v) for v in total.inputs if v is not None)
    from_front = op.Where(op.Less(axes, 0), op.Add(axes, op.Size(op.Shape(x))), axes)
    behind = op.Concat([0], op.Add(from_front, 1), axis=0)
    keepdims = int(total.attributes.get("keepdims", 1))
    found = op.ReduceSum(op.Unsqueeze(x, [0]), behind, keepdims=keepdims)
    return [op.Reshape(found, op.Shape(found, start=keepdims), allowzero=1, types=[total.outputs[0].type]).value]


def _zeros(layer: Op) -> list[Value]:
    """Return zeros of the inferred shapes: a model may declare shapes in symbols that no value here knows."""
    inferred = infer(layer.kind, layer.inputs, layer.attributes, len(layer.outputs))
    return [
        op.ConstantOfShape(
            tracing.size_vector(found.shape or ()), value=np.zeros(1, found.dtype), types=[output.type]
        ).value
        for output, (found, _) in zip(layer.outputs, inferred, strict=True)
    ]
