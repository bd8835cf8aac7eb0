"""Values are named by the user's variables, else by an operator and its operand."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.mathematics.naming import short_names
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute


def test_names_lose_the_groups_that_they_need_not() -> None:
    assert short_names(["params.w1", "params.b1", "x"]) == {"params.w1": "w1", "params.b1": "b1"}
    nested = ["params.layer1.w", "params.layer2.w"]
    assert short_names(nested) == {"params.layer1.w": "layer1_w", "params.layer2.w": "layer2_w"}
    assert short_names(["a.w", "w"]) == {"a.w": "a_w"}
    assert short_names(["weights.0"]) == {"weights.0": "weights_0"}


def shown(function: Any, *arguments: Any, folder: Path) -> list[str]:
    path = str(folder / "f.onnx")
    ps.export(function, *arguments, path=path)
    (made,) = mathematics_of(read_written(path))
    return [made.naming.of.get(line.target, line.target) for line in made.every if line.target]


def test_a_value_without_a_name_is_called_by_what_was_done_to_its_operand(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * np.sin(np.exp(x)))

    names = shown(f, np.ones(3), folder=tmp_path)
    assert "exp_x" in names
    assert {"y", "d_x"} <= {*names}


def test_a_cotangent_is_called_by_the_argument_that_it_belongs_to(tmp_path: Path) -> None:
    def f(w: Any, b: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w + b)
        return np.sum(hidden * hidden)

    names = shown(f, np.ones((3, 4)), np.ones(4), np.ones((2, 3)), folder=tmp_path)
    assert "d_hidden_in" in names


def test_a_loops_variable_has_the_users_name(tmp_path: Path) -> None:
    def f(h: Any, x: Any) -> Any:
        h, _ = ps.scan(lambda h, v: (np.tanh(0.5 * h + v), h), h, x)
        return h * 2.0

    path = str(tmp_path / "f.onnx")
    ps.export(f, np.zeros(()), ps.spec("float64", ["T"]), path=path, mode="value")
    text = list_as_mathematics(read_written(path))
    assert "h_1" not in text
    assert " h = h\n" not in text
    assert_statements_compute(path, [np.array(0.3), np.linspace(0, 1, 4)])


def test_a_loops_variable_keeps_its_number_where_its_start_is_needed_too(tmp_path: Path) -> None:
    def f(h: Any, x: Any) -> Any:
        start = h
        h, _ = ps.scan(lambda h, v: (np.tanh(0.5 * h + v), h), h, x)
        return h * start

    path = str(tmp_path / "f.onnx")
    ps.export(f, np.zeros(()), ps.spec("float64", ["T"]), path=path)
    text = list_as_mathematics(read_written(path))
    assert re.search(r" h_\d = h ", text)
    assert "d_h_1" not in text
    assert_statements_compute(path, [np.array(0.3), np.linspace(0, 1, 4)])


def test_the_cotangent_of_a_loops_variable_has_its_name(tmp_path: Path) -> None:
    def f(a: Any, start: Any, xs: Any) -> Any:
        return np.sum(ps.scan(lambda u, x: (np.tanh(a @ u + x), None), start, xs)[0])

    path = str(tmp_path / "f.onnx")
    ps.export(f, np.eye(3), np.ones(3), np.ones((4, 3)), path=path, wrt="a")
    text = list_as_mathematics(read_written(path))
    assert "  d_start, d_a = " in text


def test_a_gradient_inside_of_a_program_has_the_name_of_what_it_is_by(tmp_path: Path) -> None:
    def loss(w: Any, b: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w + b))

    def step(w: Any, b: Any, x: Any) -> Any:
        by_w, by_b = ps.grad(loss, (0, 1))(w, b, x)
        return w - 0.1 * by_w, b - 0.1 * by_b

    path, given = str(tmp_path / "f.onnx"), [np.ones((3, 4)), np.ones(4), np.ones((2, 3))]
    ps.trace(step, *given).save(path)
    text = list_as_mathematics(read_written(path))
    assert re.search(r"^  d_w, d_b = x\.T @ (\w+), sum\(\1, axis=0\)$", text, re.MULTILINE)
    assert "y0 = w - 0.1 * d_w " in text
    assert_statements_compute(path, given)


def test_a_loops_line_is_not_told_again_inside_of_the_loop(tmp_path: Path) -> None:
    def f(a: Any, start: Any, xs: Any) -> Any:
        return np.sum(ps.scan(lambda u, x: (np.tanh(a @ u + x) + u, None), start, xs)[0])

    path = str(tmp_path / "f.onnx")
    ps.export(f, np.eye(3), np.ones(3), np.ones((4, 3)), path=path, wrt="a")
    rows = list_as_mathematics(read_written(path)).partition("backward")[2].partition("for t in reversed")[2]
    inside = [row for row in rows.splitlines()[1:] if row.startswith("      ")]
    assert inside
    assert not any("ps.scan" in row and "# Grad of" in row for row in inside)


def test_a_test_of_a_cotangent_does_not_name_it_after_what_is_tested(tmp_path: Path) -> None:
    """The pullback of sqrt asks whether a cotangent is 0, which is none of the root's."""

    def price(spot: Any, rate: Any, years: Any) -> Any:
        root = np.sqrt(years)
        return spot * np.exp(-rate * years) * root - root * spot

    path, given = str(tmp_path / "f.onnx"), [np.array([1.0, 2.0]), np.array([0.1, 0.2]), np.array([0.5, 0.25])]
    ps.export(price, *given, path=path)
    text = list_as_mathematics(read_written(path))
    assert "root = sqrt(years)" in text
    assert "d_root" not in text
    assert_statements_compute(path, [*given, np.ones(2)])


def test_zeros_that_are_places_are_integers(tmp_path: Path) -> None:
    def f(angle: Any, x: Any) -> Any:
        return np.sum(np.cos(angle[:, 0, None]) * x + np.sin(angle[:, 0, None]) * x**2)

    path, given = str(tmp_path / "f.onnx"), [np.ones((4, 2)), np.ones((4, 3))]
    ps.export(f, *given, path=path, wrt=0)
    assert "zeros((2, 1), int)" in list_as_mathematics(read_written(path))
    assert_statements_compute(path, given)
