"""`primsplit bench`: what it times, and how it tells it. No time is asserted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

MODEL = """
    import numpy as np

    def loss(x, w):
        return np.sum(np.tanh(x @ w) ** 2)

    def example_inputs():
        return np.ones((4, 3)), np.ones((3, 2))
"""
ROWS = """
    import numpy as np

    def rows(x):
        return np.sin(x), np.sum(x)

    specs = {"x": "f32[N,3]"}
"""


def linear(folder: Path) -> Path:
    """x @ W, W three by two."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", 1, ["N", 3])],
        [helper.make_tensor_value_info("y", 1, ["N", 2])],
        [numpy_helper.from_array(np.ones((3, 2), np.float32), "W")],
    )
    path = folder / "linear.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def assert_sound(answer: Any, runs: int) -> None:
    assert answer["runs"] == runs
    for name in ("forward", "gradient"):
        assert 0 < answer[name]["min"] <= answer[name]["median"]
    for key in ("min", "median"):
        assert answer["ratio"][key] == pytest.approx(answer["gradient"][key] / answer["forward"][key])


@pytest.mark.parametrize("text", [MODEL, ROWS], ids=["a scalar loss", "results with cotangents"])
def test_a_function_is_timed_alone_and_with_its_gradient(
    primsplit: Callable[..., Any], model: Callable[..., Path], text: str
) -> None:
    done = primsplit("bench", model(text), "--runs", 7, "--threads", 1, "--json")
    assert done.status == 0, done.error
    assert done.json["threads"] == 1
    assert_sound(done.json, 7)


@pytest.mark.parametrize("more", [[], ["--wrt", "W"], ["--wrt", "params", "--spec", "x:[5,3]"]], ids=" ".join)
def test_an_onnx_model_is_timed_too(primsplit: Callable[..., Any], tmp_path: Path, more: list[str]) -> None:
    done = primsplit("bench", linear(tmp_path), *more, "--runs", 3, "--json")
    assert done.status == 0, done.error
    assert_sound(done.json, 3)


def test_a_gradient_file_that_is_there_is_the_one_timed(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(MODEL)
    assert primsplit("export", path, "--onnx", tmp_path / "gradient.onnx").status == 0
    done = primsplit("bench", path, "--onnx", tmp_path / "gradient.onnx", "--runs", 3, "--json")
    assert done.status == 0, done.error
    assert done.json["file"].endswith("gradient.onnx")
    assert_sound(done.json, 3)


def test_the_table_has_the_two_and_their_ratio(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("bench", model(MODEL), "--runs", 2)
    assert done.status == 0, done.error
    for word in ("forward", "gradient", "gradient / forward", "least", "median", "loss: 2 runs of each"):
        assert word in done.out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--onnx", "none.onnx"], "no such file"),
        (["--spec", "x:[5,4]"], "x is said to be"),
        (["--spec", "v:[5,3]"], "no input v"),
        (["--dtype", "float64"], "--dtype is for Python files"),
        (["--wrt", "V"], "wrt='V' is no input"),
    ],
)
def test_what_cannot_be_timed_is_told_in_a_few_lines(
    primsplit: Callable[..., Any], tmp_path: Path, more: list[str], words: str
) -> None:
    done = primsplit("bench", linear(tmp_path), *more)
    assert done.status == 1
    assert words in done.error
    assert len(done.error.splitlines()) < 10
