"""A file in each style of listing."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.rebuild import run_source
from primsplit.audit.styles import list_files
from primsplit.audit.written import Written, read_written


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
