"""Operators have the names by which people call their functions."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written


def listed(nodes: list[Any], path: Path) -> str:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(model, path)
    return list_as_mathematics(read_written(str(path)))


def test_functions_have_their_usual_names(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["b"]),
        helper.make_node("Softmax", ["b"], ["y"], axis=1),
    ]
    assert "  y = softmax(sigmoid(relu(x)), axis=1)" in listed(nodes, tmp_path / "g.onnx")


def test_an_operator_that_numpy_lacks_is_called_by_its_name(tmp_path: Path) -> None:
    nodes = [helper.make_node("MysteryNorm", ["x"], ["y"], domain="some.where", strength=2)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("some.where", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets), tmp_path / "g.onnx")
    text = list_as_mathematics(read_written(str(tmp_path / "g.onnx")))
    assert "  y = mystery_norm(x, strength=2)" in text


def test_an_array_that_is_the_same_everywhere_is_a_number(tmp_path: Path) -> None:
    half = helper.make_tensor("half", TensorProto.FLOAT, [2, 3], np.full(6, 0.5, np.float32))
    nodes = [helper.make_node("Constant", [], ["h"], value=half), helper.make_node("Mul", ["x", "h"], ["y"])]
    assert "0.5" in listed(nodes, tmp_path / "g.onnx")


def test_a_number_of_32_bits_has_its_fewest_digits(tmp_path: Path) -> None:
    nodes = [helper.make_node("LpPool", ["x"], ["y"], domain="some.where", epsilon=1e-5, p=2)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("some.where", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets), tmp_path / "g.onnx")
    assert "epsilon=1e-05" in list_as_mathematics(read_written(str(tmp_path / "g.onnx")))
