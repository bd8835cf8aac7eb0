"""Definitions count axes as onnxruntime does: one that there is not is refused, or fails in the run."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import ShapeError

MICROSOFT = "com.microsoft"
KINDS: dict[str, tuple[int, str, dict[str, Any]]] = {
    "Softmax": (7, "", {}),
    "LogSoftmax": (11, "", {}),
    "Hardmax": (9, "", {}),
    "BiasSoftmax": (17, MICROSOFT, {"is_inner_broadcast": 1}),
    "SimplifiedLayerNormalization": (17, MICROSOFT, {}),
}


def saved(folder: Path, node: onnx.NodeProto, opset: int, constants: dict[str, Any], inputs: dict[str, Any]) -> str:
    """A model of one node that reads x[2,3], constants, and other inputs of these shapes."""
    given = [helper.make_tensor_value_info("x", 1, [2, 3])]
    given += [helper.make_tensor_value_info(n, onnx.TensorProto.INT64, s) for n, s in inputs.items()]
    stored = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()]
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", 1, [2, 3])], stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    path = str(folder / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [2, 5, -3])
def test_an_axis_that_there_is_not_is_refused(kind: str, axis: int, tmp_path: Path) -> None:
    opset, domain, attributes = KINDS[kind]
    more = {"BiasSoftmax": ["b"], "SimplifiedLayerNormalization": ["b"]}.get(kind, [])
    node = helper.make_node(kind, ["x", *more], ["y"], domain=domain, axis=axis, **attributes)
    with pytest.raises(ShapeError, match=f"axis {axis} of a tensor with 2 axes"):
        ps.load(saved(tmp_path, node, opset, {"b": np.ones((2, 3), np.float32)}, {}))


def test_a_condition_is_one_number(tmp_path: Path) -> None:
    side = helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], "side", [], [onnx.ValueInfoProto(name="z")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=side, else_branch=side)
    for count in (0, 2):
        with pytest.raises(ShapeError, match="one number"):
            ps.load(saved(tmp_path, node, 17, {"c": np.zeros(count, bool)}, {}))
