"""What NumPy does anyway is not told, where that keeps the value."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute


def total(x: Any, y: Any) -> Any:
    return np.sum(x) + np.max(y, axis=0)


def masked(x: Any, y: Any) -> Any:
    return np.sum((x > y).astype(np.float32) * y, axis=1)


def both(x: Any, y: Any) -> Any:
    """The product of two tests stays a test in NumPy: they are converted."""
    return np.sum((x > y).astype(np.float32) * (x < 2.0).astype(np.float32) - y, axis=1)


def counted(x: Any, y: Any) -> Any:
    return np.sum((x > y).astype(np.float32), axis=0) / x.shape[0]


def shifted(x: Any, y: Any) -> Any:
    return (x > y).astype(np.float32) - y


@pytest.mark.parametrize(
    ("function", "shown", "hidden"),
    [
        (masked, "sum((x > y) * y, axis=1)", "astype"),
        (both, "(x > y).astype(float32) * (x < 2).astype(float32)", "nothing"),
        (counted, "(x > y, axis=0)", "astype"),
        (shifted, "(x > y).astype(float32) - y", "nothing"),
    ],
)
def test_a_test_is_a_number_in_a_product_and_in_a_sum(function: Any, shown: str, hidden: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    x, y = np.float32([[1, 2, 3], [0, 5, 1]]), np.float32([[0, 3, 2], [1, 4, 1]])
    ps.trace(function, x, y).save(path)
    text = list_as_mathematics(read_written(path))
    assert shown in text
    assert hidden not in text
    assert_statements_compute(path, [x, y])


def test_a_reduction_of_a_vector_has_no_axis(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    x = np.array([1.0, 3.0, 2.0])
    ps.trace(total, x, x).save(path)
    assert "sum(x) + max(y)" in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [x, x])
