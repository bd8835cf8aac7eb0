"""Operators of ai.onnx.ml are what onnxruntime's kernels compute, and have the gradient of what they compute."""

from collections.abc import Sequence
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
from primsplit.testing.differences import directional_derivative
from primsplit.testing.reference import evaluate
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, defined, kernel, ranked

rng = np.random.default_rng(6)
draw = drawing(rng)
ML = "ai.onnx.ml::"
F = "float32"


def floats(*shape: int) -> list[float]:
    return [float(v) for v in draw(*shape).reshape(-1)]


def row(name: str, *inputs: Any, outputs: Sequence[str] = (F,), **attributes: Any) -> Node:
    return Node(ML + name, inputs, attributes, outputs, {0: ["N", *inputs[0].shape[1:]]} if inputs[0].ndim > 1 else {})


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
    row("LinearRegressor", X, coefficients=floats(8), intercepts=floats(2), targets=2),
    row("LinearRegressor", X, coefficients=floats(4), intercepts=[0.5]),
    row("LinearRegressor", X, coefficients=floats(8), intercepts=floats(2), targets=2, post_transform="SOFTMAX"),
    *(
        row(
            "LinearClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(12),
            intercepts=floats(3),
            classlabels_ints=[5, 3, 9],
            post_transform=name,
        )
        for name in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    ),
    row("LinearClassifier", X, outputs=("int64", F), coefficients=floats(4), intercepts=[0.5], classlabels_ints=[4, 7]),
    *(
        row(
            "LinearClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(4),
            intercepts=[0.5],
            classlabels_ints=[4, 7],
            post_transform=name,
        )
        for name in ("LOGISTIC", "SOFTMAX")
    ),
    *(row("LinearRegressor", X, coefficients=floats(4), post_transform=name) for name in ("LOGISTIC", "SOFTMAX")),
    *(
        row(
            "SVMRegressor",
            X,
            coefficients=floats(2),
            support_vectors=floats(2, 4),
            n_supports=2,
            rho=[0.25],
            kernel_type="RBF",
            kernel_params=[0.3, 0.4, 2.0],
            post_transform=name,
        )
        for name in ("LOGISTIC", "PROBIT")
    ),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(5),
            support_vectors=floats(5, 4),
            vectors_per_class=[2, 3],
            rho=[0.1],
            kernel_type="RBF",
            kernel_params=[0.3, 0.0, 0.0],
            classlabels_ints=[0, 1],
            post_transform=name,
            **more,
        )
        for name in ("LOGISTIC", "SOFTMAX", "NONE")
        for more in ({}, {"prob_a": [-1.5], "prob_b": [0.2]})
    ),
    *(
        row(
            "SVMRegressor",
            X,
            coefficients=floats(5),
            support_vectors=floats(5, 4),
            n_supports=5,
            rho=[0.25],
            kernel_type=kind,
            kernel_params=[0.3, 0.4, 2.0],
        )
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    ),
    row("SVMRegressor", X, coefficients=floats(4), rho=[0.25], kernel_params=[0.0, 0.0, 0.0]),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(2, 6),
            support_vectors=floats(6, 4),
            vectors_per_class=[1, 2, 3],
            rho=floats(3),
            kernel_type=kind,
            kernel_params=[0.3, 0.4, 3.0],
            classlabels_ints=[0, 1, 2],
        )
        for kind in ("RBF", "POLY")
    ),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(classes - 1, 2 * classes),
            support_vectors=floats(2 * classes, 4),
            vectors_per_class=[1, 3] + [2] * (classes - 2),
            rho=floats(pairs),
            kernel_type="RBF",
            kernel_params=[0.3, 0.0, 0.0],
            classlabels_ints=list(range(classes)),
            prob_a=[-1.5, -0.5, -2.0, -1.0, -1.2, -0.8][:pairs],
            prob_b=[0.2, -0.1, 0.3, 0.0, -0.4, 0.1][:pairs],
        )
        for classes, pairs in ((3, 3), (4, 6))
    ),
    row(
        "SVMClassifier",
        X,
        outputs=("int64", F),
        coefficients=floats(5),
        support_vectors=floats(5, 4),
        vectors_per_class=[2, 3],
        rho=[0.1],
        kernel_type="LINEAR",
        kernel_params=[0.0, 0.0, 0.0],
        classlabels_ints=[0, 1],
    ),
]


CODES = np.array([[3, 1], [7, 3], [2, 1]])
NAMES = np.array([["ant"], ["fly"], ["cow"]], np.object_)
JUMPS = [
    row("Binarizer", X, threshold=0.25),
    row("OneHotEncoder", CODES, cats_int64s=[1, 2, 3]),
    row("OneHotEncoder", CODES.astype(np.float32) + 0.5, cats_int64s=[1, 2, 3]),
    row("OneHotEncoder", NAMES, cats_strings=["fly", "ant", "bee"]),
    row("LabelEncoder", CODES, keys_int64s=[1, 3], values_floats=[0.5, 0.25], default_float=9.0),
    row("LabelEncoder", CODES, outputs=("int64",), keys_int64s=[1, 3], values_int64s=[5, 4]),
    row("LabelEncoder", np.round(X), keys_floats=[0.0, 1.0], values_floats=[3.0, 1.0]),
    row("LabelEncoder", NAMES, outputs=("int64",), keys_strings=["bee", "fly", "ant"], values_int64s=[4, 5, 6]),
    row("LabelEncoder", CODES, outputs=("object",), keys_int64s=[1, 3], values_strings=["bee", "fly"]),
    row("Normalizer", np.concatenate([X, np.zeros((1, 4), np.float32)]), norm="L1"),
    row("Imputer", X, imputed_value_floats=[3.0], replaced_value_float=float(X[1, 2])),
]
"""Rows without a gradient, or at a point where a difference quotient has no limit."""


def title(given: Node) -> str:
    told = ("norm", "post_transform", "kernel_type", "targets")
    return "-".join([given.kind.removeprefix(ML), *(str(given.attributes[k]) for k in told if k in given.attributes)])


@pytest.mark.parametrize("given", ROWS + JUMPS, ids=title)
def test_an_operator_is_what_its_kernel_computes(given: Node, tmp_path: Path) -> None:
    expected = kernel(given, tmp_path / "kernel.onnx")
    found = defined(ranked(given, expected), tmp_path / "node.onnx")
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if theirs.dtype == np.object_:
            assert mine.tolist() == theirs.tolist()
            continue
        # The kernel finds probabilities by an iteration, which stops early.
        tolerance = 2e-3 if "prob_a" in given.attributes else 2e-5
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operators_gradient_agrees_with_differences_in_float64(given: Node, tmp_path: Path) -> None:
    expected = kernel(given, tmp_path / "kernel.onnx")
    program = ps.load(ranked(given, expected).save(tmp_path / "node.onnx"))
    made = ps.split(program)
    x = given.inputs[0].astype(np.float64)
    rest = list(given.inputs[1:])
    values = evaluate(program.block, [x, *rest])
    seeds = [rng.standard_normal(values[i].shape) for i in made.split.of]
    found = dict(zip(made.joint().outputs, evaluate(made.joint().block, [x, *rest, *seeds]), strict=True))

    def scalar(moved: list[np.ndarray]) -> float:
        results = evaluate(program.block, [*moved, *rest])
        return sum(float(np.sum(results[i] * s)) for i, s in zip(made.split.of, seeds, strict=True))

    for _ in range(3):
        direction = rng.standard_normal(x.shape)
        wanted = directional_derivative(scalar, [x], [direction])
        np.testing.assert_allclose(np.sum(found["d_x0"] * direction), wanted, rtol=1e-6, atol=1e-8)


def test_the_quantile_of_scores_is_the_kernels(tmp_path: Path) -> None:
    x = rng.random((3, 4)).astype(np.float32)
    given = row("LinearRegressor", x, coefficients=[0.1] * 4, intercepts=[0.3], post_transform="PROBIT")
    expected = kernel(given, tmp_path / "kernel.onnx")
    np.testing.assert_allclose(defined(ranked(given, expected), tmp_path / "node.onnx")[0], expected[0], rtol=1e-4)


def test_labels_may_be_texts(tmp_path: Path) -> None:
    given = row(
        "LinearClassifier", X, outputs=("object", F), coefficients=floats(12), intercepts=floats(3),
        classlabels_strings=["ant", "bee", "fly"],
    )  # fmt: skip
    expected = kernel(given, tmp_path / "kernel.onnx")
    found = defined(ranked(given, expected), tmp_path / "node.onnx")
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


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
