"""Read Scan below opset 9, which walks the sequences of a batch: as a Scan over the examples, and one in each.

```
Scan(lengths, carries: [B,...], sequences: [B,T,...])   ->   Scan over B: Scan(carries, sequences) over T
```

An example takes as many steps as its length. As in onnxruntime, a sequence that is walked in reverse begins at the
example's own end, and stacked results are in the order of the steps, 0 behind the last.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.onnx.nested_bodies import Subgraph, given, steady
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan, record

BATCH_SCAN = f"{EARLIER}::Scan"


def record_batch_scan(inputs: Sequence[Value | None], attributes: Mapping[str, Any], subgraph: Subgraph) -> list[Value]:
    """Record the node; its inputs are the lengths, which may be absent, the carries, and the sequences."""
    lengths, *rest = inputs
    values = [given(v) for v in rest]
    scans = int(attributes["num_scan_inputs"])
    count = len(values) - scans
    is_reverse = [bool(d) for d in attributes.get("directions", [0] * scans)]

    def example(*arrays: Array) -> list[Value]:
        carries, sequences = arrays[:count], arrays[count : count + scans]
        reads = [Walk(0, d) for d in is_reverse]
        if lengths is None:
            return _scan(subgraph, attributes["body"], carries, sequences, reads)
        return _scan_part(subgraph, attributes["body"], carries, sequences, reads, arrays[-1])

    outer = values if lengths is None else [*values, lengths]
    block = record("example", [element(v.type, Walk()) for v in outer], example)
    form = ScanForm(without_invariants(block), 0, (Walk(),) * len(outer), (Walk(),) * len(block.results))
    return emit_scan(form, [], outer)


def _scan(
    subgraph: Subgraph, graph: Any, carries: Sequence[Array], sequences: Sequence[Array], reads: Sequence[Walk]
) -> list[Value]:
    """Return every step of one example."""
    elements = [element(x.type, w) for x, w in zip(sequences, reads, strict=True)]
    body, _ = steady(lambda types: subgraph(graph, [*types, *elements]), [c.type for c in carries], 0, 0)
    return _emitted(body, carries, sequences, reads)


def _scan_part(
    subgraph: Subgraph,
    graph: Any,
    carries: Sequence[Array],
    sequences: Sequence[Array],
    reads: Sequence[Walk],
    length: Array,
) -> list[Value]:
    """Return the first steps of one example. Steps behind them read what the last of them reads, and change nothing."""
    size = sequences[0].shape[0]
    step = count_up(size)
    last = op.Max(op.Sub(length, 1), 0)
    forward = op.Min(step, last)
    own = [
        op.Gather(x, op.Sub(last, forward) if w.reverse else forward, axis=0)
        for x, w in zip(sequences, reads, strict=True)
    ]
    elements = [element(x.type, Walk()) for x in own]

    def masked(types: Sequence[Type]) -> Block:
        plain = subgraph(graph, [*types, *elements])

        def body(*arrays: Array) -> list[Value]:
            found = [Array(v) for v in tracing.inline(plain, [a.value for a in arrays[:-1]])]
            zero = [np.zeros((), x.dtype) for x in found[len(types) :]]
            return [
                op.Where(arrays[-1], new, old).value
                for new, old in zip(found, [*arrays[: len(types)], *zero], strict=True)
            ]

        return record("masked", [*types, *elements, Type(np.bool_, ())], body)

    steps, _ = steady(masked, [c.type for c in carries], 0, 0)
    return _emitted(steps, carries, [*own, op.Less(step, length)], [Walk()] * (len(own) + 1))


def _emitted(body: Block, carries: Sequence[Array], sequences: Sequence[Array], reads: Sequence[Walk]) -> list[Value]:
    count = len(carries)
    writes = (Walk(),) * (len(body.results) - count)
    form = ScanForm(without_invariants(body), count, tuple(reads), writes)
    return emit_scan(form, [c.value for c in carries], [x.value for x in sequences])
