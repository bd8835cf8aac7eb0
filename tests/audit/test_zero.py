"""What acts on nothing, and the nodes that cut paths, with their lines."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.written import read_written
from primsplit.audit.zero import zero_rows

X = np.linspace(0.1, 1, 6).reshape(2, 3)


def rows_of(function: Any, *arguments: Any, path: Path) -> list[dict[str, Any]]:
    files = [read_written(str(p)) for p in ps.export(function, *arguments, path=path / "f.onnx")]
    return zero_rows(files)


def found(rows: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    return {(r["kind"], name, r["operator"], r["source"]) for r in rows for name in r["names"]}


@pytest.mark.filterwarnings("ignore")
def test_cut_paths_are_listed_with_the_node_and_the_line(tmp_path: Path) -> None:
    def cut(x: Any, t: Any) -> Any:
        mask = x > t
        steps = np.round(x)
        whole = x.astype(np.int64).astype(np.float64)
        best = np.argmax(x, axis=1)
        return np.sum(x * mask + steps + whole) + np.sum(best)

    assert found(rows_of(cut, X, 0.5, path=tmp_path)) >= {
        ("derivative 0", "t", "Greater", "mask = x > t"),
        ("cut path", "x", "Greater", "mask = x > t"),
        ("cut path", "x", "Round", "steps = np.round(x)"),
        ("cut path", "x", "Cast", "whole = x.astype(np.int64).astype(np.float64)"),
        ("cut path", "x", "ArgMax", "best = np.argmax(x, axis=1)"),
    }


def test_an_input_that_no_output_reads_has_no_influence(tmp_path: Path) -> None:
    rows = rows_of(lambda x, unread: np.sum(np.zeros(np.shape(unread)[0]) + x[:, 0]), X, np.ones(2), path=tmp_path)
    assert [(r["kind"], r["names"]) for r in rows] == [("no influence", ["unread"])]


def test_what_acts_smoothly_alone_has_no_row(tmp_path: Path) -> None:
    assert rows_of(lambda w, x: np.sum(np.tanh(x @ w) ** 2), np.ones(3), X, path=tmp_path) == []


def test_the_recorded_function_tells_of_stop_gradient(tmp_path: Path) -> None:
    def stopped(w: Any, x: Any) -> Any:
        scale = ps.stop_gradient(np.sum(w))
        return np.sum(x @ w) / scale

    files = [read_written(str(p)) for p in ps.export(stopped, np.ones(3), X, path=tmp_path / "f.onnx")]
    block = ps.trace(stopped, np.ones(3), X).block
    (row,) = zero_rows(files, block, ["w", "x"])
    assert (row["kind"], row["names"], row["why"]) == ("cut path", ["w"], "a call of stop_gradient")
    assert row["source"] == "scale = ps.stop_gradient(np.sum(w))"


def test_a_gradient_that_is_zero_for_no_reason_is_a_dropped_path(tmp_path: Path) -> None:
    (path,) = ps.export(lambda w, x: x * w, np.ones(3), X, path=tmp_path / "f.onnx", wrt="x")
    model = onnx.load(path)
    node = next(n for n in model.graph.node if "d_x" in n.output)
    node.op_type = "Sub"
    node.input[:] = ["x", "x"]
    onnx.save(model, path)
    (row,) = (r for r in zero_rows([read_written(str(path))]) if r["kind"] != "unused constant")
    assert (row["kind"], row["names"], row["operator"]) == ("dropped path", ["x"], "Sub")


def test_nodes_and_constants_that_nothing_reads_are_listed(tmp_path: Path) -> None:
    (path,) = ps.export(lambda w, x: x * w, np.ones(3), X, path=tmp_path / "f.onnx", wrt="x")
    model = onnx.load(path)
    model.graph.node.append(onnx.helper.make_node("Exp", ["x"], ["nobody"]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3), "forgotten"))
    onnx.save(model, path)
    rows = zero_rows([read_written(str(path))])
    assert {(r["kind"], *r["names"]) for r in rows} == {("unused node", "nobody"), ("unused constant", "forgotten")}


def test_a_weight_of_a_model_is_followed_like_an_input(tmp_path: Path) -> None:
    weights = np.linspace(-1, 1, 90).reshape(3, 30)
    rows = rows_of(lambda x: np.sum(np.where(x @ weights > 0.5, 1.0, 2.0)) + np.sum(x), X, path=tmp_path)
    assert [r["kind"] for r in rows] == ["cut path", "derivative 0"]
    assert {r["operator"] for r in rows} == {"Greater"}
