"""Drop carries, sequences and stacked results of loops that nobody uses.

```
a, b, ys = Scan(...)   with b and ys unused   ->   a = Scan(...)   without carry b and stacked ys
```
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, has_blocks, live_ops, reads
from primsplit.ir.analysis.carries import lead_and_carries


def drop_unused_carries(block: Block) -> Block:
    """Return the block whose Scans and Loops carry, walk and stack only used values; itself if all are used."""
    if not any(has_blocks(op) for op in block.ops):
        return block
    used = {v for op in block.ops for v in reads(op)} | {r for r in block.results if isinstance(r, Var)}
    ops = [_lean(op.with_blocks(drop_unused_carries), used) if has_blocks(op) else op for op in block.ops]
    if all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return replace(block, ops=tuple(ops))


def _lean(op: Op, used: set[Var]) -> Op:
    if op.kind == "Scan":
        return _lean_scan(op, used)
    return _lean_loop(op, used) if op.kind == "Loop" else op


def _live_results(
    body: Block, lead: int, carries: Sequence[Var], outputs: Sequence[Var], used: set[Var]
) -> tuple[list[int], set[Var]]:
    """Return the positions of the outputs that are used, also in a later step, and all Vars that they depend on.

    The body's results are `lead` others and then one for each output; the carries are the first of those.
    """
    live = {i for i, v in enumerate(outputs) if v in used}
    while True:
        wanted: list[Value] = [*body.results[:lead], *(body.results[lead + i] for i in sorted(live))]
        read = {v for step in live_ops(body.ops, wanted) for v in reads(step)}
        read.update(r for r in wanted if isinstance(r, Var))
        grown = {k for k, param in enumerate(carries) if param in read} - live
        if not grown:
            return sorted(live), read
        live |= grown


def _lean_scan(scan: Op, used: set[Var]) -> Op:
    body: Block = scan.attributes["body"]
    _, count = lead_and_carries(scan)
    live, read = _live_results(body, 0, body.params[:count], scan.outputs, used)
    walked = [i for i in range(count, len(scan.inputs)) if body.params[i] in read] or [count]
    kept = [*(k for k in live if k < count), *walked]
    if len(live) == len(scan.outputs) and len(kept) == len(scan.inputs):
        return scan
    stacked = [i - count for i in live if i >= count]
    sequences = [i - count for i in walked]
    attributes = {
        **scan.attributes,
        "body": _smaller(body, kept, live),
        "num_scan_inputs": len(walked),
        **_chosen(scan, ("scan_input_axes", "scan_input_directions"), sequences),
        **_chosen(scan, ("scan_output_axes", "scan_output_directions"), stacked),
    }
    inputs = tuple(scan.inputs[i] for i in kept)
    return replace(scan, inputs=inputs, outputs=tuple(scan.outputs[i] for i in live), attributes=attributes)


def _chosen(op: Op, names: Iterable[str], positions: Sequence[int]) -> dict[str, list[int]]:
    return {name: [op.attributes[name][i] for i in positions] for name in names if name in op.attributes}


def _lean_loop(loop: Op, used: set[Var]) -> Op:
    body: Block = loop.attributes["body"]
    count = len(loop.inputs) - 2
    live, _ = _live_results(body, 1, body.params[2:], loop.outputs, used)
    if len(live) == len(loop.outputs):
        return loop
    carries = [k for k in live if k < count]
    attributes = {
        **loop.attributes,
        "body": _smaller(body, [0, 1, *(2 + k for k in carries)], [0, *(1 + i for i in live)]),
    }
    inputs = (*loop.inputs[:2], *(loop.inputs[2 + k] for k in carries))
    return replace(loop, inputs=inputs, outputs=tuple(loop.outputs[i] for i in live), attributes=attributes)


def _smaller(body: Block, params: Sequence[int], results: Sequence[int]) -> Block:
    """Return the body with some of its parameters and results, and the ops that these need."""
    kept = tuple(body.results[i] for i in results)
    return Block(body.name, tuple(body.params[i] for i in params), tuple(live_ops(body.ops, kept)), kept)
