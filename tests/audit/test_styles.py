"""A file in each style of listing."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.rebuild import run_source
from primsplit.audit.styles import list_files
from primsplit.audit.written import Written, read_written
from primsplit.ir.errors import PrimsplitError


@pytest.fixture
def written(tmp_path: Path) -> Written:
    ps.export(lambda x: np.sum(np.tanh(x) * x), np.ones(3), path=tmp_path / "f.onnx")
    return read_written(str(tmp_path / "f.onnx"))


def test_the_python_of_a_file_traces_to_its_program(written: Written) -> None:
    block = run_source(list_files([written], "python"))
    assert [op.kind for op in block.ops] == [op.kind for op in written.block.ops]


def test_a_text_has_a_line_for_every_node_and_a_page_is_html(written: Written) -> None:
    text, page = (list_files([written], style) for style in ("text", "html"))
    for op in written.ops():
        assert f"{op.kind}(" in text
    assert page.startswith("<!doctype html>")


def test_python_of_an_old_operator_is_refused_with_another_style(tmp_path: Path) -> None:
    node = helper.make_node("Dropout", ["x"], ["y"], ratio=0.5)
    ends = [[helper.make_tensor_value_info(n, 1, [3])] for n in "xy"]
    graph = helper.make_graph([node], "g", *ends)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=4)
    onnx.save(model, tmp_path / "old.onnx")
    file = read_written(str(tmp_path / "old.onnx"))
    with pytest.raises(PrimsplitError, match="of opset 8, and Python is written for 21: say --style text"):
        list_files([file], "python")
    assert "Dropout(x" in list_files([file], "text")
