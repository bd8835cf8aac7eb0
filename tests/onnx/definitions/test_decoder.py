"""A decoder of the newer operators together, as exporters write it: loaded, differentiated by its weights, saved."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps

rng = np.random.default_rng(13)
WIDTH, HEADS, SHARED, INNER, WORDS, LONGEST = 16, 4, 2, 24, 11, 8
SIZE = WIDTH // HEADS


def weights() -> dict[str, np.ndarray]:
    def draw(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    angles = np.outer(np.arange(LONGEST), 100.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
    found = {"words": draw(WORDS, WIDTH), "cos": np.cos(angles), "sin": np.sin(angles), "last": 1 + draw(WIDTH) / 4}
    for layer in "01":
        found |= {f"before{layer}": 1 + draw(WIDTH) / 4, f"between{layer}": 1 + draw(WIDTH) / 4}
        found |= {f"q{layer}": draw(WIDTH, WIDTH), f"o{layer}": draw(WIDTH, WIDTH)}
        found |= {f"k{layer}": draw(WIDTH, SHARED * SIZE), f"v{layer}": draw(WIDTH, SHARED * SIZE)}
        found |= {
            f"gate{layer}": draw(WIDTH, INNER),
            f"up{layer}": draw(WIDTH, INNER),
            f"down{layer}": draw(INNER, WIDTH),
        }
    return {name: value.astype(np.float32) for name, value in found.items()}


def layer(n: str, x: str) -> list[onnx.NodeProto]:
    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> onnx.NodeProto:
        return helper.make_node(kind, inputs, [output + n], **attributes)

    shared = {"q_num_heads": HEADS, "kv_num_heads": SHARED}
    return [
        node("RMSNormalization", [x, "before" + n], "n"),
        *(node("MatMul", ["n" + n, name + n], name.upper()) for name in "qkv"),
        node("RotaryEmbedding", ["Q" + n, "cos", "sin", "places"], "Qr", num_heads=HEADS),
        node("RotaryEmbedding", ["K" + n, "cos", "sin", "places"], "Kr", num_heads=SHARED),
        node("Attention", ["Qr" + n, "Kr" + n, "V" + n, "mask"], "a", is_causal=1, **shared),
        node("MatMul", ["a" + n, "o" + n], "p"),
        node("Add", [x, "p" + n], "y"),
        node("RMSNormalization", ["y" + n, "between" + n], "m"),
        node("MatMul", ["m" + n, "gate" + n], "g"),
        node("MatMul", ["m" + n, "up" + n], "u"),
        node("SwiGLU", ["g" + n, "u" + n], "s"),
        node("MatMul", ["s" + n, "down" + n], "d"),
        node("Add", ["y" + n, "d" + n], "z"),
    ]


@pytest.fixture
def decoder(tmp_path: Path) -> str:
    nodes = [
        helper.make_node("Gather", ["words", "tokens"], ["x"]),
        *layer("0", "x"),
        *layer("1", "z0"),
        helper.make_node("RMSNormalization", ["z1", "last"], ["normed"]),
        helper.make_node("Transpose", ["words"], ["turned"]),
        helper.make_node("MatMul", ["normed", "turned"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "decoder",
        [
            helper.make_tensor_value_info("tokens", TensorProto.INT64, ["B", "S"]),
            helper.make_tensor_value_info("places", TensorProto.INT64, ["B", "S"]),
            helper.make_tensor_value_info("mask", TensorProto.BOOL, ["B", 1, "S", "S"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", "S", WORDS])],
        [numpy_helper.from_array(value, name) for name, value in weights().items()],
    )
    path = str(tmp_path / "decoder.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=11), path)
    return path


def given(batch: int, length: int) -> dict[str, np.ndarray]:
    mask = np.ones((batch, 1, length, length), np.bool_)
    mask[-1, ..., 1:2] = False
    return {
        "tokens": rng.integers(0, WORDS, (batch, length)),
        "places": np.tile(np.arange(length), (batch, 1)),
        "mask": mask,
    }


def test_the_gradient_of_every_weight_agrees_with_differences_of_the_reference(decoder: str, tmp_path: Path) -> None:
    made = ps.split(ps.load(decoder), wrt="params")
    path = str(tmp_path / "gradient.onnx")
    made.save(path, weights="defaults")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    model = onnx.load(decoder)
    values = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    assert {f"d_{name}" for name in values} <= set(names)
    evaluator = onnx.reference.ReferenceEvaluator(model)
    for batch, length in ((2, 5), (1, 1)):
        feeds = given(batch, length)
        seed = rng.standard_normal((batch, length, WORDS)).astype(np.float32)
        (cotangent,) = {i.name for i in session.get_inputs()} - set(feeds)
        found = dict(zip(names, session.run(None, {**feeds, cotangent: seed}), strict=True))
        (logits,) = evaluator.run(None, feeds)
        np.testing.assert_allclose(found["logits"], logits, rtol=1e-4, atol=1e-5)
        for name, value in values.items():
            step = 1e-5 * rng.standard_normal(value.shape)
            ends = (evaluator.run(None, {**feeds, **values, name: value + s * step})[0] for s in (1, -1))
            slope = np.sum((next(ends) - next(ends)) * seed) / 2e-5
            mine = np.sum(found[f"d_{name}"] * (step / 1e-5))
            np.testing.assert_allclose(mine, slope, rtol=2e-3, atol=2e-4, err_msg=name)
