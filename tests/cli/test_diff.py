"""`primsplit diff`: two Python files, two ONNX files, or one of each; the exit status."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
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


@pytest.fixture
def schema(primsplit: Run) -> Any:
    """The schema, as the command prints it."""
    found = primsplit("diff", "--schema").json
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def comparison(done: Any) -> Any:
    """What the answer says of the only files that were compared."""
    (found,) = done.json["comparisons"]
    return found


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
    assert {row["absolute"] for row in comparison(done)["numbers"]["outputs"]} == {0.0}
    assert primsplit("diff", tmp_path / "old.onnx", model(NEW, "new.py")).status == 1


def test_json_has_the_numbers_that_onnxruntime_computes(primsplit: Run, model: Model, tmp_path: Path) -> None:
    inputs = {"w": np.full((3, 4), -0.5), "b": np.zeros(4), "x": np.ones((2, 3))}
    np.savez(tmp_path / "in.npz", **inputs)
    done = primsplit("diff", model(OLD, "old.py"), model(OLD.replace("0.25", "0.5"), "new.py"), "--samples",
                     tmp_path / "in.npz", "--json")  # fmt: skip
    assert done.status == 1
    found = comparison(done)
    (row,) = (r for r in found["numbers"]["outputs"] if r["name"] == "y")
    assert row["absolute"] == pytest.approx(0.25 * 8 * np.log(4.0))  # log(1/4) for eight numbers
    assert row["relative"] == pytest.approx(0.5)
    assert found["numbers"]["samples"] == ["in.npz"]
    for what in ("statements", "nodes"):
        assert {s["status"] for s in found[what]} == {"changed"}
        assert {s["section"] for s in found[what]} == {"forward", "backward"}


def test_sizes_of_the_run_are_tried_at_1_and_at_others(primsplit: Run, model: Model) -> None:
    sized = "def f(x): return (x - np.mean(x)) ** 2\n"
    old = model(f"import numpy as np\n{sized}", "old.py")
    new = model(f"import numpy as np\n{sized.replace('np.mean(x)', 'np.mean(x) * 1.5')}", "new.py")
    found = comparison(primsplit("diff", old, new, "--spec", "x:f64[N]", "--json"))["numbers"]
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


@pytest.mark.parametrize("asked", [("--mode", "linearize"), ("--form", "split")])
def test_two_files_of_a_derivative_are_compared_one_by_one(
    primsplit: Run, model: Model, schema: Any, asked: tuple[str, str]
) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), *asked, "--json")
    assert done.status == 1
    schema.validate(done.json)
    forward, derived = done.json["comparisons"]
    assert forward["before"]["file"].endswith("old.py (old.forward.onnx)")
    assert [s["after"]["statement"] for s in forward["statements"] if s["section"] == "forward"] == [
        "hidden = tanh(x @ w + b)"
    ]
    assert not derived["same"]
    assert all(c["numbers"]["samples"][0] == "the examples" for c in (forward, derived))


def test_the_second_of_two_files_takes_what_the_first_keeps(primsplit: Run, model: Model) -> None:
    """The gradients of the second file at the examples are those of the formula, with another rate."""
    old, new = model(OLD, "old.py"), model(OLD.replace("0.25", "0.5"), "new.py")
    done = primsplit("diff", old, new, "--form", "split", "--json")
    forward, backward = (c["numbers"] for c in done.json["comparisons"])
    assert (forward["notes"], backward["notes"]) == ([], [])
    rows = {row["name"]: row for row in backward["outputs"]}
    assert rows["d_w"]["relative"] == pytest.approx(0.5)
    (point,) = primsplit("diff", old, new, "--json").json["comparisons"]
    assert rows["d_w"]["absolute"] == next(r for r in point["numbers"]["outputs"] if r["name"] == "d_w")["absolute"]


def test_one_file_and_two_are_not_compared(primsplit: Run, model: Model, tmp_path: Path) -> None:
    old = model(OLD, "old.py")
    assert primsplit("export", old, "--onnx", tmp_path / "old.onnx").status == 0
    done = primsplit("diff", tmp_path / "old.onnx", old, "--form", "split")
    assert (done.status, "is 1 file and" in done.error, "is 2 files" in done.error) == (2, True, True)


def test_statements_are_counted_by_section(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--json", "--no-run")
    counted = {row["section"]: row["statements"] for row in comparison(done)["sections"]}
    assert counted["forward"] == {"same": 2, "changed": 1, "added": 0, "removed": 0}
    text = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--no-run").out
    assert "Statements by section" in text
    assert re.search(r"^forward +2 +1 +0 +0 *$", text, re.MULTILINE)
    assert "Nodes by section" in primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--nodes").out


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        (OLD, []),
        (NEW, []),
        (NEW, ["--no-run"]),
        (OLD.replace("x @ w", "(2.0 * x) @ w"), ["--mode", "value"]),
        (OLD.replace("RATE * ", "RATE * np.linspace(0.0, 1.0, 99)[3] * "), ["--dtype", "f32"]),
    ],
)
def test_what_json_has_follows_the_schema(
    primsplit: Run, model: Model, schema: Any, changed: str, asked: list[str]
) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(changed, "new.py"), *asked, "--json")
    assert done.status == (changed != OLD)
    schema.validate(done.json)


def test_errors_follow_the_schema_and_other_answers_do_not(primsplit: Run, schema: Any, tmp_path: Path) -> None:
    schema.validate(primsplit("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", "--json").json)
    assert not schema.is_valid({"same": True, "comparisons": []})
    assert not schema.is_valid({"same": True, "comparisons": [{"same": True}]})


def test_another_number_of_outputs_is_told_and_the_shared_ones_are_compared(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(OLD.replace('("w", "b")', '("w",)'), "new.py"), "--json")
    assert done.status == 1
    found = comparison(done)
    assert [(r["name"], r["before"], r["after"]) for r in found["outputs"]] == [("d_b", "float64[4]", None)]
    assert {r["name"] for r in found["numbers"]["outputs"]} == {"y", "d_w"}


def test_nodes_are_listed_where_they_are_asked_for(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--no-run", "--nodes")
    assert done.status == 1
    assert "- hidden = Max(add_x, 0.0)\n+ hidden = Tanh(add_x)" in done.out


def test_without_a_run_there_are_no_numbers(primsplit: Run, model: Model) -> None:
    done = primsplit("diff", model(OLD, "old.py"), model(NEW, "new.py"), "--no-run", "--json")
    assert (done.status, comparison(done)["numbers"]) == (1, None)


def test_samples_that_cannot_be_read_or_that_no_input_takes_are_refused(
    primsplit: Run, model: Model, tmp_path: Path
) -> None:
    old, path = model(OLD, "old.py"), tmp_path / "in.npz"
    done = primsplit("diff", old, old, "--samples", path)
    assert (done.status, "No such file" in done.error) == (2, True)
    np.savez(path, X=np.ones((2, 3)))
    done = primsplit("diff", old, old, "--samples", path)
    assert (done.status, "holds X, which is no input" in done.error) == (2, True)
