"""Models that are laid out for one processor are refused with the way out."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction


def saved(parts: Any, path: Path, opset: int) -> str:
    nodes, weights, shape = parts
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info("y", 1, [None] * (3 if len(shape) == 3 else 2))],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), str(path))
    return str(path)


def test_a_model_laid_out_for_one_processor_is_refused_with_the_way_out(tmp_path: Path) -> None:
    nodes = [helper.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")]
    path = saved((nodes, {}, [1, 8, 4, 4]), tmp_path / "blocked.onnx", 21)
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("com.microsoft.nchwc", 1))
    onnx.save(model, path)
    with pytest.raises(UnsupportedFunction, match="ORT_ENABLE_EXTENDED"):
        ps.load(path)
