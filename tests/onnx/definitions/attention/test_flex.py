"""FlexAttention is what onnx's reference computes, with its gradient of first and second order."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper

from primsplit import load, split
from primsplit.testing import check_grads, directional_derivative
from primsplit.tracing.array import Array
from tests.onnx.definitions.drawing import drawing

rng = np.random.default_rng(3)
draw = drawing(rng, "float64")


def qkv(heads: int = 2, shared: int = 2, queries: int = 3, keys: int = 5, size: int = 4, value: int = 4) -> list[Any]:
    return [draw(2, heads, queries, size), draw(2, shared, keys, size), draw(2, shared, keys, value)]


def modifier(*nodes: onnx.NodeProto, constants: dict[str, Any] | None = None) -> onnx.GraphProto:
    """A program of rank-4 scores x -> y."""
    shape = ["B", "H", "L", "S"]
    return helper.make_graph(
        list(nodes),
        "mod",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, shape)],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, shape)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()],
    )


FLEX = {
    "plain": {"scale": 0.25},
    "heads that share keys": {"scale": 0.25},
    "soft cap": {
        "scale": 0.25,
        "score_mod": modifier(
            helper.make_node("Div", ["x", "c"], ["a"]),
            helper.make_node("Tanh", ["a"], ["b"]),
            helper.make_node("Mul", ["b", "c"], ["y"]),
            constants={"c": 0.75},
        ),
    },
    "both": {
        "scale": 0.25,
        "score_mod": modifier(helper.make_node("Add", ["x", "c"], ["y"]), constants={"c": draw(3, 5)}),
        "prob_mod": modifier(helper.make_node("Mul", ["x", "x"], ["y"])),
    },
}


@pytest.mark.parametrize("name", FLEX)
def test_flex_attention_and_its_gradient_are_those_of_the_standard(name: str, tmp_path: Path) -> None:
    inputs = qkv(heads=4 if name == "heads that share keys" else 2)
    node = helper.make_node("FlexAttention", ["q", "k", "v"], ["z"], domain="ai.onnx.preview", **FLEX[name])
    batch = [["B", *x.shape[1:]] for x in inputs]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in zip("qkv", batch, strict=True)],
        [helper.make_tensor_value_info("z", TensorProto.DOUBLE, [None] * 4)],
    )
    imports = [helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.preview", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    path = tmp_path / "flex.onnx"
    onnx.save(model, str(path))
    program = load(str(path))
    evaluator = onnx.reference.ReferenceEvaluator(model)

    def function(*given: Any) -> Any:
        if any(isinstance(x, Array) for x in given):
            return program(*given)
        return evaluator.run(None, dict(zip("qkv", given, strict=True)))[0]

    check_grads(function, *inputs, symbolic=False)


def test_a_weight_that_a_modifier_reads_has_a_gradient(tmp_path: Path) -> None:
    inputs, bias, gain = qkv(), draw(3, 5), draw(1)
    shape = ["B", 2, 3, 5]
    score = helper.make_graph(
        [helper.make_node("Add", ["x", "bias"], ["a"]), helper.make_node("Mul", ["a", "gain"], ["y"])],
        "mod",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, shape)],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, shape)],
    )
    node = helper.make_node("FlexAttention", list("qkv"), ["z"], domain="ai.onnx.preview", scale=0.25, score_mod=score)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, x.shape) for n, x in zip("qkv", inputs, strict=True)]
        + [helper.make_tensor_value_info("gain", TensorProto.DOUBLE, [1])],
        [helper.make_tensor_value_info("z", TensorProto.DOUBLE, [None] * 4)],
        [numpy_helper.from_array(bias, "bias")],
    )
    imports = [helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.preview", 1)]
    path = str(tmp_path / "flex.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    cotangent = draw(2, 2, 3, 4)
    made = split(load(path), wrt=["bias", "gain"])
    gradients = dict(zip(made.gradient_names, made.joint()(*inputs, gain, bias, cotangent)[1:], strict=True))

    def value(point: Any) -> float:
        q, k, v = inputs
        logits = (0.25 * q @ np.swapaxes(k, 2, 3) + point[0]) * point[1]
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return float(np.sum(weights / weights.sum(-1, keepdims=True) @ v * cotangent))

    direction = [draw(3, 5), draw(1)]
    slope = directional_derivative(value, [bias, gain], direction, 1e-2)
    found = np.sum(gradients["d_bias"] * direction[0]) + np.sum(gradients["d_gain"] * direction[1])
    np.testing.assert_allclose(found, slope, rtol=1e-5)
