"""`primsplit audit` and `primsplit check` on ONNX models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """tanh(x @ W + b)."""
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["z"], name="first"),
        helper.make_node("Add", ["z", "b"], ["s"]),
        helper.make_node("Tanh", ["s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", 1, ["N", 3])],
        [helper.make_tensor_value_info("y", 1, ["N", 2])],
        [numpy_helper.from_array(W, "W"), numpy_helper.from_array(np.array(0.5, np.float32), "b")],
    )
    path = tmp_path / "network.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_every_gradient_is_compared_with_central_differences(
    primsplit: Callable[..., Any], network: Path, form: str
) -> None:
    done = primsplit("check", network, "--wrt", "x", "--wrt", "params", "--form", form, "--json")
    assert done.status == 0, done.error
    assert done.json["ok"]
    against = {row["name"]: row["against"] for row in done.json["rows"]}
    assert against == {"y": "the reference", **dict.fromkeys(("d_x", "d_W", "d_b"), "central differences")}


def test_the_sizes_of_the_inputs_are_those_of_spec(primsplit: Callable[..., Any], network: Path) -> None:
    done = primsplit("check", network, "--spec", "x:[7,3]", "--json")
    assert [row["type"] for row in done.json["rows"]] == ["float32[7,2]", "float32[7,3]"]
    assert "random inputs" in primsplit("check", network).out


def test_a_name_with_a_colon_has_a_spec(primsplit: Callable[..., Any], network: Path) -> None:
    """TensorFlow's values are called so."""
    proto = onnx.load(str(network))
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "serving_default_x:0"
    onnx.save(proto, str(network))
    done = primsplit("check", network, "--spec", "serving_default_x:0:f32[7,3]", "--json")
    assert [row["type"] for row in done.json["rows"]] == ["float32[7,2]", "float32[7,3]"]


def test_a_wrong_gradient_file_is_found(primsplit: Callable[..., Any], network: Path, tmp_path: Path) -> None:
    path = tmp_path / "gradient.onnx"
    assert primsplit("grad", network, "--onnx", path).status == 0
    assert primsplit("check", network, "--onnx", path).status == 0
    proto = onnx.load(str(path))
    for tensor in proto.graph.initializer:
        if list(tensor.dims) == [3, 2]:
            tensor.CopyFrom(numpy_helper.from_array(W * np.float32(1.01), tensor.name))
    onnx.save(proto, str(path))
    done = primsplit("check", network, "--onnx", path, "--json")
    assert done.status == 1
    assert {row["verdict"] for row in done.json["rows"]} == {"wrong"}


def test_audit_tells_the_nodes_the_captures_and_the_weights_that_stay_fixed(
    primsplit: Callable[..., Any], network: Path
) -> None:
    done = primsplit("audit", network, "--stage", "split", "--wrt", "b", "--json")
    assert done.status == 0, done.error
    assert {v["name"]: v["role"] for v in done.json["inputs"]}["b"] == "differentiated"
    assert any(v["place"].startswith("network.onnx:1 in first") for v in done.json["lines"])
    assert next((c["name"], c["kind"]) for c in done.json["captures"]) == ("y", "output")
    assert [(f["name"], f["bytes"]) for f in done.json["frozen"]] == [("W", 24)]
    for style in ("text", "python"):
        assert "Tanh" in primsplit("audit", network, "--style", style).out
    assert "tanh" in primsplit("audit", network, "--style", "html").out
    assert "W" in primsplit("audit", network, "--frozen").out


def test_audit_lists_a_model_as_it_is_and_refuses_to_differentiate_it(
    primsplit: Callable[..., Any], network: Path
) -> None:
    (found,) = primsplit("audit", network, "--json").json["files"]
    assert [node["operator"] for node in found["nodes"]] == ["MatMul", "Add", "Tanh"]
    assert found["operators"] == {"": 3}
    assert "MatMul(x, W)  # first" in found["listing"]
    assert {v["name"]: v["role"] for v in found["inputs"]} == {"x": "data"}
    for options in (["--wrt", "b"], ["--mode", "jvp"], ["--form", "split"], ["--provider", "cuda"]):
        done = primsplit("audit", network, *options)
        assert done.status == 1
        assert f"{options[0]} is for a derivative, and an ONNX file is listed as it is" in done.error


@pytest.mark.parametrize("command", ["audit", "check", "bench"])
def test_what_is_no_model_is_told_in_a_few_lines(primsplit: Callable[..., Any], tmp_path: Path, command: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    done = primsplit(command, path)
    assert done.status == 1
    assert "no valid model" in done.error
    assert len(done.error.splitlines()) < 10
    assert "No such file" in primsplit(command, tmp_path / "none.onnx").error


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    """exp(x), since the condition of the If is a constant."""
    text = """<ir_version: 8, opset_import: ["" : 18]>
    g (float[N] x) => (float[N] y) <bool flag = {0}> {
      y = If (flag) <then_branch = a () => (float[N] p) { p = Sin (x) },
                     else_branch = b () => (float[N] q) { q = Exp (x) }>
    }"""
    model = onnx.parser.parse_model(text)
    model.graph.node[0].name = "choose"
    onnx.save(model, str(tmp_path / "frozen.onnx"))
    return tmp_path / "frozen.onnx"


@pytest.mark.parametrize("command", ["check", "audit", "grad"])
def test_a_branch_that_always_runs_is_told(primsplit: Callable[..., Any], frozen: Path, command: str) -> None:
    written = ["--onnx", frozen.parent / "out.onnx"] if command == "grad" else []
    done = primsplit(command, frozen, *written, "--json")
    assert done.json["frozen_branches"] == [
        {
            "kind": "If",
            "node": "choose",
            "condition": "flag",
            "value": False,
            "runs": "only its else_branch ever runs",
            "place": "frozen.onnx:1 in choose",
        }
    ]
    shown = primsplit(command, frozen, *written).out
    assert "choose" in shown
    assert "else_branch" in shown


@pytest.mark.parametrize("command", ["check", "audit"])
def test_nothing_is_told_of_branches_where_none_is_frozen(
    primsplit: Callable[..., Any], network: Path, command: str
) -> None:
    assert primsplit(command, network, "--json").json["frozen_branches"] == []
    assert "branch" not in primsplit(command, network).out
