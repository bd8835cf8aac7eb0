"""The module of a file computes what the file computes, with NumPy alone."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.written import read_written


def test_two_passes_are_two_functions_and_name_the_users_lines(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    path = tmp_path / "loss.onnx"
    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=path, wrt="w")
    text = to_numpy([read_written(str(path))]).text
    line = loss.__code__.co_firstlineno + 1
    assert "def forward(w, x):" in text
    assert f"    # hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n    matmul = x @ w\n" in text
    assert "    hidden = np.tanh(matmul)" in text
    assert "def pullback(captures, x" in text
    assert f"    # Grad of: hidden = np.tanh(x @ w)  test_numpy_style.py:{line}\n" in text
    assert "def value_and_grad(w, x" in text
    assert "primsplit" not in text
