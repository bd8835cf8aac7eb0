"""A branch's captures for its pullback have their sizes after the other branch too, if they are few."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps


def chosen(x: Any) -> Any:
    return ps.cond(np.sum(x) > 0, lambda x: np.exp(np.sin(x)), lambda x: x, x)


def nested(x: Any) -> Any:
    return ps.cond(np.sum(x) > 0, lambda x: np.sin(chosen(x)), lambda x: x, x)


def empties(graph: onnx.GraphProto) -> list[str]:
    found = [t.name for t in graph.initializer if 0 in t.dims]
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return [*found, *(name for each in inner for name in empties(each))]


@pytest.mark.parametrize(("size", "is_filled"), [(3, True), (64, True), (65, False), ("N", False)])
def test_few_literal_sizes_are_the_same_on_both_sides(size: Any, is_filled: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "gradient.onnx")
    ps.split(nested, ps.spec("float32", [size])).save(path)
    assert (not empties(onnx.load(path).graph)) == is_filled
    for sign in (1, -1):
        x = sign * np.linspace(0.1, 0.9, size if isinstance(size, int) else 4, dtype=np.float32)
        found = onnxruntime.InferenceSession(path).run(None, {"x": x, "d_y": np.ones_like(x)})[1]
        inner = np.exp(np.sin(x))
        slope = np.cos(inner) * inner * np.cos(x) if sign > 0 else np.ones_like(x)
        np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_second_derivative_loads_where_onnxruntime_takes_both_branches(tmp_path: Path) -> None:
    """Two Resizes by computed scales, whose sizes only onnxruntime computes: their scatters choose by them."""
    first = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"}
    nodes = [
        helper.make_node("Min", ["c", "one"], ["s"]),
        helper.make_node("Resize", ["x", "", "s"], ["b"], **first),
        helper.make_node("Max", ["c", "one"], ["t"]),
        helper.make_node("Resize", ["b", "", "t"], ["y"], **{**first, "nearest_mode": "floor"}),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", 1, None)],
        [
            numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "c"),
            numpy_helper.from_array(np.float32(1), "one"),
        ],
    )
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    for order in ("first", "second"):
        (path,) = ps.split(ps.load(path)).save(str(tmp_path / f"{order}.onnx"))
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
