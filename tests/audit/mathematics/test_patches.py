"""The windows of a convolution that is written out are read as patches, and only those."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute


def convolution(folder: Path, *, size: int, kernel: int, **attributes: Any) -> str:
    """The file of the gradient of a convolution in float64, which onnxruntime has no kernel for."""
    double = TensorProto.DOUBLE
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    shapes = {"x": [2, 3, size, size + 1], "w": [4, 3, kernel, kernel]}
    inputs = [helper.make_tensor_value_info(n, double, shape) for n, shape in shapes.items()]
    graph = helper.make_graph([node], "convolve", inputs, [helper.make_tensor_value_info("y", double, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "c.onnx")
    path = str(folder / "g.onnx")
    ps.split(ps.load(folder / "c.onnx"), wrt=["x", "w"]).save(path)
    return path


@pytest.mark.parametrize(
    ("size", "kernel", "attributes", "call"),
    [
        (6, 3, {}, "patches(x, (3, 3))"),
        (7, 3, {"strides": [2, 2]}, "patches(x, (3, 3), strides=(2, 2))"),
        (7, 2, {"strides": [1, 2]}, "patches(x, (2, 2), strides=(1, 2))"),
        (8, 3, {"dilations": [2, 2]}, "patches(x, (3, 3), dilations=(2, 2))"),
        (5, 3, {"pads": [1, 1, 1, 1]}, "patches(pad_x, (3, 3))"),
    ],
)
def test_the_windows_of_a_convolution_are_patches(
    size: int, kernel: int, attributes: dict[str, Any], call: str, tmp_path: Path
) -> None:
    path = convolution(tmp_path, size=size, kernel=kernel, **attributes)
    file = read_written(path)
    assert call in list_as_mathematics(file)
    (made,) = mathematics_of(file)
    covered = [*made.plumbing, *(o for s in made.every for o in s.ops)]
    assert len(covered) == len({*covered})
    assert {*covered} == {*file.ops()}
    random = np.random.default_rng(0)
    shapes: list[Any] = [p.type.shape for p in file.block.params]
    assert_statements_compute(path, [random.standard_normal(shape) for shape in shapes])


def windows(folder: Path, starts: list[tuple[int, int]], length: int = 3) -> str:
    """The listing of a file that joins windows of an array that begin at these places."""
    double = TensorProto.DOUBLE
    nodes, tensors = [], [numpy_helper.from_array(np.array([2, 3]), "axes")]
    tensors.append(numpy_helper.from_array(np.array([1, 3, length * length]), "flat"))
    for i, start in enumerate(starts):
        tensors.append(numpy_helper.from_array(np.array(start), f"s{i}"))
        tensors.append(numpy_helper.from_array(np.array(start) + length, f"e{i}"))
        nodes.append(helper.make_node("Slice", ["x", f"s{i}", f"e{i}", "axes"], [f"cut{i}"]))
        nodes.append(helper.make_node("Reshape", [f"cut{i}", "flat"], [f"part{i}"]))
    nodes.append(helper.make_node("Concat", [f"part{i}" for i in range(len(starts))], ["y"], axis=1))
    told = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [told("x", double, [1, 3, 4, 4])], [told("y", double, None)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "w.onnx")
    return list_as_mathematics(read_written(str(folder / "w.onnx")))


def test_windows_in_another_order_or_of_another_length_are_none(tmp_path: Path) -> None:
    assert "patches(x, (2, 2))" in windows(tmp_path, [(0, 0), (0, 1), (1, 0), (1, 1)])
    assert "patches" not in windows(tmp_path, [(0, 0), (1, 0), (0, 1), (1, 1)])
    assert "patches" not in windows(tmp_path, [(0, 0), (0, 1), (1, 0), (1, 0)])
    assert "patches" not in windows(tmp_path, [(0, 0), (0, 1), (1, 0), (1, 1)], length=2)
