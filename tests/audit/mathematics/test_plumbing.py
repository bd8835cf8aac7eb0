"""What only moves shapes is folded, with the numbers and shapes of the file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute

X = np.linspace(-1, 1, 12).reshape(4, 3)


def column(x: Any) -> Any:
    return x - np.max(x, axis=1)[:, None]


def rows(x: Any) -> Any:
    return np.sum(x, axis=1, keepdims=True)[:, 0] * np.sum(x * np.mean(x, axis=0)[None, :], axis=1)


def spread(x: Any) -> Any:
    return np.broadcast_to(np.sum(x), (5, 4, 3)) * np.ones((5, 1, 1))


def vectors(x: Any) -> Any:
    return x @ np.array([1.0, 2.0, 3.0]) + x[:, 0]


def reshaped(x: Any) -> Any:
    return np.exp(x.reshape(2, 6)).sum(axis=0).reshape(3, 2) @ x[:2]


def joined(x: Any) -> Any:
    return np.concatenate([np.zeros((1, 3)), x[1:], np.full((2, 3), 0.5)]) * x[0]


@pytest.mark.parametrize("function", [column, rows, spread, vectors, reshaped, joined], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["value", None])
def test_folded_shapes_keep_the_numbers(function: Callable[..., Any], mode: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    if mode is None:
        ps.export(lambda x: np.sum(np.exp(function(x))), X, path=path)
    else:
        ps.export(function, X, path=path, mode=mode)
    assert_statements_compute(path, [X])


def test_sums_times_the_inverse_of_their_count_are_means(tmp_path: Path) -> None:
    def means(x: Any) -> Any:
        a = np.sum(x) * (1 / 16)
        b = np.sum(x, axis=0) / -8
        c = 0.25 * np.sum(x, axis=1)
        return np.tanh(a), np.tanh(b), np.tanh(c)

    path = str(tmp_path / "f.onnx")
    ps.export(means, ps.spec("float64", [8, 2]), path=path, mode="value")
    listed = list_as_mathematics(read_written(path))
    assert "mean(x)" in listed
    assert "-mean(x, axis=0)" in listed
    assert "0.25 * sum(x, axis=1)" in listed  # of two numbers
    assert_statements_compute(path, [np.linspace(-1, 1, 16).reshape(8, 2)])


def test_a_mean_is_a_mean_and_ones_times_rows_are_a_sum(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: np.mean(x * x), ps.spec("float64", ["N", 3]), path=path, mode="value")
    assert "y = mean(x**2)" in list_as_mathematics(read_written(path))
