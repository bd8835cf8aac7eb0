"""Checks that fail a run are shown as what they hand on, with what they raise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import Written, read_written
from tests.mathematics import assert_covers, assert_statements_compute


def written(function: Any, *arguments: Any, path: Path, **options: Any) -> tuple[str, Written]:
    (made,) = ps.export(function, *arguments, path=path / "f.onnx", **options)
    return str(made), read_written(str(made))


def price(spot: Any, volatility: Any) -> Any:
    if volatility <= 0:
        raise ValueError("volatility must be positive")
    return np.sum(np.log(spot) / volatility)


def test_what_the_user_raises_is_shown_as_an_error(tmp_path: Path) -> None:
    inputs = (np.array([1.0, 2.0]), np.array(0.5))
    path, file = written(price, *inputs, path=tmp_path)
    assert "y = raises(ValueError('volatility must be positive'))" in list_as_mathematics(file)
    assert_covers(file)
    assert_statements_compute(path, inputs)


def factor(a: Any) -> Any:
    lower = np.linalg.cholesky(a)
    return np.sum(lower**2)


@pytest.mark.parametrize(("mode", "target"), [("value", "lower"), ("gradient", "y")])
def test_a_factor_is_one_call_with_a_note_of_its_error(mode: Any, target: str, tmp_path: Path) -> None:
    inputs = (np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]]),)
    path, file = written(factor, *inputs, path=tmp_path, mode=mode)
    lines = list_as_mathematics(file).splitlines()
    (line,) = (line for line in lines if "raises LinAlgError: Matrix is not positive definite" in line)
    assert line.split()[:2] == [target, "="]
    assert any(" = cholesky(a)" in line for line in lines)
    assert not any(line.lstrip().startswith("for ") for line in lines)
    assert_covers(file)
    assert_statements_compute(path, inputs)
