"""No command reads what lies outside of a model's folder, whatever version of onnxruntime there is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.onnx.test_external_files import save, tensor


def test_each_command_refuses_a_way_out(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(b"hunter2")
    path = save(tmp_path / "model/m.onnx", tensor("../secret"))
    np.savez(tmp_path / "in.npz", x=np.zeros(7, np.float32))
    for arguments in (
        ["run", path, "--inputs", tmp_path / "in.npz", "--out", tmp_path / "out.npz"],
        ["check", path, "--onnx", path],
        ["bench", path, "--onnx", path],
        ["grad", path, "--onnx", tmp_path / "out.onnx"],
        ["audit", path],
    ):
        done = primsplit(*arguments)
        assert done.status == 1
        assert "outside the model's folder" in done.error
    assert {p.name for p in tmp_path.iterdir()} == {"in.npz", "model", "secret"}
