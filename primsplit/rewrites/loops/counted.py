"""Turn Loops of a known number of steps that stack results into Scans over the step numbers.

```
Loop(8, True, s) body(i, on, s)   ->   Scan(s, [0, 1, ..., 7]) body(s, i)
```

onnxruntime 1.31.1 writes the results that a Scan stacks to their places. A Loop's it keeps step by step, and joins them
when the Loop has ended: for that time they are in memory twice.
"""

from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op, Value, rename_block, same_types
from primsplit.ir.runtimes import fault
from primsplit.ops import op as operators
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.tracing.array import Array
from primsplit.tracing.regions import counts_alone


@fault(
    "loop_keeps_its_rows_apart",
    kind="slow",
    operators=("Loop",),
    says="What a Loop stacks is kept step by step, and is in memory twice while it is joined.",
)
def scans_of_counted_loops(block: Block) -> Block:
    """Return the block with Scans for such Loops; itself if there are none.

    Only Loops whose carries surely keep their shapes, as those of a Scan must. A Loop that stacks nothing stays: it
    needs no memory for its step numbers.
    """
    return _Counting().run(block)


class _Counting(Rewriter):
    kinds = frozenset({"Loop"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or a Scan for it; its step numbers come before."""
        trips = op.inputs[0] if op.kind == "Loop" else None
        if trips is None or not _is_counted(op):
            return op
        with recorded_beside(op) as around:
            bound = operators.Max(Array(trips), np.zeros(trips.type.shape or (), np.int64))
            last = operators.Squeeze(bound) if trips.type.rank else bound
            numbers: Value = operators.Range(np.int64(0), last, np.int64(1)).value
        self.kept.extend(around.ops)
        return replace(
            op,
            kind="Scan",
            inputs=(*op.inputs[2:], numbers),
            attributes={"body": _turned(op.attributes["body"]), "num_scan_inputs": 1},
        )


def _is_counted(op: Op) -> bool:
    """Whether a Loop stacks, always goes on, and keeps the shapes of its carries."""
    body: Block = op.attributes["body"]
    starts = op.inputs[2:]
    if not counts_alone(op.inputs[1], body) or len(op.outputs) == len(starts):
        return False
    kept = zip(starts, body.params[2:], body.results[1:], strict=False)
    return all(a is not None and same_types(a.type, b.type) and same_types(b.type, c.type) for a, b, c in kept)


def _turned(body: Block) -> Block:
    """Return the body of the Scan: carries and step number in, carries and stacked results out."""
    number, going, *carries = body.params
    turned = replace(body, params=(*carries, number), results=body.results[1:])
    return rename_block(turned, {going: Const(np.array(True))})
