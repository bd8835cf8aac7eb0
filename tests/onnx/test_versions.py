"""Models of older and newer opsets are read as their own versions of the operators say."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import onnxruntime
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.layers import B, W, saved

rng = np.random.default_rng(11)


def test_an_old_opset_is_converted(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["z"]),
        helper.make_node("Softmax", ["z"], ["s"], axis=1),
        helper.make_node("ReduceSum", ["s"], ["r"], axes=[0], keepdims=0),
        helper.make_node("ReduceMax", ["r"], ["y"], keepdims=0),
    ]
    path = saved(tmp_path, nodes, opset=9)
    x = rng.standard_normal((4, 3)).astype(np.float32)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(ps.load(path)(x), expected, rtol=1e-6)


def test_a_newer_opset_is_read_by_the_definitions_of_its_operators(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["size"], start=0, end=1),
        helper.make_node("Cast", ["size"], ["count"], to=6),
        helper.make_node("Cast", ["count"], ["rows"], to=7),
        helper.make_node("Concat", ["rows", "minus"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "W", "b"], ["z"]),
        helper.make_node("Swish", ["z"], ["s"], alpha=0.5),
        helper.make_node("RMSNormalization", ["s", "b"], ["n"]),
        helper.make_node("ReduceMean", ["n"], ["y"], keepdims=0),
    ]
    path = saved(tmp_path, nodes, opset=28)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "minus"))
    onnx.save(model, path)
    program = ps.load(path)
    assert {op.kind for op in program.block.ops} >= {"call::Swish", "call::RMSNormalization", "Cast"}
    x = rng.standard_normal((5, 3)).astype(np.float32)
    expected = onnx.reference.ReferenceEvaluator(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(program(x), expected, rtol=1e-5, atol=1e-6)
    made = ps.split(program, wrt=["W", "b"])
    assert made.gradient_names == ["d_W", "d_b"]
    out = tmp_path / "gradient.onnx"
    made.save(str(out))
    assert [(o.domain, o.version) for o in onnx.load(str(out)).opset_import] == [("", 21)]
    _, dw, db = made.joint()(x, W, B)
    step = 1e-2 * rng.standard_normal(B.shape).astype(np.float32)
    evaluate = onnx.reference.ReferenceEvaluator(path)
    ahead, behind = (evaluate.run(None, {"x": x, "b": B + s * step})[0] for s in (1, -1))
    assert np.isfinite(dw).all()
    np.testing.assert_allclose(np.sum(db * step), (ahead - behind) / 2, rtol=2e-2)
