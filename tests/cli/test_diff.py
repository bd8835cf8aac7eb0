"""`primsplit diff`: two Python files, two ONNX files, or one of each; the exit status."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

OLD = """
import numpy as np

RATE = 0.25

def softmax(z):
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)

def main(w, b, x):
    hidden = np.maximum(x @ w + b, 0.0)
    p = softmax(hidden)
    return RATE * np.sum(np.log(p))

wrt = ("w", "b")

def example_inputs():
    return np.linspace(-1.0, 1.0, 12).reshape(3, 4), np.ones(4), np.linspace(-2.0, 2.0, 6).reshape(2, 3)
"""
NEW = OLD.replace("np.maximum(x @ w + b, 0.0)", "np.tanh(x @ w + b)")
Run = Callable[..., Any]
Model = Callable[..., Path]


def test_a_comment_on_top_is_no_difference(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model("# a comment\n" + OLD, "new.py"))
    assert done.status == 0, done.error
    assert "No difference: " in done.out
    assert "are for other lines" in done.out
    assert "Outputs are equal at: the examples; random, seed 0" in done.out


def test_relu_to_tanh_shows_that_line_alone_and_how_far_outputs_are_apart(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"))
    assert done.status == 1
    assert "- # hidden = np.maximum(x @ w + b, 0.0)  old.py:10" in done.out
    assert "+ # hidden = np.tanh(x @ w + b)  new.py:10" in done.out
    assert "+ hidden = tanh(x @ w + b)" in done.out
    assert "softmax" not in done.out
    assert "They differ: " in done.out


def test_a_python_file_is_compared_with_the_file_that_was_exported_of_it(
    primsplit: Run, model: Model, tmp_path: Path
) -> None:
    old = model(OLD, "old.py")
    assert primsplit("export", old, "--onnx", tmp_path / "old.onnx").status == 0
    done = primsplit("diff", tmp_path / "old.onnx", old, "--json")
    assert done.status == 0
    assert done.json["same"]
    assert {row["absolute"] for row in done.json["numbers"]["outputs"]} == {0.0}
    assert primsplit("diff", tmp_path / "old.onnx", model(NEW, "new.py")).status == 1


def test_json_has_the_numbers_that_onnxruntime_computes(primsplit: Run, model: Model, tmp_path: Path) -> None:
    inputs = {"w": np.full((3, 4), -0.5), "b": np.zeros(4), "x": np.ones((2, 3))}
    np.savez(tmp_path / "in.npz", **inputs)
    done = primsplit("diff", model(OLD, "old.py"), model(OLD.replace("0.25", "0.5"), "new.py"), "--samples",
                     tmp_path / "in.npz", "--json")  # fmt: skip
    assert done.status == 1
    (row,) = (r for r in done.json["numbers"]["outputs"] if r["name"] == "y")
    assert row["absolute"] == pytest.approx(0.25 * 8 * np.log(4.0))  # log(1/4) for eight numbers
    assert row["relative"] == pytest.approx(0.5)
    assert done.json["numbers"]["samples"] == ["in.npz"]
    assert {s["status"] for s in done.json["statements"]} == {"changed"}
    assert {s["section"] for s in done.json["statements"]} == {"forward", "backward"}


def test_sizes_of_the_run_are_tried_at_1_and_at_others(primsplit: Run, model: Model) -> None:
    sized = "def f(x): return (x - np.mean(x)) ** 2\n"
    old = model(f"import numpy as np\n{sized}", "old.py")
    new = model(f"import numpy as np\n{sized.replace('np.mean(x)', 'np.mean(x) * 1.5')}", "new.py")
    found = primsplit("diff", old, new, "--spec", "x:f64[N]", "--json").json["numbers"]
    assert [label for label in found["samples"] if "sizes of 1" in label]
    assert any(row["absolute"] > 0.0 for row in found["outputs"])


def test_errors_have_the_status_2(primsplit: Run, model: Model, tmp_path: Path) -> None:
    old = model(OLD, "old.py")
    done = primsplit("diff", old, tmp_path / "missing.onnx", "--json")
    assert (done.status, done.json["error"]["kind"]) == (2, "FileError")
    assert primsplit("diff", old).status == 2
    done = primsplit("diff", old, model("def f(x): raise ValueError('no')", "bad.py"), "--spec", "x:f64[3]")
    assert done.status == 2
    done = primsplit("diff", old, old, "--no-run", "--samples", tmp_path / "in.npz")
    assert (done.status, "--samples" in done.error) == (2, True)


def test_two_passes_in_two_files_are_refused(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--mode", "linearize")
    assert (done.status, "two files" in done.error) == (2, True)


def test_another_number_of_outputs_is_told_and_the_shared_ones_are_compared(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(OLD.replace('("w", "b")', '("w",)'), "new.py"), "--json")
    assert done.status == 1
    assert [(r["name"], r["before"], r["after"]) for r in done.json["outputs"]] == [("d_b", "float64[4]", None)]
    assert {r["name"] for r in done.json["numbers"]["outputs"]} == {"y", "d_w"}


def test_nodes_are_listed_where_they_are_asked_for(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--no-run", "--nodes")
    assert done.status == 1
    assert "- hidden = Max(add, 0.0)\n+ hidden = Tanh(add)" in done.out


def test_without_a_run_there_are_no_numbers(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--no-run", "--json")
    assert (done.status, done.json["numbers"]) == (1, None)
