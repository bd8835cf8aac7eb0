"""Operators of onnxruntime that have no meaning in standard operators: refused by name, with the way around them."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.utils
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction

MODEL = """<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>
g (double[N] x, int32[N] words) => (double[N] y, uint32[N] hashes) {
  y = Sin (x)
  hashes = com.microsoft.%s (words)
}"""


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("MurmurHash3", "gives hashes"),
        ("BeamSearch", "searches"),
        ("Tokenizer", "gives texts"),
        ("MatMulFpQ4", "kernel's own"),
        ("Unheard", "no operator of ONNX"),
    ],
)
def test_an_operator_that_no_standard_operators_tell_is_refused_by_name(kind: str, reason: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(MODEL % kind), path)
    with pytest.raises(UnsupportedFunction, match=rf"com.microsoft::{kind}, which .*{reason}"):
        ps.load(path)


def test_what_is_beside_such_an_operator_is_differentiated_once_the_model_is_cut_as_the_error_says(
    tmp_path: Path,
) -> None:
    path, part = str(tmp_path / "model.onnx"), str(tmp_path / "part.onnx")
    onnx.save(onnx.parser.parse_model(MODEL % "MurmurHash3"), path)
    with pytest.raises(UnsupportedFunction, match="extract_model"):
        ps.load(path)
    onnx.utils.extract_model(path, part, ["x"], ["y"])
    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(ps.split(ps.load(part), seed="ones").joint()(x)[1], np.cos(x))
