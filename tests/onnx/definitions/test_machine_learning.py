"""Operators of ai.onnx.ml are what onnxruntime's kernels compute, and have the gradient of what they compute."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.machine_learning import feature_vectorizer
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node
from tests.onnx.definitions.trained import ML, check_slope, check_value, row, title

rng = np.random.default_rng(6)
draw = drawing(rng)


def floats(*shape: int) -> list[float]:
    return [float(v) for v in draw(*shape).reshape(-1)]


X = draw(3, 4)
HOLES = np.where(rng.random((3, 4)) < 0.3, np.float32(np.nan), X)
ROWS = [
    row("Scaler", X, offset=floats(4), scale=floats(4)),
    row("Scaler", X, offset=[0.5], scale=[2.0]),
    row("Normalizer", np.abs(X) + 1, norm="MAX"),
    row("Normalizer", X, norm="L1"),
    row("Normalizer", X, norm="L2"),
    row("Imputer", HOLES, imputed_value_floats=floats(4), replaced_value_float=float("nan")),
    row("FeatureVectorizer", X, draw(3, 2), inputdimensions=[4, 2]),
    row("ArrayFeatureExtractor", X, np.array([2, 0, 2])),
]


JUMPS = [
    row("Binarizer", X, threshold=0.25),
    row("Normalizer", np.concatenate([X, np.zeros((1, 4), np.float32)]), norm="L1"),
    row("Imputer", X, imputed_value_floats=[3.0], replaced_value_float=float(X[1, 2])),
]
"""Rows without a gradient, or at a point where a difference quotient has no limit."""


@pytest.mark.parametrize("given", ROWS + JUMPS, ids=title)
def test_an_operator_is_what_its_kernel_computes(given: Node, tmp_path: Path) -> None:
    check_value(given, tmp_path)


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operators_gradient_agrees_with_differences_in_float64(given: Node, tmp_path: Path) -> None:
    check_slope(given, tmp_path)


def test_maps_of_labels_to_probabilities_are_the_probabilities(tmp_path: Path) -> None:
    """The form in which skl2onnx writes a classifier by default."""
    classes = {"coefficients": [0.1, 0.2, 0.3, -0.4], "intercepts": [0.1, 0.2], "classlabels_ints": [5, 7]}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", **classes),
        helper.make_node("ZipMap", ["p"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[5, 7]),
    ]
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, [])))
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", 1, ["N", 2])],
        [helper.make_tensor_value_info("label", 7, ["N"]), helper.make_value_info("maps", maps)],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    path = str(tmp_path / "classifier.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    x = np.array([[1.0, 2.0], [-3.0, 0.5]], np.float32)
    labels, rows = onnxruntime.InferenceSession(path).run(None, {"x": x})
    file = ps.split(ps.load(path), wrt="x", of="maps").joint()
    found = file(x, np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    np.testing.assert_array_equal(found[0], labels)
    np.testing.assert_allclose(found[1], [[row[5], row[7]] for row in rows], rtol=1e-6)
    np.testing.assert_allclose(found[2], [[0.1, 0.2], [0.3, -0.4]], rtol=1e-6)


def test_labels_that_are_texts_stay_in_the_file(tmp_path: Path) -> None:
    """As an initializer that the most likely class picks from."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> classifier (float[N, 2] x) => (string[N] y, float p)
        <string[2] classes = {"ant", "bee"}> {
            best = ArgMax<axis = 1, keepdims = 0>(x)
            y = ai.onnx.ml.ArrayFeatureExtractor(classes, best)
            p = ReduceSum<keepdims = 0>(x)
        }""")
    model.graph.initializer[0].string_data[1] = "bée".encode()
    onnx.save(model, tmp_path / "labels.onnx")
    program = ps.load(str(tmp_path / "labels.onnx"))
    assert np.asarray(program.params["classes"]).tolist() == ["ant", "bée"]
    ps.split(program, of="p", seed="ones").save(str(tmp_path / "gradient.onnx"))
    x = np.array([[1.0, 2.0], [3.0, 1.0]], np.float32)
    labels, _, slope = onnxruntime.InferenceSession(str(tmp_path / "gradient.onnx")).run(None, {"x": x})
    assert labels.reshape(-1).tolist() == program(x)[0].reshape(-1).tolist() == ["bée", "ant"]
    np.testing.assert_array_equal(slope, np.ones((2, 2)))


@pytest.mark.parametrize(
    ("name", "attributes", "reason"),
    [
        ("DictVectorizer", {"int64_vocabulary": [1]}, "takes maps"),
        ("CategoryMapper", {"cats_int64s": [1], "cats_strings": ["a"]}, "looks its input up"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(
    name: str, attributes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = Node(ML + name, [X], attributes, ranks=[2]).save(tmp_path / "node.onnx")
    with pytest.raises(UnsupportedFunction, match=f"{name} cannot be written in the standard's operators: .*{reason}"):
        ps.load(path)


def test_features_without_dimensions_are_taken_whole() -> None:
    """onnxruntime refuses a model without them, which the standard allows."""
    x, y = X[:, :3], X[:, 3]
    np.testing.assert_array_equal(ps.trace(feature_vectorizer, x, y)(x, y), X)
