"""Ensembles of trees are what onnxruntime's kernels and scikit-learn compute, constant beside what has a gradient."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx.numpy_helper
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.onnx.definitions.kernels import Node, defined, kernel, ranked

RANDOM = np.random.default_rng(4)
ML = "ai.onnx.ml::TreeEnsemble"
X = RANDOM.integers(-2, 3, (40, 3)).astype(np.float32)
X[3, 0] = X[5, 1] = np.nan
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def trees(count: int, modes: Sequence[str] = MODES) -> dict[str, Any]:
    """Trees of three branches and four leaves; the features and thresholds are small integers, which often meet."""
    rows = [(tree, node) for tree in range(count) for node in range(7)]
    return {
        "nodes_treeids": [tree for tree, _ in rows],
        "nodes_nodeids": [node for _, node in rows],
        "nodes_featureids": [int(RANDOM.integers(3)) for _ in rows],
        "nodes_modes": [str(RANDOM.choice(modes)) if node < 3 else "LEAF" for _, node in rows],
        "nodes_values": [float(RANDOM.integers(-1, 2)) for _ in rows],
        "nodes_truenodeids": [2 * node + 1 if node < 3 else 0 for _, node in rows],
        "nodes_falsenodeids": [2 * node + 2 if node < 3 else 0 for _, node in rows],
        "nodes_missing_value_tracks_true": [int(RANDOM.integers(2)) for _ in rows],
    }


def votes(what: str, count: int, targets: Sequence[int], least: float = -1.0) -> dict[str, Any]:
    """Return the votes of each leaf for each target."""
    rows = [(tree, leaf, target) for tree in range(count) for leaf in range(3, 7) for target in targets]
    return {
        f"{what}_treeids": [tree for tree, _, _ in rows],
        f"{what}_nodeids": [leaf for _, leaf, _ in rows],
        f"{what}_ids": [target for _, _, target in rows],
        f"{what}_weights": [float(w) for w in RANDOM.uniform(least, 1.0, len(rows)).astype(np.float32)],
    }


def regressor(count: int = 5, targets: Sequence[int] = (0, 1), x: Any = X, **more: Any) -> Node:
    told = {**trees(count), **votes("target", count, targets), "n_targets": max(targets) + 1, **more}
    return Node(f"{ML}Regressor", [x], told)


def classifier(
    classes: Sequence[int], labels: Mapping[str, Any], least: float = -1.0, *, x: Any = X, **more: Any
) -> Node:
    told = {**trees(4), **votes("class", 4, classes, least), **labels, **more}
    kind = "object" if "classlabels_strings" in labels else "int64"
    return Node(f"{ML}Classifier", [x], told, (kind, "float32"))


TWO, THREE = {"classlabels_int64s": [7, 4]}, {"classlabels_strings": ["ant", "bee", "cow"]}
NODES = {
    "sums": regressor(),
    "one tree": regressor(1, [0], base_values=[0.5]),
    "means": regressor(aggregate_function="AVERAGE", base_values=[0.5, -0.25]),
    "the least": regressor(aggregate_function="MIN"),
    "the greatest": regressor(aggregate_function="MAX", post_transform="LOGISTIC"),
    "classes of integers": classifier([0, 1, 2], THREE, x=np.nan_to_num(X).astype(np.int64)),
    "three classes": classifier([0, 1, 2], THREE, base_values=[0.1, 0.2, 0.3], post_transform="SOFTMAX"),
    "three classes, one a tree": classifier([1], THREE | {"classlabels_strings": ["a", "b", "c"]}, least=0.0),
    "two classes by probabilities": classifier([0], TWO, least=0.0),
    "two classes by margins": classifier([0], TWO, base_values=[0.1]),
    "two classes by a logistic function": classifier([0], TWO, base_values=[-0.2], post_transform="LOGISTIC"),
}


@pytest.mark.parametrize("name", NODES)
def test_an_ensemble_is_what_its_kernel_computes(name: str, tmp_path: Path) -> None:
    expected = kernel(NODES[name], tmp_path / "kernel.onnx")
    for mine, theirs in zip(defined(ranked(NODES[name], expected), tmp_path / "node.onnx"), expected, strict=True):
        assert mine.dtype == theirs.dtype
        if theirs.dtype == np.float32:
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
        else:
            assert mine.tolist() == theirs.tolist()


def test_a_threshold_in_double_is_compared_in_double(tmp_path: Path) -> None:
    above = np.nextafter(1.0, 2.0)
    told = regressor(1, [0]).attributes | {"nodes_modes": ["BRANCH_LT"] * 3 + ["LEAF"] * 4}
    del told["nodes_values"], told["target_weights"]
    told["nodes_values_as_tensor"] = onnx.numpy_helper.from_array(np.full(7, above))
    told["target_weights_as_tensor"] = onnx.numpy_helper.from_array(np.array([1.0, 2.0, 3.0, 4.0]))
    node = Node(f"{ML}Regressor", [np.array([[1.0] * 3, [above] * 3])], told, ranks=[2])
    assert defined(node, tmp_path / "node.onnx")[0].tolist() == [[1.0], [4.0]]


def test_what_lies_beside_trees_that_are_constant_is_differentiated(tmp_path: Path) -> None:
    path = regressor(targets=[0]).save(tmp_path / "node.onnx")
    forest = ps.load(path, constant=["TreeEnsembleRegressor"])
    x = np.nan_to_num(X)
    total, slope = ps.value_and_grad(lambda x: np.sum(x**2) + np.sum(forest(x) * x[:, :1]))(x)
    np.testing.assert_allclose(total, np.sum(x**2) + np.sum(forest(x) * x[:, :1]), rtol=1e-5)
    expected = 2 * x
    expected[:, :1] += forest(x)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


WRONG: dict[str, tuple[Node, str]] = {
    "a circle": (regressor(1, nodes_truenodeids=[1, 1, 5, 0, 0, 0, 0]), "lead back to one another"),
    "a node that there is not": (regressor(1, nodes_truenodeids=[1, 9, 5, 0, 0, 0, 0]), "a tree has no node"),
    "a comparison that there is not": (regressor(1, nodes_modes=["LESS"] * 3 + ["LEAF"] * 4), "LESS is no comparison"),
    "a target too many": (regressor(1, n_targets=1), "target 1 of 1"),
    "two classes with scores each": (classifier([0, 1], TWO), "another thing in each runtime"),
}


@pytest.mark.parametrize("name", WRONG)
def test_trees_that_are_none_are_refused_at_their_node(name: str, tmp_path: Path) -> None:
    node, words = WRONG[name]
    with pytest.raises(PrimsplitError, match=words) as caught:
        ps.load(ranked(node, [np.zeros((1, 1))] * len(node.outputs)).save(tmp_path / "node.onnx"))
    assert "in TreeEnsemble" in str(caught.value)
