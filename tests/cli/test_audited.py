"""`--audit PATH` of `export` and `grad`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = """
import numpy as np

def loss(x: "f64[3]"):
    return np.sum(np.tanh(x))
"""


def test_an_audit_is_a_page_a_text_or_a_report_by_its_ending(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    for name, begin in (("a.html", "<!doctype html>"), ("a.txt", "loss("), ("a.json", "{")):
        primsplit("export", model(MODEL), "--onnx", tmp_path / "f.onnx", "--audit", tmp_path / name)
        assert (tmp_path / name).read_text().startswith(begin)
    for taken in ("f.onnx", "model.py"):
        done = primsplit("export", model(MODEL), "--onnx", tmp_path / "f.onnx", "--audit", tmp_path / taken)
        assert done.status == 1
        assert "--audit" in done.error


def test_grad_writes_an_audit_too(primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path) -> None:
    primsplit("export", model(MODEL), "--onnx", tmp_path / "f.onnx", "--mode", "value")
    done = primsplit("grad", tmp_path / "f.onnx", "--onnx", tmp_path / "g.onnx", "--audit", tmp_path / "g.txt")
    assert done.status == 0, done.error
    assert "pullback of Tanh" in (tmp_path / "g.txt").read_text()
