"""Look-ups of numbers and texts among keys of ai.onnx.ml are what onnxruntime's kernels find."""

from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnxruntime
import pytest

import primsplit as ps
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node
from tests.onnx.definitions.trained import check_value, row, title

rng = np.random.default_rng(6)

draw = drawing(rng)

X = draw(3, 4)

HOLES = np.where(rng.random((3, 4)) < 0.3, np.float32(np.nan), X)

CODES = np.array([[3, 1], [7, 3], [2, 1]])

NAMES = np.array([["ant"], ["fly"], ["cow"]], np.object_)

JUMPS = [
    row("OneHotEncoder", CODES, cats_int64s=[1, 2, 3]),
    row("OneHotEncoder", CODES.astype(np.float32) + 0.5, cats_int64s=[1, 2, 3]),
    row("OneHotEncoder", NAMES, cats_strings=["fly", "ant", "bee"]),
    row("LabelEncoder", CODES, keys_int64s=[1, 3], values_floats=[0.5, 0.25], default_float=9.0),
    row("LabelEncoder", CODES, outputs=("int64",), keys_int64s=[1, 3], values_int64s=[5, 4]),
    row("LabelEncoder", np.round(X), keys_floats=[0.0, 1.0], values_floats=[3.0, 1.0]),
    row("LabelEncoder", NAMES, outputs=("int64",), keys_strings=["bee", "fly", "ant"], values_int64s=[4, 5, 6]),
    row("LabelEncoder", CODES, outputs=("object",), keys_int64s=[1, 3], values_strings=["bee", "fly"]),
]
"""Rows without a gradient, or at a point where a difference quotient has no limit."""


def test_not_a_number_is_a_key_since_version_4(tmp_path: Path) -> None:
    values = onnx.numpy_helper.from_array(np.array([3.0, 1.0], np.float32))
    default = onnx.numpy_helper.from_array(np.array([7.0], np.float32))
    keys = {"keys_floats": [np.nan, 2.0], "values_tensor": values, "default_tensor": default}
    model = onnx.load(row("LabelEncoder", HOLES, **keys).save(tmp_path / "node.onnx"))
    next(o for o in model.opset_import if o.domain).version = 4
    onnx.save(model, tmp_path / "node.onnx")
    x = np.array([[np.nan, 2.0, 5.0, 2.0]], np.float32)
    (expected,) = onnxruntime.InferenceSession(tmp_path / "node.onnx").run(None, {"x0": x})
    np.testing.assert_array_equal(ps.load(str(tmp_path / "node.onnx"))(x), expected)
    np.testing.assert_array_equal(expected, [[3, 1, 7, 1]])


def test_the_gradient_of_a_pipeline_with_categories_is_that_of_its_numbers(tmp_path: Path) -> None:
    """The form in which scikit-learn's OneHotEncoder beside a StandardScaler is exported."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
        pipeline (float[N, 2] numbers, string[N, 1] animal) => (float[N, 1] y) {
            scaled = ai.onnx.ml.Scaler<offset = [1.0, 2.0], scale = [0.5, 0.25]>(numbers)
            coded = ai.onnx.ml.OneHotEncoder<cats_strings = ["ant", "bee"]>(animal)
            shape = Constant<value_ints = [-1, 2]>()
            flat = Reshape(coded, shape)
            features = Concat<axis = 1>(scaled, flat)
            y = ai.onnx.ml.LinearRegressor<coefficients = [2.0, 3.0, 5.0, 7.0]>(features)
        }""")
    onnx.save(model, tmp_path / "pipeline.onnx")
    program = ps.load(str(tmp_path / "pipeline.onnx"))
    numbers, animals = np.array([[1.0, 2.0], [3.0, 6.0]], np.float32), np.array([["bee"], ["ant"]], np.object_)
    value, slope = ps.split(program, wrt="numbers").joint()(numbers, animals, np.ones((2, 1), np.float32))
    np.testing.assert_allclose(value, [[7.0], [2.0 + 3.0 + 5.0]])
    np.testing.assert_allclose(slope, [[1.0, 0.75], [1.0, 0.75]])


@pytest.mark.parametrize("given", JUMPS, ids=title)
def test_an_operator_is_what_its_kernel_computes(given: Node, tmp_path: Path) -> None:
    check_value(given, tmp_path)
