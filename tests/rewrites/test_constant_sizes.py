"""Sizes that constants tell once they are folded."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.rewrites import optimize

OPS = {
    "Expand": ("s = Concat<axis=0>(two, k, three) e = Expand(x, s)", (2, 0, 3)),
    "Tile": ("s = Concat<axis=0>(two, k, one) e = Tile(x, s)", (4, 0, 3)),
    "Slice": ("e = Slice(x, none, k, none)", (0, 1, 3)),
    "ConstantOfShape": ("s = Concat<axis=0>(k, three) i = ConstantOfShape(s) j = Cast<to=11>(i) e = Add(x, j)", None),
    "Split": ("s = Concat<axis=0>(two, k) d, e = Split(x, s)", (0, 1, 3)),
}


@pytest.mark.parametrize(("ops", "shape"), OPS.values(), ids=OPS.keys())
def test_a_size_is_known_where_a_folded_constant_tells_it(
    ops: str, shape: tuple[int, ...] | None, tmp_path: Path
) -> None:
    text = f"""<ir_version: 10, opset_import: ["": 21]> g (double[2,1,3] x) => (double[a,b,c] e)
      <float f = {{1}}, float z = {{0}}, int64[1] none = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}},
       int64[1] three = {{3}}> {{ c = Greater(f, z) k = Where(c, none, two) {ops} }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    loaded = ps.load(tmp_path / "m.onnx")
    assert not all(isinstance(d, int) for d in loaded.block.results[0].type.shape or ())
    if shape is not None:
        assert optimize(loaded.block).results[0].type.shape == shape
    assert loaded(np.ones((2, 1, 3))).size == 0


def test_a_size_of_a_parameter_is_not_assumed() -> None:
    """The Reshape claims that N is 3, and fails in other runs."""
    program = ps.trace(lambda x: np.reshape(x, (3,)) + x, ps.spec("float64", ["N"]))
    assert optimize(program.block).params[0].type.shape == program.block.params[0].type.shape
    with pytest.raises(ps.PrimsplitError):
        program(np.ones(4))
