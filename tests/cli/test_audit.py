"""`primsplit audit`: the listing, the lines, the captures and the frozen values of a function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
        "loss.pullback(",
        "model.py:7",
        "return np.tanh(x @ W)",
        "Captures",
        "Frozen values",
        "RATE",
    ):
        assert phrase in done.out


def test_the_json_has_the_numbers(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    found = primsplit("audit", model(MODEL), "--wrt", "x", "--json").json
    assert {v["name"]: v["role"] for v in found["inputs"]} == {"x": "differentiated", "y": "data"}
    assert sum(line["primal"] for line in found["lines"]) == found["operators"]["primal"]
    assert sum(line["pullback"] for line in found["lines"]) == found["operators"]["pullback"]
    assert {c["kind"] for c in found["captures"]} <= {"input", "output", "intermediate", "shape"}


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
    found = primsplit("audit", path, "--spec", "x:f64[3]", "--json").json
    told = {line["source"]: (line["primal"], line["pullback"]) for line in found["lines"]}
    assert told["x = np.exp(x)"] == (1, 1)
    assert told["np.sin(c), x)"][0] == 1
    assert sum(line["primal"] for line in found["lines"]) == found["operators"]["primal"]


def test_a_plain_product_stores_nothing(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("def product(a, b): return a @ b\n")
    found = primsplit("audit", path, "--spec", "a:f64[N,3]", "--spec", "b:f64[3,4]", "--json").json
    assert found["stored"] == "0 B"
    assert {(c["name"], c["kind"], c["bytes"]) for c in found["captures"]} == {("a", "input", "0"), ("b", "input", "0")}


def test_frozen_lists_what_was_read_from_outside_and_nothing_else(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    found = primsplit("audit", model(MODEL), "--frozen", "--json").json
    assert [(f["name"], f["type"], f["bytes"], f["line"]) for f in found] == [
        ("W", "float64[2,3]", 48, 7),
        ("RATE", "float", 0, 11),
    ]
    done = primsplit("audit", model("def f(x): return x * 2.0\n", "plain.py"), "--spec", "x:f64[3]", "--frozen")
    assert done.out.rstrip().endswith("none")


def test_the_listing_alone_comes_in_three_styles(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(MODEL)
    text = primsplit("audit", path, "--style", "text").out
    assert text.startswith("loss(x: float64[4,2]")
    assert "Frozen values" not in text
    compile(primsplit("audit", path, "--style", "python").out, "listing.py", "exec")
    assert "<html" in primsplit("audit", path, "--style", "html").out


def test_a_listing_is_json_where_that_is_asked_for(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model("def loss(x): return x * x\ndef example_inputs(): return (2.0,)\n")
    done = primsplit("audit", path, "--style", "python", "--json")
    assert done.json["style"] == "python"
    assert done.json["listing"] + "\n" == primsplit("audit", path, "--style", "python").out
    done = primsplit("audit", path, "--style", "python", "--frozen")
    assert (done.status, "--frozen" in done.error) == (1, True)
