"""`primsplit example`: a small model to try the other commands with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_the_example_is_exported_and_checked(
    primsplit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "primsplit export perceptron.py --onnx perceptron.onnx" in primsplit("example").out
    assert primsplit("export", "perceptron.py", "--onnx", "perceptron.onnx").status == 0
    found = primsplit("check", "perceptron.py", "--json")
    assert found.status == 0
    assert {row["name"] for row in found.json["rows"]} >= {"d_w", "d_b", "d_v", "d_c"}


def test_no_file_is_overwritten(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("mine")
    answer = primsplit("example", path)
    assert answer.status != 0
    assert "exists already" in answer.error
    assert path.read_text() == "mine"


def test_a_folder_that_is_missing_is_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    answer = primsplit("example", tmp_path / "missing" / "model.py")
    assert answer.status != 0
    assert "cannot be written" in answer.error
