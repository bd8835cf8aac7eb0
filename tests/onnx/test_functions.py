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
