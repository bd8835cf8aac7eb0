"""What `primsplit audit --json` prints follows the schema that `--schema` prints."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SOURCE = """
import numpy as np
import primsplit as ps

NOISE = np.random.default_rng(0).normal(size=(3, 80))
count = ps.state("count", np.float64(0.0))

@ps.primitive
def soft(x):
    return np.log1p(np.exp(x))

@ps.rrule(soft)
def rule(x):
    return soft(x), lambda dy: dy / (1.0 + np.exp(-x))

def main(w, x):
    count[...] = count + 1.0
    total = np.sum(soft(x @ (w * NOISE)))
    if total > 3.0:
        total = np.log(total) / total
    return total * (x[0, 0] > 0.5)

wrt = ("w",)

def example_inputs():
    return np.full((3, 80), 0.1), np.ones((2, 3))
"""
Run = Callable[..., Any]
Model = Callable[..., Path]
QUESTIONS: list[list[str]] = [
    [],
    ["--frozen"],
    ["--rules"],
    ["--linear", "--zero"],
    ["--numerics", "examples"],
    ["--hazards", "--range", "x:0,1"],
    ["--bounds", "examples"],
    ["--stage", "split"],
    ["--stage", "recorded"],
    ["--mode", "jvp"],
    ["--mode", "jvp", "--stage", "split"],
    ["--form", "split"],
    ["--form", "functions", "--policy", "nothing"],
    ["--style", "math"],
    ["--style", "html"],
    ["--provenance", "none"],
]


@pytest.fixture
def schema(primsplit: Run) -> Any:
    """The schema, as the command prints it."""
    done = primsplit("audit", "--schema")
    assert done.status == 0
    return jsonschema.Draft202012Validator(done.json)


@pytest.mark.parametrize("asked", QUESTIONS, ids=" ".join)
def test_every_answer_follows_the_schema(primsplit: Run, model: Model, schema: Any, asked: list[str]) -> None:
    done = primsplit("audit", model(SOURCE), *asked, "--json")
    assert done.status == 0, done.error
    schema.validate(done.json)


def test_the_answers_of_an_onnx_file_and_of_a_check_follow_the_schema(
    primsplit: Run, model: Model, schema: Any, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    assert primsplit("export", model(SOURCE), "--onnx", path, "--audit", tmp_path / "a.json").status == 0
    schema.validate(json.loads((tmp_path / "a.json").read_text()))
    for asked in ([], ["--frozen"], ["--rules"], ["--linear"], ["--stage", "split"]):
        schema.validate(primsplit("audit", path, *asked, "--json").json)
    assert primsplit("audit", path, "--style", "text", "--output", tmp_path / "a.txt").status == 0
    schema.validate(primsplit("audit", path, "--check", tmp_path / "a.txt", "--json").json)


def test_an_error_follows_the_schema(primsplit: Run, schema: Any, tmp_path: Path) -> None:
    done = primsplit("audit", tmp_path / "missing.onnx", "--json")
    assert done.status == 1
    schema.validate(done.json)


def test_what_is_no_answer_does_not_follow_it(schema: Any) -> None:
    assert not schema.is_valid({"stage": "file", "files": [{}]})
    assert not schema.is_valid({"linear": [], "zero": {}})
    assert not schema.is_valid({})
