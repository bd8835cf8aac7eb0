"""Where a gradient file's memory goes: what lives while each node runs, in the order in which onnxruntime runs them.

    python tools/bench/lifetimes.py transformer [--all]
    python tools/bench/lifetimes.py gradient.onnx

NAME is one of `fixed.py`'s benches, or a file whose inputs have known sizes. The order and the sizes come from
onnxruntime's profile, the edges from the graph it made of the file; what a kernel takes for itself comes from
`WORKSPACE`. Inputs are not counted. Printed are the nodes at which the peak is passed anew (`--all`: every node), and
what lives at the peak: its bytes, the node that made it and the last that reads it. Within 3 % of what an allocator
that logs every call finds for the fixed benches, with memory reuse off.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
"""Operators whose output is their first input's memory."""
IN_PLACE = frozenset({
    *("Tanh", "Sigmoid", "Relu", "Softmax", "LogSoftmax", "Softplus", "Elu", "Selu", "LeakyRelu", "HardSigmoid"),
    *("Softsign", "ThresholdedRelu", "Celu", "Clip", "ScatterElements"),
})  # fmt: skip
"""Operators whose kernels write over a first input that nobody else reads. Those of arithmetic do not."""
WORKSPACE = {"Where": 2}
"""Memory that a kernel takes while it runs, in multiples of its output's: Where chooses each side by itself."""


@dataclass(frozen=True)
class Node:
    """A node that was run: its bytes are those of all its outputs."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: tuple[int, ...]


def profiled(model: bytes, folder: Path) -> tuple[list[Node], list[str]]:
    """The nodes of the optimized graph in the order in which they ran, and the names of the results."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.enable_mem_pattern, options.enable_profiling = 1, False, True
    options.log_severity_level = 3
    options.profile_file_prefix = str(folder / "profile")
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    dtypes = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    feeds = {i.name: np.ones(i.shape, dtypes.get(i.type, np.float32)) for i in session.get_inputs()}
    session.run(None, feeds)
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    graph = onnx.load(options.optimized_model_filepath).graph
    named = {n.name: n for n in graph.node}
    ran = sorted((e for e in events if e["name"].endswith("_kernel_time")), key=lambda e: e["ts"])
    nodes = [_node(named[e["name"].removesuffix("_kernel_time")], e["args"]["output_type_shape"]) for e in ran]
    return nodes, [o.name for o in graph.output]


def _node(node: onnx.NodeProto, told: Sequence[dict[str, list[int]]]) -> Node:
    sizes = tuple(_bytes(each) for each in told)
    outputs = tuple(o for o in node.output if o)
    return Node(node.op_type, tuple(node.input), outputs, sizes)


def _bytes(told: dict[str, list[int]]) -> int:
    widths = {"double": 8, "int64": 8, "bool": 1, "float16": 2, "bfloat16": 2}
    return sum(int(np.prod(shape)) * widths.get(dtype, 4) for dtype, shape in told.items())


@dataclass
class Living:
    """A value in memory: its bytes, the node that made it and the last that reads it (None for a result)."""

    size: int
    made: int
    last: int | None


def timeline(nodes: Sequence[Node], results: Sequence[str]) -> tuple[list[int], list[list[Living]]]:
    """For each node the bytes that live while it runs, and the values that do."""
    base: dict[str, str] = {}
    values: dict[str, Living] = {}
    for at, node in enumerate(nodes):
        for name in node.inputs:
            found = values.get(base.get(name, name))
            if found is not None:
                found.last = at
        if node.kind in VIEWS:
            base[node.outputs[0]] = base.get(node.inputs[0], node.inputs[0])
            continue
        for name, size in zip(node.outputs, node.sizes, strict=False):
            values[name] = Living(size, at, at)
    for name in results:
        if base.get(name, name) in values:
            values[base.get(name, name)].last = None
    alive: list[list[Living]] = [[] for _ in nodes]
    for value in values.values():
        for at in range(value.made, len(nodes) if value.last is None else value.last + 1):
            alive[at].append(value)
    totals = [sum(v.size for v in living) + _over(nodes[at], at, living) for at, living in enumerate(alive)]
    return totals, alive


def _over(node: Node, at: int, living: Sequence[Living]) -> int:
    """What the kernel takes beside its output; less than nothing where it writes over an input."""
    made = sum(node.sizes)
    if node.kind in IN_PLACE and any(v.last == at != v.made and v.size == made for v in living):
        return -made
    return WORKSPACE.get(node.kind, 0) * made


def _model(name: str) -> bytes:
    if Path(name).exists():
        return Path(name).read_bytes()
    from fixed import BENCHES

    import primsplit as ps

    bench = BENCHES[name]
    params, data = bench.data()
    made: Any = ps.split(bench.in_numpy, params, *data.values(), wrt="p")
    return bytes(made.joint().to_onnx().SerializeToString())


def main() -> None:
    """Print the timeline of a bench or a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nodes, results = profiled(_model(asked.name), Path(folder))
    totals, alive = timeline(nodes, results)
    highest = 0
    for at, (node, total) in enumerate(zip(nodes, totals, strict=True)):
        if asked.all or total > highest:
            print(f"{at:5d} {total / 2**20:8.2f} MB  {node.kind:20s} {', '.join(node.outputs)}")
        highest = max(highest, total)
    peak = totals.index(highest)
    print(f"peak {highest / 2**20:.2f} MB at node {peak}, {nodes[peak].kind}; alive there:")
    for value in sorted(alive[peak], key=lambda v: v.size, reverse=True):
        if value.size * 200 > highest:
            last = "a result" if value.last is None else f"last read by {value.last} {nodes[value.last].kind}"
            print(f"  {value.size / 2**20:8.2f} MB  made by {value.made} {nodes[value.made].kind}, {last}")


if __name__ == "__main__":
    main()
