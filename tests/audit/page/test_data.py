"""The data of a page."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest

import primsplit as ps
from primsplit.audit.page.data import page_data
from primsplit.audit.written import read_written
from tests.audit.page.pages import SPECS, foreign, loss, written


@pytest.mark.parametrize("form", ["joint", "split"])
def test_captures_have_their_bytes_as_terms_and_the_row_that_defines_them(tmp_path: Path, form: Any) -> None:
    data = page_data(written(tmp_path, loss, *SPECS, wrt="w", form=form))
    captures = {c["name"]: c for c in data["captures"]}
    assert captures["hidden"]["terms"] == [[16, "N"]]
    assert captures["hidden"]["bytes"] == "16*N"
    assert captures["x"]["bytes"] == "0"
    assert data["symbols"] == ["N"]
    for view, row in zip(data["views"], captures["hidden"]["rows"], strict=True):
        assert view["rows"][row]["t"].startswith("hidden = ")
        assert row < view["split"]


def test_a_page_names_the_function_and_counts_nodes(tmp_path: Path) -> None:
    files = written(tmp_path, loss, *SPECS, wrt="w")
    data = page_data(files)
    assert data["signature"] == ["loss", "w, x, d_y", "y, d_w"]
    assert sum(data["files"][0]["sections"].values()) == len([*files[0].ops()])
    assert data["panes"] == ["Forward", "Backward"]


def test_every_view_has_every_node(tmp_path: Path) -> None:
    (file,) = written(tmp_path, loss, *SPECS)
    for view in page_data([file])["views"]:
        told = sum(row.get("c", 0) for row in view["rows"] if not row.get("k"))
        assert 0 < told <= len([*file.ops()])


def test_the_tangents_of_a_file_are_its_second_pane(tmp_path: Path) -> None:
    ps.export(lambda x: np.sin(x), np.ones(3), path=tmp_path / "f.onnx", mode="jvp")
    data = page_data([read_written(str(tmp_path / "f.onnx"))])
    assert data["panes"] == ["Forward", "Tangents"]


def test_a_file_of_another_program_has_one_pane_and_no_source(tmp_path: Path) -> None:
    data = page_data([foreign(tmp_path, oh.make_node("Relu", ["x"], ["y"], name="r"))])
    assert (data["panes"], data["lines"], data["captures"]) == (["Program"], [], [])
    assert [row["t"] for row in data["views"][-1]["rows"] if not row.get("k")] == ["y = np.maximum(x, 0)"]


def test_sizes_with_calls_are_told_as_terms(tmp_path: Path) -> None:
    data = page_data(written(tmp_path, lambda x: np.sum(np.tanh(x[1:]) * x[1:]), ps.spec("float32", ["T"])))
    capture = next(c for c in data["captures"] if c["size"] == "4*max(0, T - 1)")
    assert capture["terms"] == [[4, ["max", [[0]], [[1, "T"], [-1]]]]]
    assert data["symbols"] == ["T"]
