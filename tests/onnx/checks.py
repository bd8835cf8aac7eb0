"""What is asked of a loaded model: its numbers and its gradient, or a sentence that refuses it."""

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.onnx.edits import (
    W,
)


def runs(path: str, folder: Path, rows: int = 4) -> None:
    """The gradient file is valid, and gives the model's own numbers and the gradient by hand."""
    out = str(folder / "gradient.onnx")
    ps.split(ps.load(path), wrt="x").save(out)
    onnx.checker.check_model(out, full_check=True)
    x = np.linspace(-0.3, 0.3, rows * 3, dtype=np.float32).reshape(rows, 3)
    ones = np.ones((rows, 2), np.float32)
    y, dx = onnxruntime.InferenceSession(out).run(None, {"x": x, "d_y": ones})
    np.testing.assert_allclose(y, np.tanh(x @ W), rtol=1e-5)
    np.testing.assert_allclose(dx, (1 - np.tanh(x @ W) ** 2) @ W.T, rtol=1e-4, atol=1e-5)


def refused(path: str, error: type[PrimsplitError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        ps.load(path)
    assert len(str(caught.value).splitlines()) < 10
    assert len(str(caught.value)) < 600
