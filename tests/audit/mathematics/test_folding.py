"""Values that are used once are in their reader, others in statements of their own."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.math_style import mathematics_of
from primsplit.audit.mathematics.folding import LONGEST
from primsplit.audit.mathematics.simplify import text_of
from primsplit.audit.written import read_written


def statements(function: Any, *arguments: Any, folder: Path) -> list[str]:
    path = str(folder / "f.onnx")
    ps.export(function, *arguments, path=path, mode="value")
    (made,) = mathematics_of(read_written(path))
    return [f"{line.target} = {text_of(line.value)}" for line in made.every if line.value is not None]


def test_a_value_that_is_used_once_is_in_its_reader(tmp_path: Path) -> None:
    assert statements(lambda x, w: np.sum(np.tanh(x @ w)), np.ones((2, 3)), np.ones((3, 4)), folder=tmp_path) == [
        "y = sum(tanh(x @ w))"
    ]


def test_a_value_with_a_name_of_the_users_or_two_readers_is_a_statement(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        hidden = np.tanh(x)
        return np.sum(np.exp(hidden) * np.sin(np.exp(hidden)))

    found = statements(f, np.ones(3), folder=tmp_path)
    assert found[0] == "hidden = tanh(x)"
    assert found[1] == "exp_hidden = exp(hidden)"
    assert found[2] == "y = sum(exp_hidden * sin(exp_hidden))"


def test_an_expression_that_grows_too_long_is_several_statements(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(np.sin(x) * np.cos(x)) * np.tanh(np.exp(x) - np.log(x)) * np.tanh(np.sqrt(x) + np.cos(x)))

    found = statements(f, np.ones(3), folder=tmp_path)
    assert len(found) > 1
    assert all(len(line) <= LONGEST + 24 for line in found)
