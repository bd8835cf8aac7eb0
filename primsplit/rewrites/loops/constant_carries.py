"""Read carries that no step changes from around their loop, which copies each carry at every step.

```
Scan(a, b, xs) body(a, b, x): a', b = Mul(a, b), b   ->   Scan(a, xs) body(a, x): a' = Mul(a, b)
```
"""

from dataclasses import replace

from primsplit.ir import Block, Op, Value, has_blocks, rename_block, same_types
from primsplit.rewrites.rewriting import Rewriter

LEADS = {"Scan": (0, 0), "Loop": (2, 1)}
"""The numbers of inputs, which equal those of parameters of the body, and of results of the body before the carries."""


def read_constant_carries_outside(block: Block) -> Block:
    """Return the block whose Scans and Loops carry only values that a step changes; itself if all do."""
    return _Reading().run(block) if any(has_blocks(op) for op in block.ops) else block


class _Reading(Rewriter):
    """The walk."""

    def visit(self, op: Op) -> Op | None:
        """Return the op without such carries; None if nothing remains of it."""
        starts = _constant_carries(op) if op.kind in LEADS else {}
        if not starts:
            return super().visit(op)
        before, lead = LEADS[op.kind]
        body: Block = op.attributes["body"]
        params = tuple(p for i, p in enumerate(body.params) if i - before not in starts)
        results = tuple(r for i, r in enumerate(body.results) if i - lead not in starts)
        values = {body.params[before + k]: start for k, start in starts.items()}
        self.replaced.update((op.outputs[k], start) for k, start in starts.items())
        if len(results) == lead:
            return None
        return replace(
            op,
            inputs=tuple(v for i, v in enumerate(op.inputs) if i - before not in starts),
            outputs=tuple(v for k, v in enumerate(op.outputs) if k not in starts),
            attributes={**op.attributes, "body": rename_block(Block(body.name, params, body.ops, results), values)},
        )


def _constant_carries(op: Op) -> dict[int, Value]:
    """Return the starts of the carries that each step returns unchanged, by their positions among the carries."""
    before, lead = LEADS[op.kind]
    body: Block = op.attributes["body"]
    carries = op.inputs[before : len(op.inputs) - int(op.attributes.get("num_scan_inputs", 0))]
    found = {k: start for k, start in enumerate(carries) if start is not None}
    return {
        k: start
        for k, start in found.items()
        if body.results[lead + k] is body.params[before + k]
        and same_types(start.type, body.params[before + k].type)
        and same_types(start.type, op.outputs[k].type)
    }
