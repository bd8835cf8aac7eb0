"""The report for JSON: every node and statement as a row, by the schema that is shipped."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.json_report import json_reports, schema, schema_text
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, FunctionDerivation
from primsplit.programs.export import save_derived

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))
CHECK = jsonschema.Draft202012Validator(schema())


def told(path: Any) -> dict[str, Any]:
    """The report of a file, as strict JSON has it."""
    (report,) = json_reports([read_written(str(path))])
    return json.loads(json.dumps(report, allow_nan=False))


def exported(folder: Path, function: Any, *arrays: Any, **options: Any) -> dict[str, Any]:
    (path,) = ps.export(function, *arrays, path=folder / "f.onnx", **options)
    return told(path)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$schema"].endswith("2020-12/schema")
    assert json.loads(schema_text()) == schema()


@pytest.mark.sweep(18)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_report_of_every_model_follows_the_schema_and_has_each_node_once(path: Path, tmp_path: Path) -> None:
    made = Exported(str(path), FunctionDerivation(), quiet=True)
    (file,) = save_derived(made.derived, str(tmp_path / "model.onnx"), made.mode, "joint")
    found = told(file)
    CHECK.validate({"stage": "file", "files": [found], "recomputed": [], "frozen": []})
    model = onnx.load(file)
    expected = Counter(node.op_type for node in every_node(model.graph))
    assert Counter(node["operator"] for node in found["nodes"]) == expected
    assert {i for row in found["statements"] for i in row["nodes"]} <= {*range(len(found["nodes"]))}
    assert found["statements"]


def every_node(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The nodes of a graph and of the graphs inside of them."""
    inner = (a.g for node in graph.node for a in node.attribute if a.HasField("g"))
    return [*graph.node, *(node for g in inner for node in every_node(g))]


def test_a_node_has_typed_operands_attributes_a_place_a_section_and_its_rule(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden, axis=0)

    found = exported(tmp_path, loss, ps.spec("float32", [3, 4]), ps.spec("float32", ["N", 3]), wrt="w")
    (node,) = (n for n in found["nodes"] if n["operator"] == "Tanh")
    line = loss.__code__.co_firstlineno + 1
    assert node["section"] == "forward"
    assert node["inputs"] == [{"name": "matmul_x", "type": "float32[N,4]"}]
    assert node["outputs"] == [{"name": "hidden", "type": "float32[N,4]"}]
    assert node["place"] == f"test_json_report.py:{line} in loss"
    assert node["source"] == "hidden = np.tanh(x @ w)"
    assert node["statement"] == "hidden = Tanh(matmul_x)"
    attributes = [n["attributes"] for n in found["nodes"] if n["operator"] == "ReduceSum"]
    assert {"keepdims": 0} in attributes
    assert any(n["rule"].startswith("pullback of Tanh") for n in found["nodes"] if n["section"] == "backward")


def test_a_statement_names_the_nodes_that_it_stands_for(tmp_path: Path) -> None:
    found = exported(tmp_path, lambda x: np.tanh(x * 2.0) + 1.0, np.ones(3, np.float32), mode="value")
    (row,) = found["statements"]
    assert [found["nodes"][i]["operator"] for i in row["nodes"]] == ["Mul", "Tanh", "Add"]
    assert "tanh" in row["statement"]


def test_a_node_inside_of_a_branch_names_its_parent(tmp_path: Path) -> None:
    def chosen(x: Any) -> Any:
        return np.exp(x) if np.sum(x) > 1 else np.sin(x)

    found = exported(tmp_path, chosen, np.ones(3), mode="value")
    (inner,) = (n for n in found["nodes"] if n["operator"] == "Exp")
    assert (found["nodes"][inner["parent"]]["operator"], inner["graph"]) == ("If", "then_branch")
    assert found["nodes"][inner["parent"]]["attributes"]["then_branch"] == {"nodes": 1}


def test_attributes_are_short_and_strict_json(tmp_path: Path) -> None:
    long, array = list(range(100)), np.arange(6, dtype=np.float32).reshape(2, 3)
    node = onnx.helper.make_node(
        "Odd", ["x", ""], ["y"], domain="mine", long=long, bound=float("inf"), names=["a", "b"],
        value=onnx.numpy_helper.from_array(array),
    )  # fmt: skip
    ends = [[onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [3])] for n in ("x", "y")]
    imports = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("mine", 1)]
    graph = onnx.helper.make_graph([node], "g", *ends)
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=9), tmp_path / "odd.onnx")
    found = told(tmp_path / "odd.onnx")
    CHECK.validate({"stage": "file", "files": [found]})
    (row,) = found["nodes"]
    assert row["operator"] == "mine::Odd"
    assert row["inputs"][1] == {"name": "", "type": ""}
    attributes = row["attributes"]
    assert (attributes["long"], attributes["bound"], attributes["names"]) == ("100 values", "inf", ["a", "b"])
    assert attributes["value"]["type"] == "float32[2,3]"


def test_a_report_that_does_not_follow_the_schema_is_found(tmp_path: Path) -> None:
    found = {"stage": "file", "files": [exported(tmp_path, np.tanh, np.ones(3))]}
    CHECK.validate(found)
    wrong = copy.deepcopy(found)
    wrong["files"][0]["nodes"][0]["more"] = 1
    assert not CHECK.is_valid(wrong)
    wrong = copy.deepcopy(found)
    del wrong["files"][0]["nodes"][0]["section"]
    assert not CHECK.is_valid(wrong)
