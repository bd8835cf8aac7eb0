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


@pytest.mark.parametrize("mode", ["value", "gradient"])
def test_a_factor_is_one_call_with_a_note_of_its_error(mode: Any, tmp_path: Path) -> None:
    inputs = (np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]]),)
    path, file = written(factor, *inputs, path=tmp_path, mode=mode)
    lines = list_as_mathematics(file).splitlines()
    (line,) = (line for line in lines if "raises LinAlgError: Matrix is not positive definite" in line)
    assert line.split()[:3] == ["lower", "=", "cholesky(a)"]
    assert not any(line.lstrip().startswith("for ") for line in lines)
    assert_covers(file)
    assert_statements_compute(path, inputs)


def of_any_size(a: Any, b: Any) -> Any:
    inverse = np.linalg.inv(a)
    return np.sum(inverse @ b) + np.sum(np.linalg.solve(a, b))


def test_each_error_of_a_run_has_a_note_at_any_size(tmp_path: Path) -> None:
    path, file = written(of_any_size, ps.spec("float64", ["N", "N"]), ps.spec("float64", ["N", 2]), path=tmp_path)
    noted = [line.split()[:3] for line in list_as_mathematics(file).splitlines() if "raises LinAlgError" in line]
    assert len(noted) == 2
    assert ["inverse", "=", "inv(a)"] in noted
    assert_covers(file)
    assert_statements_compute(path, (np.array([[2.0, 0.5], [0.1, 1.0]]), np.ones((2, 2))))
