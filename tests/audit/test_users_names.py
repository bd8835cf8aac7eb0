"""Variables, inputs and outputs are names of the user's; names of operators and of torch's exporter are none."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.users_names import EXPORTED, users_names
from primsplit.audit.written import read_written


def test_variables_inputs_outputs_and_cotangents_are_the_users(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden**2)

    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=tmp_path / "f.onnx", wrt="w")
    file = read_written(str(tmp_path / "f.onnx"))
    found = {file.names[v] for v in users_names(file)}
    assert {"w", "x", "hidden", "y", "d_w"} <= found
    assert not any(name.startswith(("matmul_", "mul_")) for name in found)


def test_names_of_torchs_exporter_are_no_ones() -> None:
    assert EXPORTED.search("/layer/Add_3_output_0")
    assert EXPORTED.search("val_12")
    assert not EXPORTED.search("hidden")
