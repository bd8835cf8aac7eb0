"""`primsplit audit`: the listing, the lines, the captures and the frozen values of a function."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODEL = """
import numpy as np

W = np.arange(6.0).reshape(2, 3)
RATE = 0.25

def layer(x):
    return np.tanh(x @ W)

def loss(x, y):
    error = layer(x) - y
    return RATE * np.sum(error * error)

main = loss

def example_inputs():
    return np.ones((4, 2)), np.zeros((4, 3))
"""


def test_the_report_names_lines_captures_and_frozen_values(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    done = primsplit("audit", model(MODEL), "--wrt", "x")
    assert done.status == 0, done.error
    for phrase in (
        "differentiated",
        "\nforward\n",
        "\nbackward\n",
        "# Grad of: ",
        "tanh(x @ W)",
        " statements, ",
        "model.py:7",
        "return np.tanh(x @ W)",
        "Captures",
        "Frozen values",
        "RATE",
    ):
        assert phrase in done.out


def test_the_json_has_the_numbers(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    (found,) = primsplit("audit", model(MODEL), "--wrt", "x", "--json").json["files"]
    split = primsplit("audit", model(MODEL), "--wrt", "x", "--stage", "split", "--json").json
    for report in (found, split):
        assert {v["name"]: v["role"] for v in report["inputs"]} == {"x": "differentiated", "y": "data"}
        for section in ("forward", "backward"):
            assert sum(line[section] for line in report["lines"]) == report["operators"][section]
        assert {c["kind"] for c in report["captures"]} <= {"input", "output", "intermediate", "shape"}


def test_lines_of_branches_and_loops_are_counted(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("""
    import numpy as np
    import primsplit as ps

    def loss(x):
        if x[0] > 0:
            x = np.exp(x)
        return ps.fori_loop(0, 3, lambda i, c:
            np.sin(c), x)
    """)
    split = primsplit("audit", path, "--spec", "x:f64[3]", "--stage", "split", "--json").json
    told = {line["source"]: (line["forward"], line["backward"]) for line in split["lines"]}
    assert told["x = np.exp(x)"] == (1, 1)
    (found,) = primsplit("audit", path, "--spec", "x:f64[3]", "--json").json["files"]
    told = {line["source"]: (line["forward"], line["backward"]) for line in found["lines"]}
    assert told["np.sin(c), x)"][0] == 1
    assert sum(line["forward"] for line in found["lines"]) == found["operators"]["forward"]


def test_a_plain_product_stores_nothing(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("def product(a, b): return a @ b\n")
    specs = ("--spec", "a:f64[N,3]", "--spec", "b:f64[3,4]")
    (found,) = primsplit("audit", path, *specs, "--json").json["files"]
    for report in (found, primsplit("audit", path, *specs, "--stage", "split", "--json").json):
        assert report["stored"] == "0 B"
        captures = {(c["name"], c["kind"], c["bytes"]) for c in report["captures"]}
        assert captures == {("a", "input", "0"), ("b", "input", "0")}


def test_frozen_lists_what_was_read_from_outside_and_nothing_else(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    found = primsplit("audit", model(MODEL), "--frozen", "--json").json
    assert [(f["name"], f["type"], f["bytes"], f["line"]) for f in found] == [
        ("W", "float64[2,3]", 48, 7),
        ("RATE", "float", 0, 11),
    ]
    plain = model("def f(x): return x * x\n", "plain.py")
    assert primsplit("audit", plain, "--spec", "x:f64[3]", "--frozen").out.rstrip().endswith("none")
    literal = model("def f(x): return x * 2.5\n", "literal.py")
    (found,) = primsplit("audit", literal, "--spec", "x:f64[3]", "--frozen", "--json").json
    assert (found["name"], found["origin"], found["line"]) == ("2.5", "literal", 1)


def test_frozen_lists_the_initializers_of_a_file(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    assert primsplit("export", model(MODEL), "--onnx", path).status == 0
    rows = {row["name"]: row for row in primsplit("audit", path, "--frozen", "--json").json}
    assert (rows["W"]["type"], rows["W"]["bytes"]) == ("float64[2,3]", 48)


def test_the_listing_alone_comes_in_three_styles(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(MODEL)
    text = primsplit("audit", path, "--style", "text").out
    assert text.startswith("loss(x: float64[4,2]")
    for stage in ("recorded", "split"):
        assert primsplit("audit", path, "--stage", stage, "--style", "text").out.startswith("loss(x: float64[4,2]")
    assert "Frozen values" not in text
    compile(primsplit("audit", path, "--style", "python").out, "listing.py", "exec")
    assert "<html" in primsplit("audit", path, "--style", "html").out


def test_the_mathematics_alone_may_show_all_that_moves_shapes(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("import numpy as np\ndef f(x): return np.mean(x * x)\nspecs = {'x': 'f64[N]'}\n")
    text = primsplit("audit", path, "--style", "math").out
    assert text.startswith("model.onnx  f(x) -> y, d_x   float64, N at run time\n")
    assert "\n  y = mean(x**2)" in text
    assert "Frozen values" not in text
    assert ".shape" not in text
    whole = primsplit("audit", path, "--style", "math", "--all").out
    assert ".shape" in whole
    assert primsplit("audit", path, "--all").out == whole
    for wrong in (
        ["--frozen", "--all"],
        ["--stage", "split", "--all"],
        ["--style", "text", "--all"],
        ["--style", "math", "--stage", "split"],
    ):
        assert primsplit("audit", path, *wrong).status == 1


def test_a_listing_is_json_where_that_is_asked_for(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("def loss(x): return x * x\ndef example_inputs(): return (2.0,)\n")
    done = primsplit("audit", path, "--style", "python", "--json")
    assert done.json["style"] == "python"
    assert done.json["listing"] + "\n" == primsplit("audit", path, "--style", "python").out
    done = primsplit("audit", path, "--style", "python", "--frozen")
    assert (done.status, "--frozen" in done.error) == (1, True)


SPLIT_OPTIONS: list[list[str]] = [
    [],
    ["--mode", "jvp"],
    ["--mode", "jacobian", "--chunk", "2"],
    ["--form", "split"],
    ["--form", "functions", "--policy", "nothing"],
    ["--dtype", "f32", "--provider", "cuda", "--target", "onnxruntime>=1.32"],
    ["--provenance", "none", "--wrt", "x"],
]


@pytest.mark.parametrize("told", SPLIT_OPTIONS, ids=" ".join)
def test_what_is_listed_is_the_file_that_export_writes_with_these_options(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, told: list[str]
) -> None:
    path = model(MODEL)
    page = tmp_path / "audit.json"
    done = primsplit("export", path, "--onnx", tmp_path / "model.onnx", "--audit", page, *told)
    assert done.status == 0, done.error
    found = primsplit("audit", path, *told, "--json").json["files"]
    assert found == json.loads(page.read_text())["files"]
    for file in found:
        data = (tmp_path / file["file"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


def test_the_mode_that_a_file_declares_is_listed(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(MODEL + "\nmode = 'jvp'\nwrt = ['x']\n")
    (found,) = primsplit("audit", path, "--json").json["files"]
    assert [v["name"] for v in found["outputs"]] == ["result", "t_result"]
    assert primsplit("audit", path, "--stage", "split", "--style", "text").out.count("loss.tangent(") == 1


def test_a_written_file_lists_the_lines_that_it_was_written_from(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    primsplit("export", model(MODEL), "--onnx", tmp_path / "model.onnx")
    (tmp_path / "model.py").unlink()
    found = primsplit("audit", tmp_path / "model.onnx")
    assert "return np.tanh(x @ W)" in found.out
    assert "model.py:7  return np.tanh(x @ W)" in primsplit("audit", tmp_path / "model.onnx", "--style", "text").out
    assert "Captures: what the backward pass reads" in found.out


RULED = """
import numpy as np
import primsplit as ps

@ps.primitive
def gently(x): return np.tanh(x)

@ps.rrule(gently)
def of_gently(x):
    y = np.tanh(x)
    return y, lambda d: (d * (1.0 - y * y),)

@ps.primitive
def never(x): return 2.0 * x

@ps.rrule(never)
def of_never(x): return 2.0 * x, lambda d: (2.0 * d,)

def loss(x: "f64[3]"): return np.sum(gently(x))

main = loss
"""


def test_rules_lists_what_made_the_nodes_and_the_rules_that_made_none(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(RULED, "ruled.py")
    found = primsplit("audit", path, "--rules", "--json").json
    assert {row["rule"]: row["where"] for row in found["rules"]}["gently"] == "ruled.py:7"
    assert [row for row in found["unused"] if row["of"] == "primitive"] == [
        {"rule": "never", "of": "primitive", "where": "ruled.py:15"}
    ]
    shown = primsplit("audit", path, "--rules").out
    assert "Rules of yours that made no node" in shown
    primsplit("export", path, "--onnx", tmp_path / "f.onnx")
    told = primsplit("audit", tmp_path / "f.onnx", "--rules", "--json").json
    assert {row["rule"]: row["nodes"] for row in told["rules"]} == {r["rule"]: r["nodes"] for r in found["rules"]}
    for options in (["--rules", "--frozen"], ["--rules", "--stage", "split"]):
        assert primsplit("audit", path, *options).status == 1


@pytest.mark.parametrize("stage", ["recorded", "split"])
def test_a_narrow_terminal_breaks_no_line_of_a_listing(
    primsplit: Callable[..., Any], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    left, right = (f"{letter * 20}_of_the_model" for letter in "ab")
    path = model(f"""
    import numpy as np

    def loss({left}, {right}):
        return np.sum({left} @ {right})
    """)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    done = primsplit("audit", path, "--spec", f"{left}:f64[3]", "--spec", f"{right}:f64[3]", "--stage", stage)
    assert done.status == 0, done.error
    assert f"({left}, {right})" in done.out
