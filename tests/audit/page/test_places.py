"""The user's lines of files."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.page.places import Lines
from primsplit.audit.written import read_written
from tests.audit.page.pages import SPECS, loss, squares, written


def test_lines_are_in_the_order_of_the_file_with_their_functions_and_texts(tmp_path: Path) -> None:
    files = written(tmp_path, loss, *SPECS)
    found = [(line.where, line.function, line.text) for line in Lines(files).all]
    first = {f: inspect.getsourcelines(f)[1] for f in (squares, loss)}
    assert found == [
        (f"pages.py:{first[squares] + 1}", "squares", "return np.sum(h * h, axis=1)"),
        (f"pages.py:{first[loss] + 1}", "loss", "hidden = np.tanh(x @ w)"),
    ]


@pytest.mark.parametrize(("provenance", "text"), [("lines", {""}), ("none", set())])
def test_a_file_has_the_texts_that_its_provenance_keeps(tmp_path: Path, provenance: Any, text: set[str]) -> None:
    assert {line.text for line in Lines(written(tmp_path, loss, *SPECS, provenance=provenance)).all} == text


def test_the_lines_of_a_models_gradient_are_the_names_of_its_nodes(tmp_path: Path) -> None:
    ps.trace(loss, *SPECS).save(tmp_path / "m.onnx", provenance="none")
    model = ps.load(tmp_path / "m.onnx")
    ps.split(model, wrt="w").save(tmp_path / "g.onnx")
    lines = Lines([read_written(str(tmp_path / "g.onnx"))])
    assert {line.file for line in lines.all} == {"m.onnx"}
    assert "Tanh" in {line.text for line in lines.all}


def test_an_op_knows_its_line(tmp_path: Path) -> None:
    (file,) = written(tmp_path, lambda x: np.sum(np.sin(x)), np.ones(3))
    lines = Lines([file])
    (place,) = lines.of_all(file.ops())
    assert "np.sin(x)" in lines.all[place].text
    assert {lines.of(op) for op in file.ops() if op.kind == "Sin"} == {place}
