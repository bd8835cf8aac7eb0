"""A branch whose sides compute one value is written as that value, and computes it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import read_written
from primsplit.onnx.protobufs import graphs
from tests.mathematics import assert_statements_compute


def masked(path: Path, *, of_mask: str = "mask") -> str:
    """Write d * (h > 0), made again by a choice where it has a NaN; the choice is by `of_mask`."""
    node = helper.make_node
    row = helper.make_tensor_value_info
    zero = helper.make_tensor("zero", onnx.TensorProto.FLOAT, [], [0.0])
    then = helper.make_graph([node("Where", [of_mask, "d", "zero"], ["a"])], "then", [], [row("a", 1, [3, 4])])
    other = helper.make_graph([node("Identity", ["product"], ["b"])], "else", [], [row("b", 1, [3, 4])])
    nodes = [
        node("Greater", ["h", "zero"], ["mask"]),
        node("Greater", ["d", "zero"], ["other_mask"]),
        node("Cast", ["mask"], ["ones"], to=1),
        node("Mul", ["d", "ones"], ["product"]),
        node("ReduceSum", ["product"], ["total"], keepdims=0),
        node("IsNaN", ["total"], ["is_nan"]),
        node("If", ["is_nan"], ["y"], then_branch=then, else_branch=other),
    ]
    inputs = [row("h", 1, [3, 4]), row("d", 1, [3, 4])]
    graph = helper.make_graph(nodes, "g", inputs, [row("y", 1, [3, 4])], [zero])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return str(path)


@pytest.mark.parametrize("last", [1.0, np.inf, np.nan])
def test_a_product_by_a_mask_is_a_choice_also_where_it_has_a_nan(last: float, tmp_path: Path) -> None:
    path = masked(tmp_path / "f.onnx")
    file = read_written(path)
    text = list_as_mathematics(file)
    assert "  y = where(h > 0, d, 0)" in text
    assert "if " not in text
    h, d = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    d[0, 0] = last
    assert_statements_compute(path, [h, d])


def test_a_choice_by_another_mask_is_shown(tmp_path: Path) -> None:
    assert "  if " in list_as_mathematics(read_written(masked(tmp_path / "f.onnx", of_mask="other_mask")))


def embedding(path: Path) -> str:
    def loss(table: Any, codes: Any) -> Any:
        return np.sum(np.sin(table[codes]))

    ps.export(loss, ps.spec("float64", [34, 144]), ps.spec("int64", ["T", "B"]), wrt=(0,), path=path)
    return str(path)


def test_updates_that_are_added_in_parts_are_one_scatter(tmp_path: Path) -> None:
    path = embedding(tmp_path / "f.onnx")
    (made,) = mathematics_of(read_written(path))
    assert len(made.every) == 2
    assert "added in parts" in list_as_mathematics(read_written(path))
    random = np.random.default_rng(0)
    table, codes = random.standard_normal((34, 144)), random.integers(0, 34, (3, 5))
    assert_statements_compute(path, [table, codes])


def test_a_side_that_changes_the_updates_is_shown(tmp_path: Path) -> None:
    path = embedding(tmp_path / "f.onnx")
    model = onnx.load(path)
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Slice" and graph is not model.graph:
                node.op_type = "Sum"
    onnx.save(model, path)
    text = list_as_mathematics(read_written(path))
    assert "added in parts" not in text
    assert "  if " in text


def labels(path: Path) -> str:
    """Write the gradient of log-probabilities at labels, which are places of two axes each."""

    def loss(scores: Any, label: Any) -> Any:
        return np.sum(np.sin(scores[np.arange(scores.shape[0]), label]))

    ps.export(loss, ps.spec("float64", ["B", 7]), ps.spec("int64", ["B"]), wrt=(0,), path=path)
    return str(path)


def test_places_of_two_axes_that_are_numbered_are_one_scatter(tmp_path: Path) -> None:
    path = labels(tmp_path / "f.onnx")
    assert "if " not in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [np.linspace(-1, 1, 21).reshape(3, 7), np.array([6, 0, -1])])


def test_places_that_are_numbered_by_another_size_are_shown(tmp_path: Path) -> None:
    path = labels(tmp_path / "f.onnx")
    model = onnx.load(path)
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Mul" and graph is not model.graph:
                graph.initializer.append(helper.make_tensor("eight", onnx.TensorProto.INT64, [], [8]))
                node.input[1] = "eight"
    onnx.save(model, path)
    assert "  if " in list_as_mathematics(read_written(path))


def rectified(path: Path) -> str:
    def loss(x: Any) -> Any:
        h = np.maximum(x, 0)
        return np.sum(np.sin(h) * h)

    ps.export(loss, ps.spec("float32", [128, 128]), path=path)
    return str(path)


def test_the_share_of_a_maximum_with_0_is_a_choice(tmp_path: Path) -> None:
    path = rectified(tmp_path / "f.onnx")
    text = list_as_mathematics(read_written(path))
    assert "where(x > 0, d_h, where(x < 0, 0, 0.5 * d_h))" in text
    assert "relu" not in text
    x = np.linspace(-1, 1, 128 * 128, dtype=np.float32).reshape(128, 128)
    x[0, 0] = 0
    assert_statements_compute(path, [x])


def test_another_share_at_ties_is_shown(tmp_path: Path) -> None:
    path = rectified(tmp_path / "f.onnx")
    model = onnx.load(path)
    for tensor in (t for g in graphs(model.graph) for t in g.initializer):
        if onnx.numpy_helper.to_array(tensor).tolist() == 0.5:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.float32(0.25), tensor.name))
    onnx.save(model, path)
    text = list_as_mathematics(read_written(path))
    assert "0.25 * d_h" in text
    assert "relu(x)" in text
