"""A large file, written node by node."""

import json
from pathlib import Path

import onnx
import onnx.helper as oh

from primsplit.audit.written import Written, read_written


def large_file(path: Path, count: int) -> Written:
    """Write and read a file with so many nodes: a product and its tanh for each line, and their pullback."""
    steps = count // 4
    lines, nodes = {}, []

    def node(kind: str, inputs: list[str], output: str, line: int, remark: str = "") -> str:
        nodes.append(oh.make_node(kind, inputs, [output], name=f"net.py:{line} {output}/{kind}"))
        if remark:
            nodes[-1].metadata_props.add(key="remark", value=remark)
        return output

    last, cotangent = "x", "d_y"
    for i in range(steps):
        lines[f"net.py:{i + 1}"] = [f"layer_{i // 50}", f"h{i} = np.tanh(h{i - 1} * w)"]
        last = node("Tanh", [node("Mul", [last, "w"], f"m{i}", i + 1)], f"h{i}", i + 1)
    for i in reversed(range(steps)):
        slope = node("Mul", [cotangent, f"h{i}"], f"g{i}", i + 1, "pullback of Tanh")
        cotangent = node("Sub", [cotangent, slope], f"d{i}", i + 1, "pullback of Mul")
    w, x, d_y, y, d_x = (oh.make_tensor_value_info(n, 1, ["N"]) for n in ("w", "x", "d_y", last, cotangent))
    graph = oh.make_graph(nodes, "net", [w, x, d_y], [y, d_x])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10, producer_name="primsplit")
    model.metadata_props.add(key="primsplit.lines", value=json.dumps(lines))
    onnx.save(model, path)
    return read_written(str(path))
