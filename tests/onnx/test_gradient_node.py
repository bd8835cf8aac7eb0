"""Models with the Gradient operator become plain ONNX."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import ParseError

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "simple"
TRAINING = "ai.onnx.preview.training"
rng = np.random.default_rng(4)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def saved(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, int], **constants: Any) -> str:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(k, onnx.TensorProto.DOUBLE, v) for k, v in inputs.items()],
        [helper.make_tensor_value_info(k, onnx.TensorProto.DOUBLE, [None] * v) for k, v in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    path = str(folder / "gradient.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def gradient(inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Gradient", inputs, outputs, domain=TRAINING, **attributes)


LOSS = [
    helper.make_node("MatMul", ["x", "w"], ["h"]),
    helper.make_node("Tanh", ["h"], ["t"]),
    helper.make_node("Mul", ["t", "t"], ["q"]),
    helper.make_node("ReduceSum", ["q"], ["y"], keepdims=0),
]


def value(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """dy/dx."""
    t = np.tanh(x @ w)
    return (2 * t * (1 - t * t)) @ w.T


@pytest.mark.parametrize("name", ["test_gradient_of_add", "test_gradient_of_add_and_mul"])
def test_onnxs_own_models_give_their_own_numbers_in_stock_onnxruntime(name: str, tmp_path: Path) -> None:
    folder = FOLDER / name
    path = str(tmp_path / "plain.onnx")
    ps.load(str(folder / "model.onnx")).save(path)
    onnx.checker.check_model(path, full_check=True)
    assert [o.domain for o in onnx.load(path).opset_import] == [""]
    data = folder / "test_data_set_0"

    def read(kind: str) -> list[np.ndarray]:
        files = sorted(data.glob(f"{kind}_*.pb"))
        return [numpy_helper.to_array(onnx.load_tensor(str(f))) for f in files]

    session = onnxruntime.InferenceSession(path)
    feeds = dict(zip([i.name for i in session.get_inputs()], read("input"), strict=True))
    for found, expected in zip(session.run(None, feeds), read("output"), strict=True):
        np.testing.assert_allclose(found, expected)
        assert found.dtype == expected.dtype


def test_the_gradient_is_that_of_the_graph_before_it(tmp_path: Path) -> None:
    x, w = draw(2, 3), draw(3, 4)
    nodes = [*LOSS, gradient(["x", "w"], ["dx", ""], xs=["x", "w"], y="y")]
    program = ps.load(saved(tmp_path, nodes, {"x": ["N", 3], "w": [3, 4]}, {"y": 0, "dx": 2}))
    y, dx = program(x, w)
    np.testing.assert_allclose(y, np.sum(np.tanh(x @ w) ** 2))
    np.testing.assert_allclose(dx, value(x, w))


def test_the_gradient_is_taken_at_the_values_that_are_given(tmp_path: Path) -> None:
    x, other, w = draw(2, 3), draw(5, 3), draw(3, 4)
    nodes = [*LOSS, gradient(["other", "w"], ["dx"], xs=["x"], zs=["w"], y="y")]
    program = ps.load(saved(tmp_path, nodes, {"x": ["N", 3], "other": ["M", 3], "w": [3, 4]}, {"y": 0, "dx": 2}))
    np.testing.assert_allclose(program(x, other, w)[1], value(other, w))


def test_a_value_inside_the_graph_is_a_variable_too(tmp_path: Path) -> None:
    x, w = draw(2, 3), draw(3, 4)
    nodes = [*LOSS, gradient(["h"], ["dh"], xs=["h"], y="y")]
    program = ps.load(saved(tmp_path, nodes, {"x": ["N", 3], "w": [3, 4]}, {"dh": 2}))
    t = np.tanh(x @ w)
    np.testing.assert_allclose(program(x, w), 2 * t * (1 - t * t))


def test_a_constant_is_a_variable_too(tmp_path: Path) -> None:
    x, w = draw(2, 3), draw(3, 4)
    nodes = [*LOSS, gradient(["w", "x"], ["dw"], xs=["w"], zs=["x"], y="y")]
    program = ps.load(saved(tmp_path, nodes, {"x": ["N", 3]}, {"dw": 2}, w=w))
    t = np.tanh(x @ w)
    np.testing.assert_allclose(program(x), x.T @ (2 * t * (1 - t * t)))


def test_gradients_of_gradients_and_of_what_has_axes(tmp_path: Path) -> None:
    x = draw(4)
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Mul", ["e", "x"], ["y"]),
        gradient(["x"], ["first"], xs=["x"], y="y"),
        gradient(["x"], ["second"], xs=["x"], y="first"),
        gradient(["x"], ["third"], xs=["x"], y="second"),
    ]
    program = ps.load(saved(tmp_path, nodes, {"x": ["N"]}, {"first": 1, "second": 1, "third": 1}))
    for found, order in zip(program(x), (1, 2, 3), strict=True):
        np.testing.assert_allclose(found, (x + order) * np.exp(x), rtol=1e-12)
    made = ps.split(program, of="second").joint()
    np.testing.assert_allclose(made(x, np.ones(4))[-1], (x + 3) * np.exp(x), rtol=1e-12)


def test_what_the_target_does_not_depend_on_has_a_gradient_of_zeros(tmp_path: Path) -> None:
    x = draw(3)
    nodes = [helper.make_node("Exp", ["x"], ["y"]), gradient(["z"], ["dz"], xs=["z"], y="y")]
    program = ps.load(saved(tmp_path, nodes, {"x": [3], "z": [2]}, {"dz": 1}))
    np.testing.assert_array_equal(program(x, draw(2)), np.zeros(2))


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    nodes = [helper.make_node("Exp", ["x"], ["y"]), gradient(["x"], ["dx"], xs=["x"], y="loss")]
    with pytest.raises(ParseError, match="a Gradient node has no value loss"):
        ps.load(saved(tmp_path, nodes, {"x": [3]}, {"dx": 1}))
