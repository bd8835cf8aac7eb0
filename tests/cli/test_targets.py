"""`--target` of the commands that write files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

FUNCTION = """
    import numpy as np

    def main(x):
        return np.sum(np.cos(x) ** 2)
"""
MODEL = """<ir_version: 10, opset_import: ["": 21]> g (double[N] x) => (double y) {
    c = Cos(x) s = Mul(c, c) y = ReduceSum<keepdims = 0>(s)
}"""


@pytest.fixture
def sources(model: Callable[..., Path], tmp_path: Path) -> dict[str, Path]:
    """A file for each command."""
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "cosine.onnx")
    return {"function": model(FUNCTION, "f.py"), "model": tmp_path / "cosine.onnx"}


@pytest.mark.parametrize(
    ("command", "source", "types"),
    [("export", "function", ("--spec", "x:float64[N]")), ("export", "model", ()), ("grad", "model", ())],
)
def test_a_file_for_newer_versions_has_the_operator(
    primsplit: Callable[..., Any], sources: dict[str, Path], tmp_path: Path, command: str, source: str, types: Any
) -> None:
    out = tmp_path / "out.onnx"
    for more, has_cosine in (((), False), (("--target", "onnxruntime>=1.32"), True)):
        assert primsplit(command, sources[source], *types, "--onnx", out, *more).status == 0
        assert ("Cos" in {node.op_type for node in onnx.load(out).graph.node}) is has_cosine


@pytest.mark.parametrize("command", ["export", "grad"])
def test_what_is_no_target_is_refused_with_the_right_form(
    primsplit: Callable[..., Any], sources: dict[str, Path], tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out.onnx"
    found = primsplit(command, sources["model"], "--onnx", out, "--target", "onnxruntime=1.32")
    assert found.status != 0
    assert "onnxruntime>=1.32" in found.error
    assert not out.exists()
