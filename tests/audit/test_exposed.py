"""Each value of a graph is returned as onnxruntime computes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit import exposed
from primsplit.audit.written import read_written

X = np.linspace(0.1, 1, 6).reshape(2, 3)


def bent(x: Any) -> Any:
    hidden = np.exp(x)
    return np.sum(hidden / np.sqrt(x))


@pytest.mark.parametrize("at_a_time", [1, 128])
def test_the_values_are_those_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    monkeypatch.setattr(exposed, "AT_A_TIME", at_a_time)
    (path,) = ps.export(bent, X, path=tmp_path / "f.onnx")
    file = read_written(str(path))
    found = dict(exposed.exposed(file, {"x": X}))
    assert {*found} == {file.names[v] for op in file.block.ops for v in op.outputs}
    np.testing.assert_allclose(found["hidden"], np.exp(X), rtol=1e-14)
    np.testing.assert_allclose(found["y"], bent(X), rtol=1e-14)


def test_large_weights_and_weights_in_another_file_are_found(tmp_path: Path) -> None:
    weights = np.linspace(-1, 1, 3000).reshape(3, 1000)
    (path,) = ps.export(lambda x: np.sum(x @ weights), X, path=tmp_path / "f.onnx")
    found = dict(exposed.exposed(read_written(str(path)), {"x": X}))
    np.testing.assert_allclose(found["y"], np.sum(X @ weights), rtol=1e-10)
