"""The summary of written files: what is in them, and what their user should know."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.cli.summary import tell


def told(capsys: pytest.CaptureFixture[str], made: Any, paths: list[str], **options: Any) -> Any:
    tell("f", made, paths, "joint", 0.1234, json=True, **options)
    return json.loads(capsys.readouterr().out)


def test_the_files_inputs_outputs_and_numbers_of_operators_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = ps.split(lambda x, w: np.sum(np.sin(x) * w), ps.spec("float64", ["N"]), 2.0)
    path = str(tmp_path / "f.onnx")
    made.save(path)
    answer = told(capsys, made, [path])
    assert answer["files"] == [{"path": path, "bytes": (tmp_path / "f.onnx").stat().st_size}]
    assert [v["name"] for v in answer["inputs"]] == ["x", "w"]
    assert {v["name"]: v["type"] for v in answer["outputs"]} == {"y": "float64", "d_x": "float64[N]", "d_w": "float64"}
    assert answer["operators"].keys() == {"forward", "backward"}
    assert (answer["seconds"], answer["form"], answer["zero"]) == (0.123, "joint", [])


def test_a_gradient_that_is_zero_is_told_with_the_operators_that_stop_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = ps.split(lambda x, y: np.sum(np.floor(x) * y), np.ones(2), np.ones(2))
    path = str(tmp_path / "f.onnx")
    made.save(path)
    (row,) = told(capsys, made, [path])["zero"]
    assert [text.partition(" at ")[0] for text in row["through"]] == ["Floor"]
    assert (row["input"], row["name"]) == ("x", "d_x")
    left_out = {"scale": "it is a constant", **{f"c{i}": "it is held" for i in range(6)}}
    tell("f", made, [path], "joint", 0.1, json=False, left_out=left_out)
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "d_x is 0: x acts on the results through operators without a tangent alone: Floor at test_summary.py:" in shown
    )
    assert "scale is no weight: it is a constant. To differentiate by it: --wrt scale." in shown
    assert "c0, c1, c2, c3, 2 more is no weight: it is held. To differentiate by it: --wrt c0." in shown
