"""Branches and loops are Python's, and compute what the file computes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute

X = np.linspace(0.1, 1.0, 5)


def nested(x: Any) -> Any:
    def step(h: Any, v: Any) -> Any:
        inner, _ = ps.scan(lambda a, b: (np.sin(a + b * v), a), h, x)
        return inner, inner * v

    last, rows = ps.scan(step, np.zeros(()), x)
    return last + np.sum(rows)


def swapped(x: Any) -> Any:
    def step(carry: Any, v: Any) -> Any:
        a, b = carry
        return (b, a + v * b), a

    (a, b), seen = ps.scan(step, (np.zeros(()), np.ones(())), x)
    return a * b + np.sum(seen * seen)


def until(x: Any) -> Any:
    def body(carry: Any) -> Any:
        total, count = carry
        return total * 0.5 + np.sum(x), count + 1.0

    total, count = ps.while_loop(lambda carry: carry[0] < 4.0, body, (np.sum(x), np.zeros(())))
    return total * count


def chosen(x: Any) -> Any:
    total = np.sum(x)
    return ps.cond(total > 1.0, lambda: total**3, lambda: np.sin(total))


@pytest.mark.parametrize("function", [nested, swapped, until, chosen], ids=lambda f: f.__name__)
def test_statements_with_bodies_compute_the_file(function: Callable[..., Any], tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(function, ps.spec("float64", ["T"]), path=path, mode="value")
    assert_statements_compute(path, [X])


def test_a_loop_that_tests_before_each_step_is_while(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(until, ps.spec("float64", ["T"]), path=path, mode="value")
    text = list_as_mathematics(read_written(path))
    assert re.search(r"^  while \w+:", text, re.MULTILINE)
    assert "break" not in text


def test_a_step_keeps_what_it_is_handed_before_it_changes_it(tmp_path: Path) -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(ps.scan(lambda h, v: (h + np.sin(w * h) * v, None), w, x)[0] ** 2)

    path = str(tmp_path / "f.onnx")
    ps.export(f, np.ones(2), ps.spec("float64", ["T", 2]), path=path, wrt=0)
    text = list_as_mathematics(read_written(path))
    assert re.search(r" in range\(T\):.*\n +w_steps\[t\] = (\w+) .*\n +\1 = \1 \+ sin\(w \* \1\) ", text)
    assert_statements_compute(path, [np.array([0.5, 0.25]), np.array([[0.5, 1.0], [1.5, 2.0]])])


def test_the_backward_loop_goes_from_the_last_step_to_the_first(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(nested, ps.spec("float64", ["T"]), path=path)
    text = list_as_mathematics(read_written(path))
    assert "  for t in range(T):" in text
    assert "for step in range(T):" in text
    assert "for t in reversed(range(T)):" in text
    assert_statements_compute(path, [X])


def test_values_that_change_places_are_assigned_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(swapped, ps.spec("float64", ["T"]), path=path, mode="value")
    text = list_as_mathematics(read_written(path))
    (line,) = (line for line in text.splitlines() if line.startswith("      ") and ", " in line.split("=")[0])
    assert line.count(" = ") == 1
