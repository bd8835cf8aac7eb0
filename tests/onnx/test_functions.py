"""A file of functions: what they read and return is named once."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import primsplit as ps


def test_a_constant_that_the_pullback_reads_has_one_name_in_a_file_of_functions(tmp_path: Path) -> None:
    """The forward function makes `turned` of a long initializer: folded, it is an initializer of that name."""
    w = np.random.default_rng(0).standard_normal((40, 40))
    text = "g (double[N,40] x) => (double[N,40] y) { turned = Transpose (w) h = MatMul (x, turned) y = Mul (h, h) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(model, tmp_path / "model.onnx")
    made = ps.split(ps.load(str(tmp_path / "model.onnx")), wrt="x")
    assert "turned" in made.capture_names().values()
    (path,) = made.save(str(tmp_path / "functions.onnx"), form="functions")
    x = np.ones((2, 40))
    _, slope = onnxruntime.InferenceSession(path).run(None, {"x": x, "d_y": x})
    np.testing.assert_allclose(slope, 2 * (x @ w.T) @ w)


def test_a_file_of_functions_keeps_the_numbers_of_weights_as_defaults(tmp_path: Path) -> None:
    text = "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1.0, 2.0, 3.0, 4.0}> { y = MatMul (x, w) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), tmp_path / "model.onnx")
    made = ps.split(ps.load(str(tmp_path / "model.onnx")), wrt="params")
    (path,) = made.save(str(tmp_path / "functions.onnx"), form="functions", weights="defaults")
    session, x = onnxruntime.InferenceSession(path), np.eye(2, dtype=np.float32)
    assert [i.name for i in session.get_inputs()] == ["x", "d_y"]
    value, slope = session.run(None, {"x": x, "d_y": x})
    np.testing.assert_array_equal(value, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(slope, x)
    value, _ = session.run(None, {"x": x, "d_y": x, "w": 5 * x})
    np.testing.assert_array_equal(value, 5 * x)
    assert list(ps.load(path).params) == ["w"]
