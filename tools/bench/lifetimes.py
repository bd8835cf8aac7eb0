"""List the values that a gradient file keeps in memory while each node runs, in onnxruntime's order.

    python -m tools.bench.lifetimes transformer [--all] [--needed]
    python -m tools.bench.lifetimes gradient.onnx

NAME is one of `fixed.py`'s benches, or a file whose inputs have known sizes. The order and the sizes come from
onnxruntime's profile, the edges from the graph it made of the file; what a kernel takes for itself comes from
`WORKSPACE`. Inputs are not counted, nor what lives inside of branches and loops. Printed are the nodes at which the
peak is passed anew (`--all`: every node), and what lives at the peak: its bytes, the node that made it and the last
that reads it.

onnxruntime lets a value have the memory of an earlier one of the same shape that nobody reads any more, the last that
became free first, and holds it from the one to the other. Such a chain counts as one; `--needed` counts each value by
itself instead, as if nothing were held. Equal to 0.1 % to what an allocator that logs every call finds for the fixed
benches with the arena off. What the arena adds by its regions is not counted.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    """A node that was run, and of each of its outputs the bytes and the width of an element with the shape."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()


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
    timed = [(e, e["name"].removesuffix("_kernel_time")) for e in events if e["name"].endswith("_kernel_time")]
    ran = sorted(((e, name) for e, name in timed if name in named), key=lambda each: each[0]["ts"])
    nodes = [_node(named[name], e["args"]["output_type_shape"]) for e, name in ran]
    return nodes, [o.name for o in graph.output]


def _node(node: onnx.NodeProto, told: Sequence[dict[str, list[int]]]) -> Node:
    shapes = tuple((WIDTHS.get(dtype, 4), *shape) for each in told for dtype, shape in each.items())
    outputs = tuple(o for o in node.output if o)
    return Node(node.op_type, tuple(node.input), outputs, tuple(int(np.prod(s)) for s in shapes), shapes)


WIDTHS = {"double": 8, "int64": 8, "bool": 1, "float16": 2, "bfloat16": 2}


@dataclass
class Living:
    """A piece of memory: its bytes, the node that it was taken for and the last that reads it (None for a result).

    `shape` begins with the width of an element; `reads` are those to come.
    """

    size: int
    made: int
    last: int | None
    shape: tuple[int, ...]
    reads: int = 0


def timeline(
    nodes: Sequence[Node], results: Sequence[str], *, is_held: bool = True
) -> tuple[list[int], list[list[Living]]]:
    """For each node the bytes that are taken while it runs, and what takes them; see the module for `is_held`."""
    planner = _Planner(nodes, results, is_held)
    for at, node in enumerate(nodes):
        planner.run(at, node)
    alive: list[list[Living]] = [[] for _ in nodes]
    for piece in planner.pieces:
        for at in range(piece.made, len(nodes) if piece.last is None else piece.last + 1):
            alive[at].append(piece)
    totals = [sum(p.size for p in living) + _over(nodes[at]) for at, living in enumerate(alive)]
    return totals, alive


class _Planner:
    """The pieces of memory, as onnxruntime plans them: `memory` has each value's, `free` those that nobody reads."""

    def __init__(self, nodes: Sequence[Node], results: Sequence[str], is_held: bool) -> None:
        self.results = frozenset(results)
        self.is_held = is_held
        self.reads = Counter([*results, *(name for node in nodes for name in node.inputs)])
        self.memory: dict[str, Living] = {}
        self.free: list[Living] = []
        self.pieces: list[Living] = []

    def run(self, at: int, node: Node) -> None:
        """Give each output its piece, and count the reads of the inputs."""
        for name, shape in zip(node.outputs, node.shapes, strict=False):
            piece = self.taken(at, node, name, shape)
            if piece is not None:
                self.memory[name] = piece
                piece.reads += self.reads[name]
        touched = [self.memory[n] for n in node.inputs if n in self.memory]
        for piece in touched:
            piece.reads -= 1
            piece.last = None if piece.last is None else at
        touched += [self.memory[n] for n in node.outputs if n in self.memory]
        for piece in {id(p): p for p in touched}.values():
            if piece.reads == 0 and piece.last is not None:
                self.free.insert(0, piece)

    def taken(self, at: int, node: Node, name: str, shape: tuple[int, ...]) -> Living | None:
        """The piece for an output: its input's, one that is free, or a new one; none for a view of an input."""
        is_result = name in self.results
        source = self.memory.get(node.inputs[0]) if node.inputs else None
        if not is_result and (node.kind in VIEWS or (source is not None and _writes_over(node, source, shape))):
            return source
        for piece in self.free if self.is_held and not is_result and len(shape) > 1 else ():
            if piece.shape == shape:
                self.free.remove(piece)
                return piece
        self.pieces.append(Living(int(np.prod(shape)), at, None if is_result else at, shape))
        return self.pieces[-1]


def _writes_over(node: Node, source: Living, shape: tuple[int, ...]) -> bool:
    return node.kind in IN_PLACE and source.reads == 1 and source.shape == shape and source.last is not None


def _over(node: Node) -> int:
    """Return the bytes that the kernel takes beside its output."""
    return WORKSPACE.get(node.kind, 0) * sum(node.sizes)


def _model(name: str) -> bytes:
    if Path(name).exists():
        return Path(name).read_bytes()
    from tools.bench.fixed import BENCHES

    made, _ = BENCHES[name].split()
    return bytes(made.joint().to_onnx().SerializeToString())


def main() -> None:
    """Print the timeline of a bench or a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--needed", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nodes, results = profiled(_model(asked.name), Path(folder))
    totals, alive = timeline(nodes, results, is_held=not asked.needed)
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
