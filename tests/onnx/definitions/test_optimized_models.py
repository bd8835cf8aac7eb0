"""Models that onnxruntime has optimized, with its own operators in them, have the gradients that they had before."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from tests.versions import is_since

rng = np.random.default_rng(9)


def draw(*shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) / 2).astype(np.float32)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def layer() -> tuple[list[onnx.NodeProto], dict[str, Any], list[Any]]:
    """Return the nodes of a transformer's layer: attention of one head, a sum, a normalization, and a gelu between."""
    weights = {name: draw(8, 8) for name in ("wq", "wk", "wv", "wo")} | {
        "w1": draw(8, 16), "b1": draw(16), "w2": draw(16, 8), "b2": draw(8), "g1": draw(8), "c1": draw(8),
        "g2": draw(8), "c2": draw(8), "scale": np.float32(8**-0.5), "root": np.float32(2**0.5), "one": np.float32(1),
        "half": np.float32(0.5),
    }  # fmt: skip
    nodes = [
        node("MatMul", "x wq", "q"),
        node("MatMul", "x wk", "k"),
        node("MatMul", "x wv", "v"),
        node("Transpose", "k", "t", perm=[0, 2, 1]),
        node("MatMul", "q t", "raw"),
        node("Mul", "raw scale", "scores"),
        node("Softmax", "scores", "shares", axis=-1),
        node("MatMul", "shares v", "mixed"),
        node("MatMul", "mixed wo", "out"),
        node("Add", "out x", "sum1"),
        node("LayerNormalization", "sum1 g1 c1", "n1", axis=-1),
        node("MatMul", "n1 w1", "wide"),
        node("Add", "wide b1", "h"),
        node("Div", "h root", "h1"),
        node("Erf", "h1", "h2"),
        node("Add", "h2 one", "h3"),
        node("Mul", "h h3", "h4"),
        node("Mul", "h4 half", "gelu"),
        node("MatMul", "gelu w2", "narrow"),
        node("Add", "narrow b2", "biased"),
        node("Add", "biased n1", "sum2"),
        node("LayerNormalization", "sum2 g2 c2", "y", axis=-1),
    ]
    return nodes, weights, ["N", 5, 8]


def convolutions() -> tuple[list[onnx.NodeProto], dict[str, Any], list[Any]]:
    """Convolutions with their activations, a residual sum, and a dense layer."""
    weights = {"k1": draw(4, 3, 3, 3), "b1": draw(4), "k2": draw(4, 4, 3, 3), "w": draw(4, 5), "b": draw(5)}
    nodes = [
        node("Conv", "x k1 b1", "c1", pads=[1, 1, 1, 1]),
        node("LeakyRelu", "c1", "r1", alpha=0.1),
        node("Conv", "r1 k2", "c2", pads=[1, 1, 1, 1]),
        node("Add", "c2 r1", "s"),
        node("Sigmoid", "s", "r2"),
        node("GlobalAveragePool", "r2", "p"),
        node("Flatten", "p", "f"),
        node("Gemm", "f w b", "g"),
        node("Tanh", "g", "y"),
    ]
    return nodes, weights, ["N", 3, 6, 6]


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


def optimized(path: str, level: str) -> str:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = path.replace(".onnx", ".optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return options.optimized_model_filepath


@pytest.mark.parametrize("opset", [12, 17, 21])
@pytest.mark.parametrize(
    ("parts", "fused"),
    [(layer, {"FusedMatMul", "SkipLayerNormalization", "BiasGelu"}), (convolutions, {"FusedConv", "FusedGemm"})],
)
def test_an_optimized_model_has_the_gradient_that_it_had(
    parts: Any, fused: set[str], opset: int, tmp_path: Path
) -> None:
    made = parts()
    plain = saved(made, tmp_path / "plain.onnx", opset)
    path = optimized(plain, "ORT_ENABLE_EXTENDED")
    if not is_since("onnxruntime", "1.31"):
        fused = fused - {"BiasGelu"}  # it is fused at some opsets only
    assert fused <= {n.op_type for n in onnx.load(path).graph.node if n.domain == "com.microsoft"}
    x = draw(2, *made[2][1:])
    before, after = ps.load(plain), ps.load(path)
    seed = draw(*before(x).shape)
    for program in (before, after):
        np.testing.assert_allclose(program(x), onnxruntime.InferenceSession(plain).run(None, {"x": x})[0], atol=1e-5)
    names = sorted(made[1].keys() & after.params.keys() & {"wq", "w1", "b1", "g2", "k1", "k2", "w"})
    assert names
    wanted, found = (
        ps.split(p, wrt=["x", *names]).joint()(x, *(made[1][n] for n in names), seed) for p in (before, after)
    )
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_operators_of_onnxruntime_survive_the_conversion_of_an_old_model(tmp_path: Path) -> None:
    nodes = [
        node("LayerNormalization", "x g b", "n", epsilon=1e-5),
        helper.make_node("Gelu", ["n"], ["a"], domain="com.microsoft"),
        node("Unsqueeze", "a", "u", axes=[0]),
        node("Softmax", "u", "s", axis=2),
        node("Squeeze", "s", "y", axes=[0]),
    ]
    path = saved((nodes, {"g": draw(4), "b": draw(4)}, ["N", 4]), tmp_path / "old.onnx", 11)
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)
    x = draw(3, 4)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(ps.load(path)(x), expected, rtol=1e-5)


@pytest.mark.slow
def test_an_encoder_of_torch_has_torchs_gradient_before_and_after_it_is_optimized(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    optimizer = pytest.importorskip("onnxruntime.transformers.optimizer")
    torch.manual_seed(0)
    kind = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu", dropout=0.0)
    module = torch.nn.TransformerEncoder(kind, 1, enable_nested_tensor=False).train(mode=False)
    x, seed = torch.randn(2, 3, 16, requires_grad=True), torch.randn(2, 3, 16)
    paths = [str(tmp_path / name) for name in ("plain.onnx", "optimized.onnx")]
    torch.backends.mha.set_fastpath_enabled(False)
    sizes = {"x": {0: "B", 1: "S"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (x.detach(),), paths[0], input_names=["x"], opset_version=17, dynamo=False, dynamic_axes=sizes
        )
    optimizer.optimize_model(paths[0], "bert", num_heads=2, hidden_size=16, opt_level=1).save_model_to_file(paths[1])
    assert {n.domain for n in onnx.load(paths[1]).graph.node} == {"", "com.microsoft"}
    (module(x) * seed).sum().backward()
    for path in paths:
        program = ps.load(path)
        found = ps.grad(lambda x, program=program: (program(x) * seed.numpy()).sum())(x.detach().numpy())
        np.testing.assert_allclose(found, x.grad.numpy(), atol=1e-5)


def test_constants_do_not_keep_the_names_that_onnxruntimes_optimizer_gives_to_its_own(tmp_path: Path) -> None:
    """onnxruntime writes a MatMul and an Add as a Gemm between Reshapes, whose shapes it calls by these names."""
    weights = {"w": draw(4, 4), "b": draw(4), "v": draw(4, 4), "c": draw(4)} | {
        "gemm_input_shape": np.array([6, 4]), "gemm_output_shape": np.array([2, 3, 4]),
        "gemm_output_shape_token_3": np.array([2, 12]),
    }  # fmt: skip
    nodes = [
        node("Reshape", "x gemm_input_shape", "flat"),
        node("Gemm", "flat w b", "rows"),
        node("Reshape", "rows gemm_output_shape", "first"),
        node("Tanh", "first", "h"),
        node("MatMul", "h v", "m"),
        node("Add", "m c", "second"),
        node("Reshape", "second gemm_output_shape_token_3", "y"),
    ]
    program = ps.load(saved((nodes, weights, [2, 3, 4]), tmp_path / "model.onnx", 21))
    x, seed = draw(2, 3, 4), draw(2, 12)
    hidden = np.tanh(x @ weights["w"] + weights["b"])
    value, gradient = ps.split(program, wrt="x").joint()(x, seed)
    np.testing.assert_allclose(value, (hidden @ weights["v"] + weights["c"]).reshape(2, 12), rtol=1e-5, atol=1e-5)
    slope = (1 - hidden**2) * (seed.reshape(2, 3, 4) @ weights["v"].T) @ weights["w"].T
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-5)
