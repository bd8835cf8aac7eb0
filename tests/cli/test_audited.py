"""`--audit PATH` of `export` and `grad`, `--output PATH` of `audit`."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODEL = """
import numpy as np

def loss(x: "f64[3]"):
    return np.sum(np.tanh(x))
"""


def test_an_audit_is_a_page_a_text_or_a_report_by_its_ending(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    for name, begin in (("a.html", "<!doctype html>"), ("a.txt", "loss("), ("a.json", "{"), ("a.py", '"""loss')):
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


WEIGHTED = """
import numpy as np
W = np.arange(100.0).reshape(10, 10) / 100

def loss(x: "f64[10]"):
    return np.sum(np.tanh(W @ x))
"""


def test_a_module_of_numpy_has_its_large_arrays_beside_it(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    done = primsplit("audit", model(WEIGHTED), "--style", "numpy", "--output", tmp_path / "shown.py")
    assert done.status == 0, done.error
    (weights,) = np.load(tmp_path / "shown.npz").values()
    np.testing.assert_array_equal(weights, np.arange(100.0).reshape(10, 10) / 100)
    functions = runpy.run_path(str(tmp_path / "shown.py"))
    x = np.linspace(-1, 1, 10)
    y, d_x = functions["value_and_grad"](x)
    np.testing.assert_allclose(y, np.sum(np.tanh(weights @ x)))
    np.testing.assert_allclose(d_x, weights.T @ (1 - np.tanh(weights @ x) ** 2))


def test_a_listing_is_not_written_over_what_is_read(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(MODEL)
    done = primsplit("audit", path, "--style", "numpy", "--output", path)
    assert done.status == 1
    assert "which is read" in done.error
    assert path.read_text() == MODEL.lstrip()
    done = primsplit("audit", path, "--output", tmp_path / "a.txt", "--frozen")
    assert done.status == 1
    assert not (tmp_path / "a.txt").exists()
