"""`primsplit rules`: the coverage table."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from primsplit.ops.schema import kinds


def test_every_operator_of_the_standard_and_every_defined_one_has_one_row(primsplit: Callable[..., Any]) -> None:
    rows = primsplit("rules", "--onnx", "--json").json["operators"]
    names = [r["name"] for r in rows]
    assert names[: len(kinds())] == list(kinds())
    assert len(set(names)) == len(names)
    status = {r["name"]: r["status"] for r in rows}
    assert (status["Tanh"], status["MatMul"], status["ArgMax"]) == ("partials", "rule", "no_gradient")
    assert status["Attention"] == status["com.microsoft::FusedMatMul"] == "definition"


def test_a_row_names_its_test_and_functions_that_are_refused_have_none(primsplit: Callable[..., Any]) -> None:
    rows = {r["name"]: r for r in primsplit("rules", "--numpy", "--json").json["functions"]}
    assert rows["np.matmul"]["tested"].startswith("tests/")
    assert rows["scipy.special.erf"]["status"] == "traced"
    assert (rows["np.save"]["status"], rows["np.save"]["tested"]) == ("refused", "")


def test_both_parts_asked_for_are_both_there(primsplit: Callable[..., Any]) -> None:
    assert set(primsplit("rules", "--numpy", "--onnx", "--json").json) == {"operators", "functions"}


def test_only_rows_with_a_name_are_shown(primsplit: Callable[..., Any]) -> None:
    found = primsplit("rules", "scipy.stats.norm", "--json").json
    assert set(found) == {"functions"}
    assert {"scipy.stats.norm.logpdf", "scipy.stats.norm.ppf"} <= {row["name"] for row in found["functions"]}
    assert all("scipy.stats.norm" in row["name"] for row in found["functions"])
    assert {row["name"] for row in primsplit("rules", "Conv", "--json").json["operators"]} >= {"Conv", "ConvTranspose"}


def test_a_name_that_no_row_has_is_an_error(primsplit: Callable[..., Any]) -> None:
    done = primsplit("rules", "scipy.stats.nrom")
    assert done.status != 0
    assert "no operator or function has 'scipy.stats.nrom' in its name" in done.error


def test_the_table_is_printed_with_its_sums(primsplit: Callable[..., Any]) -> None:
    done = primsplit("rules")
    assert done.status == 0
    (told,) = re.findall(r"\d+ operators: (.*)", done.out)
    assert {"rule", "definition"} <= {part.split()[1].strip(";") for part in told.split(", ")}
    assert "np.linalg.cholesky" in done.out


def _file(path: Path, *nodes: onnx.NodeProto) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    return path


def test_operators_of_a_file_without_a_rule_are_counted(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    covered = _file(tmp_path / "a.onnx", helper.make_node("Tanh", ["x"], ["y"]))
    assert primsplit("rules", "--missing-for", covered).status == 0
    other = _file(
        tmp_path / "b.onnx",
        helper.make_node("SplitToSequence", ["x"], ["a"]),
        helper.make_node("MyOperator", ["a"], ["y"], domain="com.example"),
    )
    done = primsplit("rules", "--missing-for", other, "--json")
    assert done.status == 1
    assert [(r["name"], r["count"]) for r in done.json["missing"]] == [("com.example::MyOperator", 1)]
    done = primsplit("rules", "--missing-for", covered, "--onnx")
    assert done.status == 1
    assert "--missing-for tells of a file's operators alone" in done.error


def test_operators_inside_branches_are_counted(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    y = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    branch = helper.make_graph([helper.make_node("Odd", ["x"], ["b"], domain="com.example")], "branch", [], [y])
    condition = helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.array(True)))
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    done = primsplit("rules", "--missing-for", _file(tmp_path / "a.onnx", condition, node), "--json")
    assert {r["name"]: r["count"] for r in done.json["missing"]}["com.example::Odd"] == 2


@pytest.mark.parametrize("text", [None, "no model", ""])
def test_a_file_that_cannot_be_read_is_told(primsplit: Callable[..., Any], tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "a.onnx"
    if text is not None:
        path.write_text(text)
    done = primsplit("rules", "--missing-for", path)
    assert done.status == 1
    assert len(done.error.splitlines()) == 1
    assert ("cannot read" if text is None else "is no valid model") in done.error


@pytest.mark.parametrize("kind", ["Upsample", "Scatter", "Hardmax", "Scan"])
def test_an_operator_of_an_old_opset_is_not_missing(primsplit: Callable[..., Any], kind: str, tmp_path: Path) -> None:
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"])], "g", values[:1], values[1:])
    path = tmp_path / "old.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)]), path)
    assert primsplit("rules", "--missing-for", path, "--json").json["missing"] == []


def test_an_operator_that_is_refused_by_name_is_missing(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    node = helper.make_node("CategoryMapper", ["x"], ["y"], domain="ai.onnx.ml")
    done = primsplit("rules", "--missing-for", _file(tmp_path / "a.onnx", node), "--json")
    assert done.status == 1
    (row,) = done.json["missing"]
    assert (row["name"], row["status"]) == ("ai.onnx.ml::CategoryMapper", "refused")


def test_the_stages_are_listed_in_their_order(primsplit: Callable[..., Any]) -> None:
    rows = primsplit("rules", "--pipeline", "--json").json["stages"]
    names = [row["stage"] for row in rows]
    assert names[:2] == ["join_calls", "inline_calls"]
    assert names.index("legalize") < names.index("guard_empty_scans") < names.index("gemm_of_transposed")
    assert next(r["has"] for r in rows if r["stage"] == "work_in_tiles") == "array of 1024 KiB"
    done = primsplit("rules", "--pipeline")
    assert done.status == 0
    assert all(name in done.out for name in names)


def test_the_stages_are_listed_alone(primsplit: Callable[..., Any]) -> None:
    done = primsplit("rules", "--pipeline", "Conv")
    assert done.status == 1
    assert "--pipeline lists the stages alone" in done.error
