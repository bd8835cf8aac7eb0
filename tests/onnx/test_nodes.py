"""The operators that a file uses: those of graphs in nodes and of functions too, by the loader's names."""

from pathlib import Path

import onnx
import onnx.parser
import pytest

from primsplit.ir.errors import FileError
from primsplit.onnx.nodes import node_kinds


def kinds(text: str, folder: Path) -> list[str]:
    onnx.save(onnx.parser.parse_model(text), folder / "model.onnx")
    return sorted(node_kinds(str(folder / "model.onnx")))


def test_nodes_of_branches_and_functions_are_counted_and_calls_of_functions_are_not(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1, "com.microsoft": 1]>
        g (float[N] x, bool c) => (float[N] y) {
            t = own.twice (x)
            u = com.microsoft.Gelu (t)
            y = If (c) <then_branch = a () => (float[N] p) { p = Sin (u) },
                        else_branch = b () => (float[N] q) { q = Sin (t) }> }
        <domain: "own", opset_import: ["": 17]> twice (a) => (b) { b = Add (a, a) }"""
    assert kinds(text, tmp_path) == ["Add", "If", "Sin", "Sin", "com.microsoft::Gelu"]


def test_both_names_of_the_standards_domain_are_one(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Sin (x) }'
    )
    model.graph.node[0].domain = "ai.onnx"
    onnx.save(model, tmp_path / "model.onnx")
    assert list(node_kinds(str(tmp_path / "model.onnx"))) == ["Sin"]


def test_an_operator_of_an_old_opset_has_its_name_of_today_or_of_its_own(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": %d]> g (float[N] x, int64[M] i, float[M] u) => (float[N] y) {
        s = Scatter (x, i, u)  y = Softmax (s) }"""
    old, newer = (kinds(text % opset, tmp_path) for opset in (9, 13))
    assert newer == ["ScatterElements", "Softmax"]
    assert old[0] == "ScatterElements"
    assert old[1] != "Softmax"
    assert old[1].endswith("::Softmax")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        list(node_kinds(str(tmp_path / "none.onnx")))
