"""Put Scans that may have no steps in an If, and give the rows that Loops stack their sizes.

```
a, ys = Scan(a0, xs: [N])   ->   a, ys = If(N == 0): (a0, zeros [0,...]), else Scan(a0, xs)
```

onnxruntime fails on a Scan over empty sequences. A Loop of no trips stacks rows of size 0 wherever a size is not known
before the run, so its results are reshaped to the sizes known around the loop.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Type, Value, Var
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import TraceError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.tracing import Recording
from primsplit.tracing.array import Array
from primsplit.tracing.regions import record


@fault(
    "scan_of_no_steps",
    kind="refuses",
    operators=("Scan",),
    says="A Scan over sequences of length 0 is refused when it runs.",
)
@fault(
    "loop_of_no_steps_stacks_rows_of_no_size",
    kind="wrong",
    operators=("Loop",),
    says="What a Loop of no steps stacks has rows of size 0, wherever the file does not tell the size as a number.",
)
def guard_empty_scans(block: Block) -> Block:
    """Guard the block: each Scan whose length may be 0 stands in an If, and rows of Loops have their right sizes."""
    return _Guarding().run(block)


class _Guarding(SizeRewriter):
    """The walk. `scopes` know where sizes can be read: one for each block around the op, the innermost last.

    An op's operands need not know the sizes of the rows that it stacks: a step may have them from a vector of sizes.
    `empty` are the conditions that the scopes have computed, by the number of steps.
    """

    kinds = frozenset({"Scan", "Loop"})

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[Recording] = []
        self.empty: list[dict[str, Value]] = []

    def enter(self, block: Block) -> None:
        """Learn sizes from the block's parameters."""
        super().enter(block)
        self.scopes.append(Recording(self.scopes[-1] if self.scopes else None))
        self.empty.append({})
        for param in block.params:
            self.scopes[-1].learn(param)

    def leave(self, block: Block) -> None:
        """Forget the block's values."""
        self.scopes.pop()
        self.empty.pop()

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the If that replaces a Scan, or the last op that reshapes a Loop's stacked rows."""
        made = self.guarded(op)
        for var in op.outputs:
            self.scopes[-1].learn(var)
        return made

    def guarded(self, op: Op) -> Op:
        """See `visit`."""
        if op.kind == "Loop":
            return self.sized(op)
        if op.kind != "Scan" or self.above(_length(op), 0):
            return op
        with self.beside(op) as around:
            length = str(_length(op))
            if length not in self.empty[-1]:
                self.empty[-1][length] = _is_empty(op)
            guarded = _guarded(op, self.empty[-1][length])
        self.kept.extend(around.ops)
        return guarded

    @contextmanager
    def beside(self, op: Op) -> Iterator[Recording]:
        """Record ops before an op, where all sizes can be read that are known there."""
        with recorded_beside(op) as around:
            around.outer, around.sources = self.scopes[-1], {}
            yield around

    def sized(self, loop: Op) -> Op:
        """Return the last of the Loop and the ops that reshape its rows. The Loop itself if no size is known."""
        first = len(loop.inputs) - 2
        unsure = [i for i, v in enumerate(loop.outputs) if i >= first and _has_unknown_rows(v)]
        with self.beside(loop) as around:
            outputs = list(loop.outputs)
            for i in unsure:
                shape = loop.outputs[i].type.shape or ()
                if any(isinstance(d, Size) and _is_readable(d) for d in shape[1:]):
                    outputs[i] = Var(loop.outputs[i].type, loop.outputs[i].hint)
            sizing = [_with_sizes(raw, v) for raw, v in zip(outputs, loop.outputs, strict=True) if raw is not v]
        if not sizing:
            return loop
        self.kept.extend((replace(loop, outputs=tuple(outputs)), *around.ops, *sizing[:-1]))
        return sizing[-1]


def _has_unknown_rows(var: Var) -> bool:
    shape = var.type.shape
    return shape is not None and any(isinstance(d, Size) for d in shape[1:])


def _with_sizes(raw: Var, wanted: Var) -> Op:
    """Return a Reshape to the actual number of rows, of the sizes known around; else of their actual sizes."""
    shape = wanted.type.shape or ()
    is_known = [False, *map(_is_readable, shape[1:])]
    parts = []
    for known, group in itertools.groupby(range(len(shape)), is_known.__getitem__):
        axes = list(group)
        start, end = axes[0], axes[-1] + 1
        parts.append(
            Array(tracing.size_vector(shape[start:end])) if known else op.Shape(Array(raw), start=start, end=end)
        )
    return Op("Reshape", (raw, op.Concat(*parts, axis=0).value), (wanted,), {"allowzero": 1})


def _counts(scan: Op) -> tuple[int, int]:
    """Return how many carries, and how many sequences, there are."""
    sequences = int(scan.attributes["num_scan_inputs"])
    return len(scan.inputs) - sequences, sequences


def _length(scan: Op) -> Dim:
    carries, _ = _counts(scan)
    first = scan.inputs[carries]
    axis = scan.attributes.get("scan_input_axes", [0])[0]
    return 0 if first is None or first.type.shape is None else first.type.shape[axis]


def _is_empty(scan: Op) -> Value:
    """Record whether a Scan has no steps."""
    carries, _ = _counts(scan)
    first = scan.inputs[carries]
    axis = scan.attributes.get("scan_input_axes", [0])[0]
    length = op.Shape(Array(_the(first)), start=axis, end=None if axis == -1 else axis + 1)
    return op.Equal(op.Squeeze(length, [0]), 0).value


def _guarded(scan: Op, is_empty: Value) -> Op:
    carries, _ = _counts(scan)
    inner = replace(scan, outputs=tuple(Var(v.type, v.hint) for v in scan.outputs))
    walked = Block("steps", (), (inner,), inner.outputs)
    nothing = record("no_steps", [], lambda: _of_no_steps(scan, carries))
    attributes = {"then_branch": nothing, "else_branch": walked}
    return scan.beside("If", (is_empty,), scan.outputs, attributes)


def _the(value: Value | None) -> Value:
    if value is None:
        raise TraceError("a Scan lacks its first sequence")
    return value


def _of_no_steps(scan: Op, carries: int) -> list[Value]:
    """Return the results of a Scan over empty sequences: the starts of the carries, and stacks of no rows."""
    starts = [op.Identity(Array(_the(v))).value for v in scan.inputs[:carries]]
    stacked = scan.outputs[carries:]
    axes = scan.attributes.get("scan_output_axes", [0] * len(stacked))
    rows = scan.attributes["body"].results[carries:]
    return [*starts, *(_no_rows(v.type, row.type, axis) for v, row, axis in zip(stacked, rows, axes, strict=True))]


def _no_rows(type: Type, row: Type, axis: int) -> Value:
    """Return an array without rows along the axis.

    The step's own row may know sizes for which the stack has names of its own. Sizes that only a step knows are 0 too.
    """
    sizes = list(row.shape or ())
    sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, 0)
    told = [_readable(a, b) for a, b in zip(type.shape or sizes, sizes, strict=True)]
    told[axis] = 0
    return op.ConstantOfShape(tracing.size_vector(told), value=np.zeros(1, type.dtype)).value


def _readable(*dims: Dim) -> Dim:
    return next((d for d in dims if _is_readable(d)), 0)


def _is_readable(dim: Dim) -> bool:
    """Whether some value here has the size."""
    try:
        tracing.size_of(dim)
    except TraceError:
        return False
    return True
