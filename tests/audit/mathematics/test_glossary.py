"""A listing says what the functions compute that NumPy does not have."""

import numpy as np
import onnx
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written


def test_a_function_that_numpy_lacks_is_explained_once(tmp_path: object) -> None:
    path = f"{tmp_path}/f.onnx"
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Conv", ["a", "w"], ["y"])]
    told = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 1, 8, 8]), ("w", [1, 1, 3, 3]))
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", told, [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    text = list_as_mathematics(read_written(path))
    assert "  y = conv(conv(x, w), w)" in text
    assert text.count("functions\n  conv(a, w, bias, strides, dilations, pads, group)   the sums of products") == 1


def test_a_function_of_numpy_is_not_explained(tmp_path: object) -> None:
    path = f"{tmp_path}/f.onnx"
    ps.export(lambda x: np.sum(np.tanh(x)), np.ones(3), path=path)
    assert "functions" not in list_as_mathematics(read_written(path))
