"""A long model loaded, differentiated and written: the time is in proportion to its nodes, and so is the memory.

    python -m tools.bench.scale [NODES ...] [--json]

Each size runs in a process of its own, whose peak memory is told; its seconds are those that it was at work itself.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

SIZES = (1_000, 10_000, 100_000)
STAGES = ("load", "split", "save")


def write_chain(path: Path, nodes: int) -> None:
    """A model of alternating Sin and Mul."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.ModelProto(ir_version=8)
    model.opset_import.add(domain="", version=17)
    graph = model.graph
    graph.name = "chain"
    graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "half"))
    graph.input.append(helper.make_tensor_value_info("x", 1, ["N", 4]))
    graph.output.append(helper.make_tensor_value_info("y", 1, ["N", 4]))
    last = "x"
    for i in range(nodes):
        name = "y" if i == nodes - 1 else f"v{i}"
        kind, inputs = ("Mul", [last, "half"]) if i % 2 else ("Sin", [last])
        graph.node.add(op_type=kind, name=f"n{i}", input=inputs, output=[name])
        last = name
    path.write_bytes(model.SerializeToString())


def measure(nodes: int) -> dict[str, float]:
    """Seconds of the processor per 1,000 nodes of each stage, and the peak memory in MB beyond what imports take."""
    import primsplit as ps

    with tempfile.TemporaryDirectory() as folder:
        for count in (10, nodes):
            path = Path(folder) / f"chain{count}.onnx"
            write_chain(path, count)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            times = [time.process_time()]
            program = ps.load(str(path))
            times.append(time.process_time())
            made = ps.split(program)
            times.append(time.process_time())
            made.save(str(path.with_suffix(".gradient.onnx")))
            times.append(time.process_time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    stages = {name: (b - a) / nodes * 1000 for name, (a, b) in zip(STAGES, pairwise(times), strict=True)}
    return {**stages, "megabytes": peak / 1024}


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measure(given.nodes[0])))
        return
    for nodes in given.nodes:
        command = [sys.executable, "-m", "tools.bench.scale", "--here", str(nodes)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if given.json:
            print(json.dumps({"nodes": nodes, **found}))
            continue
        told = "  ".join(f"{name} {found[name]:.4f} s" for name in STAGES)
        print(f"{nodes:8d} nodes: per 1,000 nodes {told}; {found['megabytes']:.0f} MB in all")


if __name__ == "__main__":
    main()
