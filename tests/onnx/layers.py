"""Models of one layer, and of nodes beside its weights."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
from onnx import helper, numpy_helper

rng = np.random.default_rng(11)
W = rng.standard_normal((3, 4)).astype(np.float32)
B = rng.standard_normal(4).astype(np.float32)


def saved(
    path: Path, nodes: list[Any], *, opset: int = 17, inputs: Any = None, outputs: Any = None, **more: Any
) -> str:
    """A model of these nodes with weights W and b; by default x: [N, 3] in, y scalar out."""
    graph = helper.make_graph(
        nodes,
        "tested",
        inputs or [helper.make_tensor_value_info("x", 1, ["N", 3])],
        outputs or [helper.make_tensor_value_info("y", 1, [])],
        [numpy_helper.from_array(W, "W"), numpy_helper.from_array(B, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **more)
    name = str(path / "model.onnx")
    onnx.save(model, name)
    return name


def layer() -> list[Any]:
    return [
        helper.make_node("Gemm", ["x", "W", "b"], ["z"]),
        helper.make_node("Tanh", ["z"], ["t"]),
        helper.make_node("ReduceMean", ["t"], ["y"], keepdims=0),
    ]
