"""The definition of an operator is a graph of others, with the attributes and inputs of the node."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from primsplit.audit.definitions import definition
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.written import read_written
from primsplit.ir import Op, Type, Var


def test_an_operator_that_others_define_is_a_graph() -> None:
    x, y = Var(Type("float32", [3]), "x"), Var(Type("float32", [3]), "y")
    model = definition(Op("Swish", (x,), (y,), {"alpha": 2.0}), {x: x.type, y: y.type}, {"": 24})
    assert model is not None
    assert [node.op_type for node in model.graph.node] == ["Constant", "CastLike", "Mul", "Sigmoid", "Mul"]
    assert definition(Op("Tanh", (x,), (y,)), {x: x.type}, {"": 21}) is None
    assert definition(Op("my.domain::Tanh", (x,), (y,)), {x: x.type}, {"": 21}) is None


def test_nodes_of_one_definition_call_one_function(tmp_path: Path) -> None:
    ends = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in ("x", "y")]
    labels = helper.make_tensor_value_info("labels", 7, [2])
    loss = helper.make_tensor_value_info("loss", 1, [])
    nodes = [helper.make_node("SoftmaxCrossEntropyLoss", [name, "labels"], [f"loss_{name}"]) for name in "xy"]
    nodes.append(helper.make_node("Add", ["loss_x", "loss_y"], ["loss"]))
    graph = helper.make_graph(nodes, "g", [*ends, labels], [loss])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "m.onnx")
    text = to_numpy([read_written(str(tmp_path / "m.onnx"))]).text
    assert text.count("def _softmaxcrossentropyloss") == 1
    scope: dict[str, object] = {}
    exec(text, scope)
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([[1, 0, 2], [0, 0, 0]])
    places = np.array([2, 0])
    rows = [np.log(np.exp(z).sum(axis=1)) - z[[0, 1], places] for z in (x, y)]
    found = scope["forward"](x, y, places)  # type: ignore[operator]
    np.testing.assert_allclose(found, rows[0].mean() + rows[1].mean(), rtol=1e-6)
