"""Constants are written by a rule where they follow one, bit by bit; others are told at the end of a listing."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.mathematics.constants import ShortConstants, constant, diagonal_at
from primsplit.audit.trees import name
from primsplit.audit.written import read_written
from primsplit.ir import Const
from tests.mathematics import assert_statements_compute

NEGATIVE_ZERO = np.eye(3) * np.where(np.arange(9).reshape(3, 3) == 1, -1.0, 1.0)
LOWER = np.tril(np.ones((3, 3)))


def written(array: np.ndarray[Any, Any], **named: Any) -> str:
    return ast.unparse(ShortConstants({"c1": Const(array, **named)}).in_the_place_of_names(name("c1")))


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.eye(3), "eye(3)"),
        (np.eye(3, 5, 2, dtype=np.float32), "eye(3, 5, 2)"),
        (np.eye(5, 3), "eye(5, 3)"),
        (np.eye(4, k=-1), "eye(4, 4, -1)"),
        (np.eye(4, dtype=bool), "eye(4, dtype=bool)"),
        (np.eye(4, k=1, dtype=bool), "eye(4, 4, 1, dtype=bool)"),
        (1 - np.eye(3), "1 - eye(3)"),
        (np.arange(12)[:, None], "arange(12)[:, None]"),
        (np.arange(12)[None], "arange(12)[None]"),
        (np.array([[5], [5], [4]]), "array([5, 5, 4])[:, None]"),
        (np.array([0.5, 0.0, -0.0]), "array([0.5, 0, -0.0])"),
        (np.array([True, False]), "array([True, False])"),
    ],
)
def test_an_array_that_follows_a_rule_is_written_by_it(array: np.ndarray[Any, Any], text: str) -> None:
    assert written(array) == text
    np.testing.assert_array_equal(eval(text, {n: getattr(np, n) for n in ("eye", "arange", "array", "bool")}), array)


@pytest.mark.parametrize("array", [NEGATIVE_ZERO, LOWER, 2 * np.eye(3), np.eye(3) - 1e-300, np.eye(3, dtype=np.int64)])
def test_an_array_beside_a_rule_keeps_its_name(array: np.ndarray[Any, Any]) -> None:
    assert written(array) == "c1"


def test_a_weight_and_a_variable_of_the_users_keep_their_names() -> None:
    assert written(np.eye(3), role="weight") == "c1"
    found = ShortConstants({"identity": Const(np.eye(3))}).in_the_place_of_names(name("identity"))
    assert ast.unparse(found) == "identity"


def test_equal_rows_are_one_that_numpy_repeats() -> None:
    const = Const(np.tile([1.0, 0.5], (4, 1)))
    folded = constant(const, "c1")
    assert folded.shape == (2,)
    assert ast.unparse(ShortConstants({"c1": const}).in_the_place_of_names(folded.value)) == "array([1, 0.5])"
    assert constant(const, "axis").shape == (4, 2)


def test_the_places_of_a_diagonal_are_all_of_it_in_order() -> None:
    places = np.stack((np.arange(3), np.arange(3) + 1), axis=1)
    assert diagonal_at(places, (4, 4)) == 1
    assert diagonal_at(places[:, ::-1], (4, 4)) == -1
    assert diagonal_at(places, (5, 5)) is None
    assert diagonal_at(places[::-1], (4, 4)) is None
    assert diagonal_at(places, (4, 4, 4)) is None


def test_constants_and_diagonals_are_listed_by_what_they_are(tmp_path: Path) -> None:
    def f(v: Any, a: Any) -> Any:
        blocks = np.where(np.kron(np.eye(2), np.ones((2, 2))) > 0, a, 0.0)
        table = np.diag(v) + np.diag(v[1:], 1) + np.eye(4) @ a
        return np.diagonal(table, -1) + np.sum(blocks) + a[1:, 0] * np.diagonal(a, 1)

    path, given = str(tmp_path / "f.onnx"), [np.arange(4.0), np.arange(16.0).reshape(4, 4)]
    ps.trace(f, *given).save(path)
    text = list_as_mathematics(read_written(path))
    assert "diag(v) + diag(v[1:], 1) + eye(4) @ a" in text
    assert "diagonal(table, -1)" in text
    told = text.partition("\nconstants\n")[2].splitlines()[0]
    assert re.fullmatch(r"  c\d+ = \[\[1, 1, 0, 0\], \[1, 1, 0, 0\], \[0, 0, 1, 1\], .*\]   bool\[4, 4\]", told)
    assert_statements_compute(path, given)


def test_equal_rows_are_written_once_and_compute_the_same(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return (x[:, None] * np.tile([1.0, 0.5, 0.0], (4, 1)) + x[0]) @ np.tile([1.0, 0.5, 0.0], (4, 1)).T

    path, given = str(tmp_path / "f.onnx"), [np.arange(4.0)]
    ps.split(f, *given).save(path)
    text = list_as_mathematics(read_written(path))
    assert "x[:, None] * array([1, 0.5, 0])" in text
    assert_statements_compute(path, [*given, np.ones((4, 4))])


def test_a_constant_with_a_name_of_the_users_is_not_told_again(tmp_path: Path) -> None:
    path, given = str(tmp_path / "f.onnx"), [np.arange(3.0)]
    shift = np.tile([0.5, 1.5, 2.5], (4, 1))
    ps.trace(lambda x: np.tanh(x + shift), *given).save(path)
    text = list_as_mathematics(read_written(path))
    assert "y = tanh(x + shift)" in text
    assert "\nconstants\n" not in text
    assert_statements_compute(path, given)
