"""A layer of a transformer as torch exports it is differentiated, listed in few statements, and runs as NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import read_written
from tests.encoder import WEIGHTS, arrays, encoder
from tests.written_modules import run_module, write_module

KINDS: list[dict[str, Any]] = [
    {},
    {"gelu": True, "mask": True},
    {"opset": 16, "written_norm": True, "gelu": True},
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", KINDS, ids=["layer_norm", "gelu_and_mask", "opset_16"])
def test_the_pullback_of_an_exported_encoder_is_listed_and_runs(kind: dict[str, Any], tmp_path: Path) -> None:
    onnx.save(encoder(**kind), tmp_path / "encoder.onnx")
    path = str(tmp_path / "gradient.onnx")
    ps.split(ps.load(tmp_path / "encoder.onnx"), wrt=["x", *WEIGHTS]).save(path)
    file = read_written(path)
    (made,) = mathematics_of(file)
    total = sum(1 for _ in file.ops())
    assert made.count <= 0.35 * total
    assert len(made.moves) <= 0.05 * made.count
    assert len(made.operators) <= 0.1 * made.count
    assert "softmax(" in list_as_mathematics(file)

    given: dict[str, Any] = arrays(2, 5, mask="mask" in kind)
    given["d_y"] = np.random.default_rng(1).standard_normal((2, 5, 8)).astype("f")
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {i.name: given[i.name] for i in session.get_inputs()})
    write_module([file], tmp_path / "made.py")
    found = run_module(tmp_path / "made.py", [given[i.name] for i in session.get_inputs()], tmp_path)
    for output, want, got in zip(session.get_outputs(), wanted, found, strict=True):
        scale = float(np.max(np.abs(want), initial=1e-3))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * scale, err_msg=output.name)
